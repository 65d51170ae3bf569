"""Defines the facts of sessions: coding agents that work for minutes on a copy of a task."""

from dataclasses import dataclass, replace
from typing import Any

from kpd.model.fact import IterationFact
from kpd.model.reducers import on_iteration, on_run, reduces
from kpd.model.run import Steering
from kpd.model.session import AgentSession, Question, TurnEnd
from kpd.model.state import State


@dataclass(frozen=True, slots=True)
class SessionOpened(IterationFact):
    """A session that is about to begin: kpd's own name of it, and the seconds that all its turns may take together.

    `command` is the agent's program with its arguments.
    """

    session: str
    command: tuple[str, ...]
    limit_s: float


@dataclass(frozen=True, slots=True)
class SessionKnown(IterationFact):
    """What an agent says of itself before it is told anything: its own name of the session, and whether it can go on.

    `loads`: after a restart it takes the session up again, with all that was said. `online`: it shares this machine's
    network, and can reach all of it.
    """

    session: str
    own: str
    agent: str
    loads: bool
    online: bool = False


@dataclass(frozen=True, slots=True)
class SessionPrompted(IterationFact):
    """A prompt that is about to be sent, as number `turn`, in answer to fault `answers` of the iteration (0: none).

    `continues`: it asks to go on with a turn whose end no daemon saw. `notes` are the operator's notes that it passes
    on in the middle of a session; the agent has read them then.
    """

    session: str
    turn: int
    answers: int
    continues: bool = False
    notes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnCut(IterationFact):
    """An operator's wish that the agent's turn ends now: what lies in its tree is taken."""

    by: str = ""


@dataclass(frozen=True, slots=True)
class SessionTurned(IterationFact):
    """The end of a turn. `said` is the agent's last word or the error, `claimed_us` the time that it claims.

    `foreign` are files outside of the editable ones that it changed: they are not taken.
    """

    session: str
    turn: int
    end: TurnEnd
    seconds: float
    said: str = ""
    claimed_us: float | None = None
    foreign: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PermissionAsked(IterationFact):
    """A wish of an agent: `tool` is the kind of action, `what` describes it, `paths` are the files that it names.

    Where no rule allows it for the reason `why`, an operator has `limit_s` seconds to answer; 0: a rule answers it.
    """

    session: str
    request: int
    tool: str
    what: str
    paths: tuple[str, ...] = ()
    limit_s: float = 0.0
    why: str = ""


@dataclass(frozen=True, slots=True)
class PermissionAnswered(IterationFact):
    """The answer to a wish. `why` says why it was refused; `by` is the operator who answered, else empty.

    `judge` is the file that judges the candidate, where the agent wanted to change one.
    """

    session: str
    request: int
    allowed: bool
    why: str = ""
    by: str = ""
    judge: str = ""


@dataclass(frozen=True, slots=True)
class HostRefused(IterationFact):
    """An address, as `name:port`, that an agent wanted to reach, and that is not among its hosts."""

    session: str
    address: str


@reduces(SessionOpened)
def _opened(state: State, at: float, fact: SessionOpened) -> State:
    return on_iteration(state, fact, session=AgentSession(fact.session))


@reduces(SessionKnown)
def _known(state: State, at: float, fact: SessionKnown) -> State:
    return change_session(state, fact, own=fact.own, agent=fact.agent, online=fact.online)


@reduces(SessionPrompted)
def _prompted(state: State, at: float, fact: SessionPrompted) -> State:
    changed = change_session(state, fact, turns=fact.turn, end=None, cutting=False)
    run = changed.runs.get(fact.run)
    if run is None or not fact.notes:
        return changed
    return on_run(changed, fact.run, steering=tuple(_read(line, fact) for line in run.steering))


def _read(line: Steering, fact: SessionPrompted) -> Steering:
    return replace(line, consumed_by=fact.iteration) if line.note in fact.notes else line


@reduces(TurnCut)
def _cut(state: State, at: float, fact: TurnCut) -> State:
    return change_session(state, fact, cutting=True)


@reduces(SessionTurned)
def _turned(state: State, at: float, fact: SessionTurned) -> State:
    found = _session(state, fact)
    seconds = (found.seconds if found else 0.0) + fact.seconds
    return change_session(state, fact, end=fact.end, seconds=seconds, claimed_us=fact.claimed_us, foreign=fact.foreign)


@reduces(PermissionAsked)
def _asked(state: State, at: float, fact: PermissionAsked) -> State:
    found = _session(state, fact)
    if found is None or not fact.limit_s:
        return state
    question = Question(fact.request, fact.tool, fact.what, fact.paths, fact.why, at + fact.limit_s)
    return change_session(state, fact, asks=(*found.asks, question))


@reduces(PermissionAnswered)
def _answered(state: State, at: float, fact: PermissionAnswered) -> State:
    found = _session(state, fact)
    if found is None:
        return state
    asks = tuple(one for one in found.asks if one.request != fact.request)
    judges = tuple(dict.fromkeys((*found.judges, fact.judge))) if fact.judge else found.judges
    return change_session(state, fact, refused=found.refused + (not fact.allowed), asks=asks, judges=judges)


@reduces(HostRefused)
def _unreached(state: State, at: float, fact: HostRefused) -> State:
    found = _session(state, fact)
    if found is None or fact.address in found.unreached:
        return state
    return change_session(state, fact, unreached=(*found.unreached, fact.address))


def _session(state: State, fact: IterationFact) -> AgentSession | None:
    run = state.runs.get(fact.run)
    found = run.iteration(fact.iteration) if run is not None else None
    return found.session if found is not None else None


def change_session(state: State, fact: IterationFact, **changes: Any) -> State:
    """Change the session of an iteration; without one nothing changes."""
    found = _session(state, fact)
    return state if found is None else on_iteration(state, fact, session=replace(found, **changes))
