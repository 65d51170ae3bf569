"""Reads what an iteration's events say of its session, so that a daemon that starts again sends no prompt twice."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kpd.model import events as e
from kpd.model.session import TurnEnd
from kpd.model.tools import SmithTask

UNSEEN: tuple[TurnEnd | None, ...] = (None, "cut", "lost")
"""Ends of a turn after which the agent is asked to go on."""


@dataclass(frozen=True, slots=True)
class Past:
    """A session so far. `prompted` is the last prompt that was sent, `ended` how its turn ended: None if nobody saw it.

    `spent_s` are the seconds of all turns whose end is known, `begun` is the Unix time of the last prompt.
    `usd` is what was billed; of a turn whose end nobody saw that is not known, and not counted. `tools` are the built
    ones that it began with. `cut`: an operator has cut the turn of that prompt.
    """

    session: str
    limit_s: float
    own: str = ""
    loads: bool = False
    prompted: e.SessionPrompted | None = None
    ended: TurnEnd | None = None
    spent_s: float = 0.0
    begun: float = 0.0
    requests: int = 0
    usd: float = 0.0
    tools: tuple[str, ...] = ()
    cut: bool = False

    @property
    def turns(self) -> int:
        return self.prompted.turn if self.prompted is not None else 0

    @property
    def known_end(self) -> TurnEnd | None:
        """How the turn ended; where nobody saw it, an operator's cut is its end."""
        return "stopped" if self.cut and self.ended in UNSEEN else self.ended

    def asked(self, answers: int) -> bool:
        """Return whether the prompt that answers this fault was sent already."""
        return self.prompted is not None and self.prompted.answers == answers

    def needs_turn(self, answers: int) -> bool:
        """Return whether the agent is to be started: for a new prompt, or to go on with a turn that was cut.

        From any other agent, and after an operator's cut, the tree is taken as it is: no prompt is sent twice.
        """
        return not self.asked(answers) or (self.loads and self.known_end in UNSEEN)

    def left_s(self, last_word: float) -> float:
        """Return what is left of the limit; a turn whose end nobody saw lasted until the `last_word`, in Unix time."""
        unseen = max(0.0, last_word - self.begun) if self.prompted is not None and self.ended is None else 0.0
        return self.limit_s - self.spent_s - unseen


@dataclass(frozen=True, slots=True)
class SmithTurn:
    """A turn of a session that works on a tool; `ended` is None where nobody saw its end.

    `begun` is the Unix time of its last prompt, `spent_s` what the turn had lasted before that.
    """

    task: SmithTask
    ended: e.SmithTurned | None = None
    begun: float = 0.0
    spent_s: float = 0.0

    @property
    def seen(self) -> bool:
        return self.ended is not None and self.ended.end not in UNSEEN

    def lasted_s(self, last_word: float) -> float:
        """Return the seconds that it has had; where nobody saw its end, until the `last_word`, in Unix time."""
        return self.spent_s + (max(0.0, last_word - self.begun) if self.ended is None else 0.0)


def smith_turns(events: Iterable[e.Event]) -> list[SmithTurn]:
    """Fold the events of an iteration to the turns in which its session works on a tool, in order."""
    found: list[SmithTurn] = []
    for event in events:
        match event.fact:
            case e.SmithPrompted(task=task, continues=continues):
                spent = found[-1].spent_s if continues else 0.0
                found = [*(found[:-1] if continues else found), SmithTurn(task, None, event.at, spent)]
            case e.SmithTurned(task=task, seconds=seconds) as turned:
                spent = found[-1].spent_s + seconds
                found = [*found[:-1], SmithTurn(task, turned, found[-1].begun, spent)]
    return found


def past(events: Iterable[e.Event]) -> Past | None:
    """Fold the events of an iteration; None where it has no session yet."""
    found: Past | None = None
    for event in events:
        match event.fact:
            case e.SessionOpened(session=session, limit_s=limit_s):
                found = Past(session, limit_s, requests=found.requests if found else 0)
            case e.SessionKnown(own=own, loads=loads) if found:
                found = replace(found, own=own, loads=loads)
            case e.SessionPrompted() as prompted if found:
                found = replace(found, prompted=prompted, ended=None, begun=event.at, cut=False)
            case e.TurnCut() if found:
                found = replace(found, cut=True)
            case e.SessionTurned(end=end, seconds=seconds) if found:
                found = replace(found, ended=end, spent_s=found.spent_s + seconds)
            case e.Billed(usd=usd, unseen=False) if found and usd is not None:
                found = replace(found, usd=found.usd + usd)
            case e.ToolsGiven(tools=tools) if found:
                found = replace(found, tools=tools)
            case e.PermissionAsked(request=request) if found:
                found = replace(found, requests=request)
    return found
