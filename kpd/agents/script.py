"""Proposes prepared candidates, `script:FOLDER`, for demonstrations, regression tests and experiments."""

import asyncio
from pathlib import Path

from kpd.agents import space
from kpd.agents.agent import Agent, AgentKind, BadReply, Context, Exhausted, Proposal
from kpd.agents.reply_notes import read_notes
from kpd.measure.screen import protected_touched
from kpd.workspace.paths import OutsideFolder, Workspace, inside
from kpd.workspace.run_files import read_plain
from kpd.workspace.task import TaskError, ignored, task_files

PREFIX = "script:"
MEMO = "memo.md"


class Script(Agent):
    """Each iteration of the run takes the next folder in `folder`, by name, whatever became of the one before.

    A folder holds editable files, the others stay the incumbent's; its `memo.md` may have the lines MEMO and EXPECT of
    a reply. `folder` is absolute, or within the workspace.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    async def propose(self, context: Context) -> Proposal:
        base = context.workspace.root / self._folder
        name = f"{PREFIX}{self._folder}"
        done = sum(it.agent == name and it.number < context.number for it in context.run.iterations)
        candidates = await asyncio.to_thread(_candidates, base)
        if done >= len(candidates):
            raise Exhausted(f"all {len(candidates)} candidates of {base} have been proposed")
        return await asyncio.to_thread(_proposal, candidates[done], context)


def _candidates(base: Path) -> list[Path]:
    """Return the folders in their order. Raises Exhausted when there is none."""
    try:
        found = sorted(path for path in base.iterdir() if path.is_dir() and not ignored(path.name))
    except OSError as err:
        raise Exhausted(f"{base} cannot be read: {err.strerror}; name a folder with one folder a candidate") from err
    if not found:
        raise Exhausted(f"{base} holds no folders; put each candidate's files into one")
    return found


def _proposal(folder: Path, context: Context) -> Proposal:
    """Raise BadReply, which names the file: then the next iteration has the next folder."""
    task = context.task
    try:
        files = {path: read_plain(inside(folder, path)) for path in task_files(folder)}
    except OSError as err:
        raise BadReply(f"{err.filename} cannot be read: {err.strerror}") from err
    except (TaskError, OutsideFolder) as err:
        raise BadReply(f"{folder}: {err}") from err
    memo = files.pop(MEMO, b"").decode(errors="replace")
    if strangers := protected_touched(task.editable, files):
        editable = ", ".join(task.editable)
        raise BadReply(f"{folder / strangers[0]} is not an editable file; editable are {editable}")
    if not files:
        raise BadReply(f"{folder} holds no editable file; put {task.editable[0]} into it")
    said = read_notes([*memo.splitlines(), folder.name])
    point = space.point_of(task, {**context.incumbent, **files})
    return Proposal(files, said.memo, said.expected, point, said.aims)


def _refused(workspace: Workspace, folder: str) -> str:
    """Return also where that cannot be found out: a name that is too long, or a parent that may not be read."""
    path = workspace.root / folder
    try:
        there = path.is_dir()
    except OSError:
        there = False
    return "" if there else f"{path} is no folder; name one that holds a folder for each candidate"


AGENT = AgentKind(lambda config, of: Script(of), "FOLDER", refuse=_refused)
