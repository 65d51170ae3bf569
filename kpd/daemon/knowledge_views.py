"""Answers queries about rules, skills, memory, and the key of the model service.

Modules are imported only when a query needs them: `kpd status` without a daemon imports this module, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kpd.model.run import RuleSetting, Run
from kpd.wire import DaemonError
from kpd.workspace.config import load_config
from kpd.workspace.entry_points import PlugInError
from kpd.workspace.languages import LANGUAGES
from kpd.workspace.paths import OutsideFolder, Workspace, WorkspaceError, inside
from kpd.workspace.run_files import NotRegularFile
from kpd.workspace.transports import TRANSPORTS

MOST_MEMORY = 1024 * 1024  # characters that are shown, the newest


def rules(runs: Iterable[Run], stands: Mapping[str, RuleSetting]) -> list[dict[str, Any]]:
    """Return every rule with its results in `runs`, and whether an operator has pinned or banned it.

    `median_gain_pct` is null where nothing was measured.
    """
    from kpd.knowledge.efficacy import NEVER, efficacy
    from kpd.profile import catalogue

    known = efficacy(runs)
    found = []
    for rule in catalogue.rules():
        so_far = known.get(rule.id, NEVER)
        found.append(
            {
                "id": rule.id,
                "severity": rule.severity,
                "finding": rule.words,
                "condition": rule.condition,
                "action": rule.action,
                "fired": so_far.fired,
                "tried": so_far.tried,
                "accepted": so_far.accepted,
                "median_gain_pct": so_far.median_pct,
                "stand": stands.get(rule.id, "plain"),
            }
        )
    return found


def skills(workspace: Workspace) -> list[dict[str, str]]:
    from kpd.knowledge.skills import load_skills

    found = load_skills(workspace).by_id
    return [{"id": skill.id, "signal": skill.signal} for _, skill in sorted(found.items())]


def skill(workspace: Workspace, id: str) -> dict[str, str]:
    """Return a skill. Raises DaemonError (unknown), with the reason where its file exists and cannot be used."""
    from kpd.knowledge.skills import load_skills

    loaded = load_skills(workspace)
    if id not in loaded.by_id:
        why = loaded.bad.get(f"{id}.md", f"there is no skill {id!r}")
        raise DaemonError("unknown", why, "kpd skills lists them")
    found = loaded.by_id[id]
    return {"id": found.id, "signal": found.signal, "body": found.body}


def memory_of(workspace: Workspace, task: str) -> dict[str, str]:
    """Return the newest part of a task's memory; empty where nothing is remembered. Raises DaemonError."""
    from kpd.knowledge import memory

    try:
        inside(workspace.memory, f"{task}.md")
        return {"text": memory.read(workspace, task, MOST_MEMORY)}
    except OutsideFolder as err:
        raise DaemonError("usage", f"not a task: {err}") from err
    except OSError as err:
        where = err.filename or workspace.memory / f"{task}.md"
        remedy = (
            "move it away: a memory is a text file, and kpd begins a new one" if isinstance(err, NotRegularFile) else ""
        )
        raise DaemonError(
            "infra", f"cannot read {where}: {err.strerror or err}", remedy or "check its owner and the disk"
        ) from err


def model_key(workspace: Workspace, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that should hold the API key, and what is wrong with the key, never the key itself.

    Raises DaemonError.
    """
    try:
        config = load_config(workspace).claude
    except WorkspaceError as err:
        raise DaemonError("infra", err.message, err.remedy) from err
    return {"variable": config.api_key_env, "trouble": config.lacks_key(environ)}


def plug_ins() -> Iterator[tuple[str, PlugInError | None]]:
    """Yield each entry of a plug-in in words, with its error or None. Imports them all.

    Raises PlugInError where kpd's own entries are not installed.
    """
    from kpd.agents.catalogue import AGENTS
    from kpd.profile import catalogue

    for entries in (AGENTS.plug_ins(), TRANSPORTS.plug_ins(), LANGUAGES.plug_ins(), catalogue.of_plug_ins()):
        for told, found in entries:
            yield told, found if isinstance(found, PlugInError) else None
