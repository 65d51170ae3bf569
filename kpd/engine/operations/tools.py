"""Implements operations on tools that agents have built: check, quarantine, retire, restore, bring in."""

from pathlib import Path
from typing import Any

from kpd.engine.engine import Engine
from kpd.model import events as e
from kpd.model.toolbox import ToolVersion
from kpd.model.tools import active
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

Versions = tuple[ToolVersion, ...]


async def qualify_tool(engine: Engine, op: QualifyTool, target: ToolVersion, by: str) -> dict[str, Any]:
    """Check a version with the task as its folder has it now. Raises Refused, TaskError, OSError."""
    return await _checked(engine, target, by)


def quarantine_tool(engine: Engine, op: QuarantineTool, target: Versions, by: str) -> dict[str, Any]:
    before = _given(engine, target)
    for one in target:
        if one.stopped != "quarantined":
            engine.journal.emit(e.ToolQuarantined(one.tool, one.version, visible(op.why).strip(), by))
    return _left(engine, target, before)


def retire_tool(engine: Engine, op: RetireTool, target: Versions, by: str) -> dict[str, Any]:
    before = _given(engine, target)
    for one in target:
        if one.stopped != "retired":
            engine.journal.emit(e.ToolRetired(one.tool, one.version, by))
    return _left(engine, target, before)


def restore_tool(engine: Engine, op: RestoreTool, target: ToolVersion, by: str) -> dict[str, Any]:
    engine.journal.emit(e.ToolRestored(target.tool, target.version, by))
    return {"state": engine.journal.state.tools[target.ref].state}


async def import_tool(engine: Engine, op: ImportTool, target: None, by: str) -> dict[str, Any]:
    """Keep the tool of a folder, and check it. Raises Refused, UnknownName, TaskError, OSError."""
    _task_folder(engine, op.task)
    files, manifest = _read(Path(op.folder))
    known, record = engine.journal.state.tools, engine.journal.emit
    try:
        ref = register(engine.workspace, files, manifest, op.task, known, record, by=by)
    except BadTool as err:
        raise Refused(err.message, err.remedy) from err
    found = engine.journal.state.tools[ref]
    return {"tool": found.shown, **await _checked(engine, found, by)}


def _given(engine: Engine, versions: Versions) -> dict[str, ToolVersion]:
    """Return what sessions of the task of these versions get, by name."""
    return {one.tool: one for one in active(engine.journal.state.tools, versions[0].task)}


def _left(engine: Engine, stopped: Versions, before: dict[str, ToolVersion]) -> dict[str, Any]:
    """Say which version of a tool sessions get after some of them were stopped; empty for none.

    `withheld` are the other tools that no session gets any more, because they point at it.
    """
    still, tool = _given(engine, stopped), stopped[0].tool
    withheld = [one.shown for name, one in before.items() if name != tool and name not in still]
    return {"active": still[tool].shown if tool in still else "", "withheld": withheld}


def _read(folder: Path) -> tuple[dict[str, bytes], Manifest]:
    if not folder.is_absolute() or not folder.is_dir():
        raise Refused(f"{folder} is not a folder on the daemon's machine", "give the folder with the tool.toml")
    try:
        return read_built(folder)
    except BadTool as err:
        raise Refused(f"{folder}: {err.message}", err.remedy) from err


async def _checked(engine: Engine, found: ToolVersion, by: str) -> dict[str, Any]:
    if found.server and (lacks := lacking()):
        raise Refused(f"{found.shown} cannot be checked", lacks)
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
