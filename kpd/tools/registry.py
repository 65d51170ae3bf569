"""Brings versions of tools into the registry, and records what their checks find."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from kpd.model import events as e
from kpd.model.toolbox import ToolVersion
from kpd.model.tools import ToolChecked
from kpd.tools.clean_room import CleanRoom
from kpd.tools.files import keep, kept
from kpd.tools.manifest import SKILL, Manifest, read_manifest
from kpd.tools.qualify import qualify
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import digest
from kpd.workspace.task import Task
from kpd.workspace.task_copy import lay_task

Record = Callable[[e.Fact], object]
"""A function that adds a fact to the log."""


def register(
    workspace: Workspace, files: Mapping[str, bytes], manifest: Manifest, task: str, record: Record,
    run: str = "", iteration: int = 0, by: str = "kpd",
) -> str:  # fmt: skip
    """Keep a version of a tool and record it; return its version. Doing it again changes nothing. Raises OSError."""
    version = keep(workspace, manifest.name, files)
    hashes = {path: digest(data) for path, data in files.items()}
    parts = bool(manifest.server), SKILL in files
    record(e.ToolBuilt(manifest.name, version, task, hashes, manifest.summary, *parts, run, iteration, by))
    return version


async def check(
    workspace: Workspace, found: ToolVersion, task: Task, editable: Mapping[str, bytes], record: Record,
    confined: bool = True, by: str = "kpd",
) -> ToolChecked:  # fmt: skip
    """Check a version that is in the registry, with the task's `editable` files, and record what was found.

    Raises BadTool where its files are not what they were, OSError.
    """
    files = kept(workspace, found)
    workspace.make_private()
    workspace.rooms.mkdir(exist_ok=True)
    room = CleanRoom(Path(tempfile.mkdtemp(prefix=f"{found.tool}-", dir=workspace.rooms)), confined)
    seen = await qualify(files, read_manifest(files), room, lambda tree: lay_task(tree, task, editable))
    fact = e.ToolChecked(found.tool, found.version, tuple(seen.checks), seen.inventory, by)
    record(fact)
    return fact
