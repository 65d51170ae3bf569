"""Implements operations on tools that agents have built: check, quarantine, retire, restore, bring in."""

from pathlib import Path
from typing import Any

from kpd.engine.engine import Engine
from kpd.model import events as e
from kpd.model.toolbox import ToolVersion
from kpd.operations.operation import Refused, UnknownName
from kpd.operations.tools import ImportTool, QualifyTool, QuarantineTool, RestoreTool, RetireTool
from kpd.text.foreign import visible
from kpd.text.tools import trouble
from kpd.tools.files import BadTool
from kpd.tools.manifest import Manifest
from kpd.tools.qualify import lacking, read_built
from kpd.tools.registry import check, register
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.task import find_tasks, load_task


async def qualify_tool(engine: Engine, op: QualifyTool, target: ToolVersion, by: str) -> dict[str, Any]:
    """Check a version with the task as its folder has it now. Raises Refused, TaskError, OSError."""
    return await _checked(engine, target, by)


def quarantine_tool(engine: Engine, op: QuarantineTool, target: ToolVersion, by: str) -> None:
    engine.journal.emit(e.ToolQuarantined(target.tool, target.version, visible(op.why).strip(), by))


def retire_tool(engine: Engine, op: RetireTool, target: ToolVersion, by: str) -> None:
    engine.journal.emit(e.ToolRetired(target.tool, target.version, by))


def restore_tool(engine: Engine, op: RestoreTool, target: ToolVersion, by: str) -> dict[str, Any]:
    engine.journal.emit(e.ToolRestored(target.tool, target.version, by))
    return {"state": engine.journal.state.tools[target.ref].state}


async def import_tool(engine: Engine, op: ImportTool, target: None, by: str) -> dict[str, Any]:
    """Keep the tool of a folder, and check it. Raises Refused, UnknownName, TaskError, OSError."""
    _task_folder(engine, op.task)
    files, manifest = _read(Path(op.folder))
    version = register(engine.workspace, files, manifest, op.task, engine.journal.emit, by=by)
    found = engine.journal.state.tools[f"{manifest.name}@{version}"]
    if found.task != op.task:
        raise Refused(f"{found.ref} is there already, for runs of {found.task}", "change its files for another task")
    if found.stopped:
        raise Refused(f"{found.ref} is there already, and {found.stopped}", f"kpd tools restore {found.ref}")
    return {"tool": found.ref, **await _checked(engine, found, by)}


def _read(folder: Path) -> tuple[dict[str, bytes], Manifest]:
    if not folder.is_absolute() or not folder.is_dir():
        raise Refused(f"{folder} is not a folder on the daemon's machine", "give the folder with the tool.toml")
    try:
        return read_built(folder)
    except BadTool as err:
        raise Refused(f"{folder}: {err.message}", err.remedy) from err


async def _checked(engine: Engine, found: ToolVersion, by: str) -> dict[str, Any]:
    if found.server and (lacks := lacking()):
        raise Refused(f"{found.ref} cannot be checked", lacks)
    task = load_task(_task_folder(engine, found.task))
    try:
        fact = await check(engine.workspace, found, task, read_tree(task.folder, task), engine.journal.emit, by=by)
    except BadTool as err:
        raise Refused(err.message, err.remedy) from err
    failed = [trouble(one) for one in fact.checks if not one.ok]
    return {"state": engine.journal.state.tools[found.ref].state, "trouble": failed}


def _task_folder(engine: Engine, task: str) -> Path:
    tasks = find_tasks(engine.workspace)
    if task not in tasks:
        raise UnknownName(f"no task {task!r}", f"tasks: {', '.join(sorted(tasks)) or 'none; kpd task new NAME'}")
    return tasks[task]
