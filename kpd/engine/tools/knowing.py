"""Tools around the workspace's knowledge: rules, skills, the memory of a task, and notes."""

from typing import Annotated

from msgspec import Meta

from kpd.agents.prompt.background import is_shown
from kpd.engine.tools.desk import Desk
from kpd.engine.tools.tool import Answer
from kpd.knowledge import memory as memories
from kpd.knowledge.efficacy import NEVER, efficacy
from kpd.knowledge.skills import load_skills
from kpd.model.acts import Noted
from kpd.operations.operation import Refused, UnknownName
from kpd.profile.catalogue import rules as known_rules
from kpd.text.foreign import visible
from kpd.workspace.run_files import NotRegularFile

MOST_MEMORY = 24_000
"""The most characters of a memory that are told, the newest."""
LONGEST_NOTE = 1000
Id = Annotated[str, Meta(max_length=100, description="a skill's or a rule's id; without it all skills are listed")]
NoteText = Annotated[str, Meta(min_length=1, max_length=LONGEST_NOTE, description="what happened, or what to look at")]


def rules(desk: Desk) -> Answer:
    """List the rules that explain a profile: what each looks for, what it advises, and what that has gained before."""
    run, so_far = desk.run, efficacy(desk.state.runs.values())
    kind = "cpu" if run.device_id in ("", "cpu") else "gpu"
    rows = [
        {
            "rule": one.id, "severity": one.severity, "finding": one.words, "condition": one.condition,
            "action": one.action, "tried": so_far.get(one.id, NEVER).tried,
            "accepted": so_far.get(one.id, NEVER).accepted, "median_gain_pct": so_far.get(one.id, NEVER).median_pct,
        }
        for one in known_rules(kind)
        if is_shown(run, one.id)
    ]  # fmt: skip
    lines = [f"[{row['rule']}] {row['severity']}: {row['finding']} → {row['action']}" for row in rows]
    return {"text": "\n".join(lines), "rules": rows}


def skill(desk: Desk, id: Id = "") -> Answer:
    """Read a skill: for a rule that fired, the usual causes, what helps, and what does not. List all without an id."""
    found = load_skills(desk.workspace).by_id
    if not id:
        listed = {name: one.signal for name, one in sorted(found.items()) if is_shown(desk.run, name)}
        return {"text": "\n".join(f"{name}: {signal}" for name, signal in listed.items()), "skills": listed}
    if id not in found:
        raise UnknownName(f"no skill {id!r}", "call `skill` without an id for the list")
    one = found[id]
    return {"text": f"Signal: {one.signal}\n\n{one.body.strip()}", "id": one.id, "signal": one.signal}


def memory(desk: Desk) -> Answer:
    """Read what earlier runs of this task have left: what was tried, what it gained, and people's notes."""
    try:
        text = memories.read(desk.workspace, desk.run.task, MOST_MEMORY)
    except (OSError, NotRegularFile) as err:
        raise Refused(f"the memory of {desk.run.task} cannot be read: {err}", "go on without it") from err
    return {"text": visible(text) or "nothing is remembered of this task yet", "task": desk.run.task}


def note(desk: Desk, text: NoteText) -> Answer:
    """Leave a line in the run's log for people and later readers. It changes nothing."""
    if desk.session is None:
        raise Refused("a note needs the daemon", "kpd start")
    attempt = desk.session.attempt
    attempt.journal.emit(Noted(attempt.run_id, visible(text).strip(), attempt.iteration.agent))
    return {"text": f"kept in the log of {attempt.run_id}"}
