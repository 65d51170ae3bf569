"""Defines the tools that agents have built, and the facts about them.

A version of a tool is named by its content. Only what `active` returns is given to agents: it follows from the states
of all versions, so nothing that is given points at a tool that is not.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from kpd.model.fact import Fact, IterationFact
from kpd.model.reducers import reduces
from kpd.model.run import Run
from kpd.model.session import TurnEnd
from kpd.model.sessions import change_session
from kpd.model.state import State
from kpd.model.toolbox import ToolCheck, ToolVersion


@dataclass(frozen=True, slots=True)
class ToolFact(Fact):
    """Base of the facts about one version of a tool: its name, and its content's sha256."""

    tool: str
    version: str


@dataclass(frozen=True, slots=True)
class ToolBuilt(ToolFact):
    """A new version, for runs of `task`: built in an iteration of a run, or brought in by a person (`by`).

    `files` are its files (path → sha256); it has a `server`, a `skill`, or both. `points` are as in `ToolVersion`.
    """

    task: str
    files: dict[str, str]
    summary: str = ""
    server: bool = False
    skill: bool = False
    run: str = ""
    iteration: int = 0
    by: str = ""
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolChecked(ToolFact):
    """What the checks of a version found. `inventory` are the tools that its server lists."""

    checks: tuple[ToolCheck, ...]
    inventory: tuple[str, ...] = ()
    by: str = ""


@dataclass(frozen=True, slots=True)
class ToolQuarantined(ToolFact):
    """A person's decision that no session may get the version."""

    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class ToolRetired(ToolFact):
    """A person's decision that the version is not needed any more."""

    by: str = ""


@dataclass(frozen=True, slots=True)
class ToolRestored(ToolFact):
    """The end of a quarantine or a retirement: the version is again what its last checks made it."""

    by: str = ""


@dataclass(frozen=True, slots=True)
class ToolsGiven(IterationFact):
    """The versions (`name@version`) that a session begins with."""

    session: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillsRead(IterationFact):
    """The skills that a session has opened in a turn, as its agent tells: `name@version` of built ones, else an id."""

    session: str
    skills: tuple[str, ...]


SmithTask = Literal["reflect", "build", "mend"]
"""What a session is asked after its iteration: what would have helped, to build that, to mend what was built."""
SmithEnd = Literal["nothing", "unusable", "qualified", "quarantined", "broken_off"]
"""What came of it: nothing to build, or nothing built; files that are no tool; a tool, and what its checks said; or the
session ended, its money was used up or its agent could not be asked."""


@dataclass(frozen=True, slots=True)
class SmithPrompted(IterationFact):
    """A prompt that is about to be sent to a session that works on a tool.

    `continues`: it asks to go on with a turn whose end no daemon saw.
    """

    session: str
    task: SmithTask
    continues: bool = False


@dataclass(frozen=True, slots=True)
class SmithTurned(IterationFact):
    """The end of a turn in which a session works on a tool. `said` is the improvement it names, or its last word."""

    session: str
    task: SmithTask
    end: TurnEnd
    seconds: float
    said: str = ""


@dataclass(frozen=True, slots=True)
class SmithEnded(IterationFact):
    """The end of a session's work on a tool; `tool` is the version (`name@version`), `why` a reason in words."""

    session: str
    end: SmithEnd
    tool: str = ""
    why: str = ""


def active(tools: Mapping[str, ToolVersion], task: str) -> tuple[ToolVersion, ...]:
    """Return what sessions of a task get: of each tool the version that was qualified last, sorted by name.

    A version that points at another tool is given only where that is given, too.
    """
    qualified = [one for one in tools.values() if one.task == task and one.state == "qualified"]
    while True:
        newest = {one.tool: one for one in sorted(qualified, key=lambda one: one.checked)}
        if not (stale := {one.ref for one in newest.values() if lost(one, newest, tools)}):
            return tuple(newest[name] for name in sorted(newest))
        qualified = [one for one in qualified if one.ref not in stale]


def lost(one: ToolVersion, given: Collection[str], tools: Mapping[str, ToolVersion]) -> tuple[str, ...]:
    """Return the tools that a version points at, and that are not among the `given` ones."""
    known = {other.tool for other in tools.values() if other.task == one.task}
    return tuple(name for name in one.points if name in known and name not in given and name != one.tool)


def given_to(run: Run, tools: Mapping[str, ToolVersion]) -> Mapping[str, ToolVersion]:
    """Return the tools that sessions of a run may know: all, or those that its place in a comparison names."""
    if run.compared is None:
        return tools
    return {ref: tools[ref] for ref in run.compared.tools if ref in tools}


def still_active(given: Iterable[str], tools: Mapping[str, ToolVersion]) -> tuple[ToolVersion, ...]:
    """Return those of the versions with which a session began that it may still use."""
    still = [tools[ref] for ref in given if ref in tools and tools[ref].state == "qualified"]
    while stale := [one for one in still if lost(one, {other.tool for other in still}, tools)]:
        still = [one for one in still if one not in stale]
    return tuple(still)


@reduces(SmithPrompted)
def _prompted(state: State, at: float, fact: SmithPrompted) -> State:
    return change_session(state, fact, builds=True, toolsmith=True, cutting=False)


@reduces(SmithTurned)
def _turned(state: State, at: float, fact: SmithTurned) -> State:
    return change_session(state, fact, builds=False)


@reduces(SmithEnded)
def _ended(state: State, at: float, fact: SmithEnded) -> State:
    return change_session(state, fact, builds=False, toolsmith=False)


@reduces(ToolBuilt)
def _built(state: State, at: float, fact: ToolBuilt) -> State:
    made = ToolVersion(
        fact.tool, fact.version, fact.task, at, summary=fact.summary, server=fact.server, skill=fact.skill,
        run=fact.run, iteration=fact.iteration, points=fact.points,
    )  # fmt: skip
    return state if made.ref in state.tools else replace(state, tools={**state.tools, made.ref: made})


@reduces(ToolChecked)
def _checked(state: State, at: float, fact: ToolChecked) -> State:
    return _changed(state, fact, checks=fact.checks, inventory=fact.inventory, checked=at)


@reduces(ToolQuarantined)
def _quarantined(state: State, at: float, fact: ToolQuarantined) -> State:
    return _changed(state, fact, stopped="quarantined", why=fact.why)


@reduces(ToolRetired)
def _retired(state: State, at: float, fact: ToolRetired) -> State:
    return _changed(state, fact, stopped="retired", why="")


@reduces(ToolRestored)
def _restored(state: State, at: float, fact: ToolRestored) -> State:
    return _changed(state, fact, stopped="", why="")


def _changed(state: State, fact: ToolFact, **changes: Any) -> State:
    ref = f"{fact.tool}@{fact.version}"
    if (found := state.tools.get(ref)) is None:
        return state
    return replace(state, tools={**state.tools, ref: replace(found, **changes)})
