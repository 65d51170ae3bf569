"""Lays a copy of a task for agents: what they may read of it, with what they may change as the incumbent has it."""

import shlex
import stat
from collections.abc import Mapping
from pathlib import Path

from kpd.workspace.run_files import read_plain, write_atomic
from kpd.workspace.task import Task

FROZEN = 0o444


def lay_task(tree: Path, task: Task, incumbent: Mapping[str, bytes]) -> None:
    """Copy the task into the new folder `tree`; the protected files are read-only.

    The files that only the task's held-out benchmark needs are left out. Raises OSError.
    """
    tree.mkdir(parents=True)
    for path in shown(task):
        copy = tree / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(read_plain(task.folder / path))
        copy.chmod(FROZEN | stat.S_IXUSR if (task.folder / path).stat().st_mode & stat.S_IXUSR else FROZEN)
    for path, data in incumbent.items():
        write_atomic(tree / path, data)


def shown(task: Task) -> tuple[str, ...]:
    """Return the protected files that an agent may read: all but those that the held-out benchmark names."""
    held_out = shlex.split(task.final.command or "")
    return tuple(path for path in task.protected if path not in held_out)
