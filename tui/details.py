"""What the daemon knows of one iteration beyond the state: asked for when looked at, kept until it changes."""

from dataclasses import dataclass
from typing import Any, Literal

from kpd.model.codec import CodecError, decode, encode, event_from_json
from kpd.model.detail import Detail
from kpd.model.events import Event, IterationFact
from kpd.model.nouns import Iteration, State
from kpd.subscription import DaemonError
from tui.feed import Feed, Message
from tui.outline import Place

MOST_KEPT = 64
MOST_EVENTS = 500
LOST = ("infra", "no_daemon")
"""Codes of errors that say nothing about the question: a lost connection, a disk."""

What = Literal["show", "diff", "events"]
Key = tuple[str, int, What]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no answer."""

    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Show:
    """One iteration in full, beside the one it had to beat and the baseline."""

    iteration: Iteration
    detail: Detail
    parent: Detail | None = None
    baseline: Detail | None = None
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff and what it compares."""

    text: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The answers for one iteration; None where none has come yet."""

    show: Show | Problem | None = None
    diff: Diff | Problem | None = None
    events: tuple[Event, ...] | Problem | None = None

    @property
    def detail(self) -> Detail:
        return self.show.detail if isinstance(self.show, Show) else Detail()


@dataclass(slots=True)
class _Kept:
    value: Any
    seq: int
    asking: int = -1


class Details:
    """Answers by iteration, each good until that iteration's next event; an outdated one is shown until then."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}
        self._changed: dict[tuple[str, int], int] = {}
        self._since = 0

    def hear(self, message: Message) -> None:
        """Note which answers a message outdates; a fresh snapshot outdates all of them."""
        if isinstance(message, State):
            self._since = message.seq
            self._changed.clear()
        elif isinstance(message, Event) and isinstance(message.fact, IterationFact):
            self._changed[message.fact.run, message.fact.iteration] = message.seq

    def forget_problems(self) -> None:
        """A new connection may answer what the old one could not."""
        self._kept = {key: kept for key, kept in self._kept.items() if not isinstance(kept.value, Problem)}
        for kept in self._kept.values():
            kept.asking = -1

    def shown(self, place: Place) -> Shown:
        if place.iteration is None:
            return Shown()
        run, number = place.run, place.iteration
        return Shown(
            self._value(run, number, "show"), self._value(run, number, "diff"), self._value(run, number, "events")
        )

    def wants(self, place: Place, what: What) -> bool:
        """Whether this must be asked for now."""
        if place.iteration is None:
            return False
        kept = self._kept.get((place.run, place.iteration, what))
        seq = self._seq(place.run, place.iteration)
        return kept is None or (kept.seq < seq and kept.asking < seq)

    async def ask(self, feed: Feed, place: Place, what: What) -> None:
        """Ask, and keep the answer or the reason why there is none."""
        assert place.iteration is not None
        key: Key = (place.run, place.iteration, what)
        seq = self._seq(place.run, place.iteration)
        kept = self._kept.setdefault(key, _Kept(None, -1))
        kept.asking = seq
        value: Show | Diff | Problem | tuple[Event, ...]
        try:
            value = await _answer(feed, place, what)
        except DaemonError as err:
            if err.code in LOST and kept.value is not None:
                return  # what was known stays in sight, and the next connection asks again
            value = Problem(err.message, err.remedy)
        except CodecError as err:
            value = Problem(f"the daemon's answer cannot be read: {err}", "use one version of kpd")
        self._kept.pop(key, None)
        self._kept[key] = _Kept(value, seq, seq)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    def _seq(self, run: str, iteration: int) -> int:
        return self._changed.get((run, iteration), self._since)

    def _value(self, run: str, iteration: int, what: What) -> Any:
        kept = self._kept.get((run, iteration, what))
        return None if kept is None else kept.value


async def _answer(feed: Feed, place: Place, what: What) -> Show | Diff | tuple[Event, ...]:
    ref = f"{place.run}.{place.iteration}"
    match what:
        case "show":
            return decode(encode(await feed.query("show", iteration=ref)), Show)
        case "diff":
            found = decode(encode(await feed.query("diff", iteration=ref)), dict[str, Any])
            return Diff(str(found.get("text", "")), str(found.get("from", "")), str(found.get("to", "")))
        case "events":
            answer = await feed.query("events", run=place.run, iteration=place.iteration, after=0, limit=MOST_EVENTS)
            return tuple(event_from_json(encode(event)) for event in decode(encode(answer), list[Any]))
