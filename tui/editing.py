"""Opens the kernel in the operator's editor and submits the edit."""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from kpd.operations.iterations import EditKernel
from kpd.subscription import DaemonError
from kpd.workspace.environment import REMEDY, editor
from kpd.workspace.paths import WorkspaceError
from tui.actions.action import no_link
from tui.actions.table import BY_ID
from tui.commands import refusal
from tui.model.selected import source_of
from tui.screens.form import ChoiceScreen

if TYPE_CHECKING:
    from tui.app import KpdApp

UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""What the daemon gives in place of bytes that are no text."""


def edit(app: "KpdApp") -> None:
    """Ask for the file where there are several."""
    view = app.view
    run, ref, names = view.at.run, source_of(view), view.editable

    def chosen(name: str | None) -> None:
        if name is not None:
            app.run_worker(_edit(app, run, ref, names, name), group="send")

    if len(names) == 1:
        chosen(names[0])
    else:
        app.push_screen(ChoiceScreen(f"Edit which file of {ref}?", names), chosen)


async def _edit(app: "KpdApp", run: str, ref: str, names: Sequence[str], name: str) -> None:
    files = await _files(app, ref, names, name)
    if files is None:
        return
    before = files[name]
    path = Path(tempfile.mkdtemp(prefix=f"kpd-{ref}-")) / Path(name).name
    try:
        path.write_bytes(before.encode())
        code = await _in_editor(app, path)
        after = path.read_bytes().decode()
    except WorkspaceError as err:
        shutil.rmtree(path.parent)
        app.say(f"edit: {err}", good=False)
    except (OSError, UnicodeDecodeError) as err:
        app.say(f"edit: {path} cannot be read back: {err}", good=False)
    else:
        await _send_back(app, run, name, path, code, {} if after == before else {**files, name: after})


async def _files(app: "KpdApp", ref: str, names: Sequence[str], name: str) -> dict[str, str] | None:
    """Return all that may be edited of the iteration: what is edited is measured with its own other files, not those of today.

    Of those others a file that is empty, gone, too long or no text is left as it is in the task folder. None where the
    one that is to be edited cannot be had, and then it was said why.
    """
    files = {}
    for one in names:
        text, why, left = await _text(app, ref, one)
        if why and (one == name or not left):
            app.say(f"edit: {why}", good=False)
            return None
        if text or one == name:
            files[one] = text
    return files


async def _text(app: "KpdApp", ref: str, name: str) -> tuple[str, str, bool]:
    """Return a file of the iteration, or why its text cannot be had whole, and whether it is known that it never can."""
    if app.feed is None:
        return "", no_link(app.view), False
    try:
        found = await app.feed.query("file", iteration=ref, name=f"candidate/{name}")
    except DaemonError as err:
        return "", str(err), err.code in ("unknown", "no_file")
    text = found.get("text") if isinstance(found, dict) else None
    if not isinstance(text, str) or found.get("truncated"):
        return "", f"{name} is too long for this: edit it in the task folder", True
    if UNREADABLE in text:
        return "", f"{name} is not UTF-8: edit it in the task folder", True
    return text, "", False


async def _send_back(app: "KpdApp", run: str, name: str, path: Path, code: int, files: dict[str, str]) -> None:
    """The text is only thrown away when the daemon has it, or there is nothing new in it: no `files`."""
    if not files:
        ended = f" (the editor ended with {code})" if code else ""
        app.say(f"nothing was changed in {name}{ended}, so nothing is sent", good=not code)
    elif code != 0:
        app.say(f"edit: the editor ended with {code}, so nothing is sent; your text is in {path}", good=False)
        return
    elif why := await refusal(app, BY_ID["edit"], EditKernel(run=run, files=files)):
        app.say(f"{why}; your text is in {path}", good=False)
        return
    shutil.rmtree(path.parent)


async def _in_editor(app: "KpdApp", path: Path) -> int:
    """Return the editor's exit status. Meanwhile news is heard, and nothing is painted. Raises WorkspaceError."""
    words = editor()
    try:
        # Textual does not come back by itself from a body that raises: what the editor did is looked at outside.
        with app.batch_update(), app.suspend(), _interrupts_are_the_editors():
            try:
                process = await asyncio.create_subprocess_exec(*words, str(path))
            except OSError as err:
                trouble = err.strerror
            else:
                return await process.wait()
    except SuspendNotSupported as err:
        raise WorkspaceError("this terminal cannot be lent to an editor") from err
    raise WorkspaceError(f"{words[0]} cannot be called: {trouble}", REMEDY)


@contextmanager
def _interrupts_are_the_editors() -> Iterator[None]:
    """The terminal sends ctrl+c to everybody in the foreground; a child that is executed has it by default again."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
