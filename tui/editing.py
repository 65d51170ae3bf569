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
from tui import opening
from tui.actions.action import no_link
from tui.actions.confirm import Confirmation
from tui.actions.table import BY_ID
from tui.commands import refusal
from tui.model.selected import files_of, source_of
from tui.screens.form import ChoiceScreen
from tui.screens.message import MessageScreen
from tui.screens.question import QuestionScreen

if TYPE_CHECKING:
    from tui.app import KpdApp

UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""The character that the daemon sends in place of bytes that are not text."""
NEW, REMOVE = "a new file…", "remove"
"""What can be chosen beside the files of a candidate that may have others."""
ADD = Confirmation(
    "A new file of the candidate", ("Its path in the task folder; then the editor opens.",), "edit it", "path",
    required=True,
)  # fmt: skip


def edit(app: "KpdApp") -> None:
    """Edit a file of the selected iteration, add one or remove one; where there are several, ask which one."""
    view = app.view
    run, ref, names = view.at.run, source_of(view), files_of(view)
    removed = tuple(name for name in (view.run.folder if view.run else ()) if name not in names)

    def chosen(name: str | None) -> None:
        if name is not None:
            waits = MessageScreen(f"Edit {name} of {ref}", "Asking the daemon for it; then the editor opens.", ".muted")
            opening.show(app, waits)
            app.run_worker(_edit_behind(app, waits, run, ref, names, removed, name), group="send")

    def taken(label: str | None) -> None:
        if label == NEW:
            opening.show(app, QuestionScreen(ADD), chosen)
        elif label in gone:
            app.run_worker(_remove(app, run, ref, names, removed, gone[label]), group="send")
        else:
            chosen(label)

    task = view.task
    several = task is not None and bool(task.areas)
    gone = {f"{REMOVE} {name}": name for name in names if several and task is not None and name not in task.editable}
    if len(names) == 1 and not several:
        chosen(names[0])
    else:
        also = (*gone, NEW) if several else ()
        opening.show(app, ChoiceScreen(f"Edit which file of {ref}?", (*names, *also)), taken)


async def _remove(app: "KpdApp", run: str, ref: str, names: Sequence[str], removed: tuple[str, ...], name: str) -> None:
    """Submit the files of `ref` without `name`."""
    files = await _files(app, ref, [one for one in names if one != name], "")
    if files is not None:
        op = EditKernel(run=run, files=files, removed=(*removed, name))
        if why := await refusal(app, BY_ID["edit"], op):
            app.say(why, good=False)


async def _edit_behind(
    app: "KpdApp", waits: MessageScreen, run: str, ref: str, names: Sequence[str], removed: tuple[str, ...], name: str
) -> None:
    """Ask for the files, and let the operator edit one, unless they leave `waits`, which takes the keys until then."""
    files = await _files(app, ref, names, name)
    if files is not None and waits in app.screen_stack:
        back = tuple(one for one in removed if one != name)
        await _edit(app, run, ref, {name: "", **files}, back, name)
    waits.dismiss()


async def _edit(app: "KpdApp", run: str, ref: str, files: dict[str, str], removed: tuple[str, ...], name: str) -> None:
    """Let the operator edit `name`, and submit all `files` of `ref`; those that are `removed` are not among them."""
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
        gone = {"removed": removed} if removed else {}
        op = EditKernel(run=run, files={**files, name: after}, **gone) if after != before else None
        await _send_back(app, op, name, path, code)


async def _files(app: "KpdApp", ref: str, names: Sequence[str], name: str) -> dict[str, str] | None:
    """Return the texts of all editable files of the iteration, to be measured with the edit.

    The other files come from the iteration, too, not from the task folder of today. Those that are empty, gone, too
    long or no text are left out, and stay as they are in the task folder. Returns None where the text of `name` cannot
    be had; the reason has been shown then.
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
    """Return a file of the iteration, or why its text cannot be had, and whether asking again could never help."""
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


async def _send_back(app: "KpdApp", op: EditKernel | None, name: str, path: Path, code: int) -> None:
    """Submit the edit.

    The text is deleted only when the daemon has it, or when nothing was changed (no `op`).
    """
    if op is None:
        ended = f" (the editor ended with {code})" if code else ""
        app.say(f"nothing was changed in {name}{ended}, so nothing is sent", good=not code)
    elif code != 0:
        app.say(f"edit: the editor ended with {code}, so nothing is sent; your text is in {path}", good=False)
        return
    elif why := await refusal(app, BY_ID["edit"], op):
        app.say(f"{why}; your text is in {path}", good=False)
        return
    shutil.rmtree(path.parent)


async def _in_editor(app: "KpdApp", path: Path) -> int:
    """Run the editor and return its exit status. Raises WorkspaceError where it cannot be run.

    Meanwhile messages are received, and nothing is painted.
    """
    words = editor()
    try:
        # Textual does not resume after an exception in this block: errors are raised outside of it.
        with app.batch_update(), app.suspend(), _interrupts_are_the_editors():
            try:
                process = await asyncio.create_subprocess_exec(*words, str(path))
            except OSError as err:
                trouble = err.strerror
            else:
                return await process.wait()
    except SuspendNotSupported as err:
        raise WorkspaceError("this terminal cannot be used for an editor") from err
    raise WorkspaceError(f"cannot run {words[0]}: {trouble}", REMEDY)


@contextmanager
def _interrupts_are_the_editors() -> Iterator[None]:
    """Run the block with ctrl+c left to the editor: the terminal sends it to this process too, which ignores it."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
