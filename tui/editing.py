"""The kernel in the operator's own editor, and back to the daemon as an edit of theirs."""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from kpd.workspace.editor import REMEDY, editor
from kpd.workspace.paths import WorkspaceError
from tui.acts.actions import BY_ID
from tui.model.folders import source_of
from tui.screens.choice import ChoiceScreen
from tui.sending import asked, send

if TYPE_CHECKING:
    from tui.app import KpdApp


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
    files = await _files(app, ref, names)
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


async def _files(app: "KpdApp", ref: str, names: Sequence[str]) -> dict[str, str] | None:
    """All that may be edited of the iteration: what is edited is measured with its own other files, not those of today.

    None where it cannot be had, and then it was said why.
    """
    files = {}
    for name in names:
        found = await asked(app, "edit", "file", iteration=ref, name=f"candidate/{name}")
        if found is None:
            return None
        if found.get("truncated") or not isinstance(found.get("text"), str):
            app.say(f"edit: {name} is too long for this: edit it in the task folder", good=False)
            return None
        files[name] = found["text"]
    return files


async def _send_back(app: "KpdApp", run: str, name: str, path: Path, code: int, files: dict[str, str]) -> None:
    """The text is only thrown away when the daemon has it, or there is nothing new in it: no `files`."""
    if not files:
        ended = f" (the editor ended with {code})" if code else ""
        app.say(f"nothing was changed in {name}{ended}, so nothing is sent", good=not code)
    elif code != 0:
        app.say(f"edit: the editor ended with {code}, so nothing is sent; your text is in {path}", good=False)
        return
    elif not await send(app, BY_ID["edit"], {"run": run, "files": files}):
        refused = app.view.said.text if app.view.said is not None else "edit: refused"
        app.say(f"{refused}; your text is in {path}", good=False)
        return
    shutil.rmtree(path.parent)


async def _in_editor(app: "KpdApp", path: Path) -> int:
    """The editor's exit status. Meanwhile news is heard, and nothing is painted. Raises WorkspaceError."""
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
