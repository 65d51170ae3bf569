"""Brings versions of tools into the registry, and records what their checks find."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from kpd.model import events as e
from kpd.model.toolbox import ToolVersion
from kpd.model.tools import ToolChecked
from kpd.tools.clean_room import CleanRoom
from kpd.tools.files import BadTool, keep, kept, version_of
from kpd.tools.manifest import SKILL, Manifest, points, read_manifest
from kpd.tools.qualify import qualify
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import digest
from kpd.workspace.task import Task
from kpd.workspace.task_copy import lay_task

Record = Callable[[e.Fact], object]
"""A function that adds a fact to the log."""


def register(
    workspace: Workspace, files: Mapping[str, bytes], manifest: Manifest, task: str, known: Mapping[str, ToolVersion],
    record: Record, run: str = "", iteration: int = 0, by: str = "kpd",
) -> str:  # fmt: skip
    """Keep a version of a tool and record it, unless it is `known`; return its name@version.

    Raises BadTool for a version of another task or one that a person has stopped; raises OSError.
    """
    version = version_of(files)
    ref = f"{manifest.name}@{version}"
    if (found := known.get(ref)) is not None:
        if found.task != task:
            raise BadTool(
                f"{found.shown} is there already, for runs of {found.task}", "change its files for another task"
            )
        if found.stopped:
            raise BadTool(f"{found.shown} is there already, and {found.stopped}", f"kpd tools restore {found.shown}")
    keep(workspace, manifest.name, files)
    if found is not None:
        return ref
    hashes = {path: digest(data) for path, data in files.items()}
    parts = bool(manifest.server), SKILL in files
    told = points(files)
    record(e.ToolBuilt(manifest.name, version, task, hashes, manifest.summary, *parts, run, iteration, by, told))
    return ref


async def check(
    workspace: Workspace, found: ToolVersion, task: Task, editable: Mapping[str, bytes], record: Record,
    confined: bool = True, by: str = "kpd", clean: Callable[[str], str] = str,
) -> ToolChecked:  # fmt: skip
    """Check a version that is in the registry, with the task's `editable` files, and record what was found.

    `clean` removes the values of keys from what the tool says. Raises BadTool where its files are not what they were,
    and OSError.
    """
    files = kept(workspace, found)
    workspace.make_private()
    workspace.rooms.mkdir(exist_ok=True)
    room = CleanRoom(Path(tempfile.mkdtemp(prefix=f"{found.tool}-", dir=workspace.rooms)), confined)
    seen = await qualify(files, read_manifest(files), room, lambda tree: lay_task(tree, task, editable))
    checks = tuple(replace(one, said=clean(one.said), of=clean(one.of)) for one in seen.checks)
    fact = e.ToolChecked(found.tool, found.version, checks, tuple(map(clean, seen.inventory)), by)
    record(fact)
    return fact
