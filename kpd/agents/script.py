"""Proposes prepared candidates, `script:FOLDER`, for demonstrations, regression tests and experiments."""

import asyncio
from pathlib import Path

from kpd.agents import space
from kpd.agents.agent import Agent, AgentKind, BadReply, Context, Exhausted, Proposal
from kpd.agents.reply_notes import read_notes
from kpd.measure.screen import protected_touched
from kpd.text.numbers import counted
from kpd.workspace.editable import ignored
from kpd.workspace.paths import OutsideFolder, Workspace, inside
from kpd.workspace.run_files import read_plain
from kpd.workspace.task import TaskError, task_files

PREFIX = "script:"
MEMO = "memo.md"


class Script(Agent):
    """An agent that proposes the folders in `folder`, one per iteration of the run, in the order of their names.

    It goes on with the next folder whatever the outcome of the one before. A folder holds editable files; those it
    lacks are the incumbent's. Its `memo.md` may have the lines MEMO, EXPECT and REMOVE of a reply. `folder` is
    absolute, or relative to the workspace.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    async def propose(self, context: Context) -> Proposal:
        base = context.workspace.root / self._folder
        name = f"{PREFIX}{self._folder}"
        done = sum(it.agent == name and it.number < context.number for it in context.run.iterations)
        candidates = await asyncio.to_thread(_candidates, base)
        if done >= len(candidates):
            raise Exhausted(f"{base} has {counted(len(candidates), 'candidate')}, and all have been proposed")
        return await asyncio.to_thread(_proposal, candidates[done], context)


def _candidates(base: Path) -> list[Path]:
    """Return the folders in the order of their names. Raises Exhausted when there is none."""
    try:
        found = sorted(path for path in base.iterdir() if path.is_dir() and not ignored(path.name))
    except OSError as err:
        raise Exhausted(f"{base} cannot be read: {err.strerror}; name a folder with one folder a candidate") from err
    if not found:
        raise Exhausted(f"{base} holds no folders; put each candidate's files into one")
    return found


def _proposal(folder: Path, context: Context) -> Proposal:
    """Read a folder into a proposal.

    Raises BadReply, which names the file; the next iteration then has the next folder.
    """
    task = context.task
    try:
        files = {path: read_plain(inside(folder, path)) for path in task_files(folder)}
    except OSError as err:
        raise BadReply(f"{err.filename} cannot be read: {err.strerror}") from err
    except (TaskError, OutsideFolder) as err:
        raise BadReply(f"{folder}: {err}") from err
    memo = files.pop(MEMO, b"").decode(errors="replace")
    said = read_notes([*memo.splitlines(), folder.name])
    if strangers := protected_touched(task, files):
        raise BadReply(f"{folder / strangers[0]} is not an editable file; editable are {task.told}")
    if not files and not said.removed:
        raise BadReply(f"{folder} holds no editable file; put {(*task.editable, *task.areas)[0]} into it")
    whole = {path: data for path, data in {**context.incumbent, **files}.items() if path not in said.removed}
    point = space.point_of(task, whole)
    return Proposal(files, said.memo, said.expected, point, said.aims, removed=said.removed)


def _refused(workspace: Workspace, folder: str) -> str:
    """Return why a run cannot have this folder; empty when it can.

    A path that cannot be looked at (its name is too long, or a parent may not be read) counts as no folder.
    """
    path = workspace.root / folder
    try:
        there = path.is_dir()
    except OSError:
        there = False
    return "" if there else f"{path} is no folder; name one that holds a folder for each candidate"


AGENT = AgentKind(lambda config, of: Script(of), "FOLDER", refuse=_refused)
