"""Copies things from the screen: a path, a text, the kernel, a picture, a folder."""

import asyncio
import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kpd.text.numbers import counted
from kpd.workspace.paths import Workspace
from tui.commands import asked, spell
from tui.model.answers import Diff
from tui.model.selected import files_of, folder_of, path_of, source_of
from tui.model.view import View
from tui.widgets.lines import Lines

if TYPE_CHECKING:
    from tui.app import KpdApp

MOST_COPIED = 48 * 1024
"""Most bytes of a copy: terminals drop OSC 52 sequences that are too long, xterm those above 100,000."""


def copy_path(app: "KpdApp") -> None:
    path = path_of(app.view)
    app.copy_to_clipboard(path)
    app.say(f"copied, if this terminal allows it: {path}")


def copy_command(app: "KpdApp") -> None:
    """Copy the command for what the operator last did in this screen, else the one that shows what is selected."""
    spell(app, app.view.sent or _showing(app.view))


def _showing(view: View) -> str:
    if view.tab == "hosts":
        return "kpd hosts"
    verb = "diff" if view.tab == "diff" else "show"
    return shlex.join(["kpd", verb, view.ref] if view.iteration is not None else ["kpd", "log", view.at.run])


def copy_text(app: "KpdApp") -> None:
    """Copy the text of the open tab: the diff as a patch, of the log the lines in sight, of any other tab all lines."""
    view = app.view
    pane = app.screen_stack[0].query_one(f"#{view.tab}", Lines)
    if view.tab == "diff" and isinstance(view.shown.diff, Diff) and view.shown.diff.text:
        _copy(app, view.shown.diff.text)
    elif view.tab == "log":
        top = pane.scroll_offset.y
        _copy(app, "\n".join(line.plain.rstrip() for line in pane.lines[top : top + pane.room.height]))
    else:
        _copy(app, "\n".join(line.plain.rstrip() for line in pane.lines))


def copy_kernel(app: "KpdApp") -> None:
    app.run_worker(_copy_kernel(app, source_of(app.view), files_of(app.view)[0]), group="send")


async def _copy_kernel(app: "KpdApp", ref: str, name: str) -> None:
    found = await asked(app, "copy kernel", "file", iteration=ref, name=f"candidate/{name}")
    if found is not None:
        _copy(app, str(found.get("text", "")), f"{name} of {ref}, ")


def _copy(app: "KpdApp", text: str, what: str = "") -> None:
    lines = len(text.splitlines())
    cut = text.encode()[:MOST_COPIED].decode(errors="ignore")
    if cut != text:
        cut = cut[: cut.rfind("\n") + 1] or cut
    app.copy_to_clipboard(cut)
    number = (
        counted(lines, "line") if cut == text else f"the first {len(cut.splitlines()):,} of {counted(lines, 'line')}"
    )
    app.say(f"copied, if this terminal allows it: {what}{number}")


def screenshot(app: "KpdApp") -> None:
    """Save a picture of the screen in the folder of the run if that is on this machine, else in the current folder."""
    path = Path(f"kpd-{app.view.ref or 'screen'}-{app.view.tab}-{time.strftime('%Y%m%d-%H%M%S')}.svg")
    try:
        path = (_run_folder(app.view) or Path.cwd()) / path
        path.write_text(app.export_screenshot(title=f"kpd {app.view.workspace}"), encoding="utf-8")
    except OSError as err:
        app.say(f"screenshot: {path} cannot be written: {err.strerror}", good=False)
        return
    app.say(f"kept as {path}")


def _run_folder(view: View) -> Path | None:
    if view.run is None or not view.state.workspace or view.elsewhere or view.state.playback is not None:
        return None
    folder = Workspace(Path(view.state.workspace)).run_folder(view.run.task, view.run.id)
    return folder if folder.is_dir() else None


def open_folder(app: "KpdApp") -> None:
    """Open the folder in the desktop's file manager if both are on this machine; else copy its path."""
    path, opener, elsewhere = folder_of(app.view), _opener(), app.view.elsewhere
    if elsewhere:
        app.copy_to_clipboard(path)
        app.say(f"the folder is on {elsewhere}, not on this machine; copied, if this terminal allows it: {path}")
    elif opener is not None and Path(path).is_dir():
        app.say(f"opened: {path}")
        app.run_worker(_open(app, opener, path), group="open")
    else:
        app.copy_to_clipboard(path)
        app.say(f"no desktop here has this folder; copied, if this terminal allows it: {path}")


async def _open(app: "KpdApp", opener: str, path: str) -> None:
    nowhere = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            opener, path, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
    except OSError as err:
        app.say(f"open folder: {opener}: {err.strerror}", good=False)
        return
    if (code := await process.wait()) != 0:
        app.say(f"open folder: {opener} ended with {code}: {path}", good=False)


def _opener() -> str | None:
    """Return the program that opens folders; None over ssh or without a desktop."""
    if "SSH_CONNECTION" in os.environ:
        return None
    if sys.platform == "darwin":
        return shutil.which("open")
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return shutil.which("xdg-open") if shown else None
