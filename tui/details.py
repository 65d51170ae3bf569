"""What the daemon knows beyond the state, most of it of one iteration: asked when looked at, kept until it changes."""

from dataclasses import dataclass
from typing import Any, Literal

from kpd.model.codec import CodecError, decode, encode, event_from_json
from kpd.model.detail import Detail
from kpd.model.events import Billed, Event, IterationEnded, IterationFact
from kpd.model.nouns import Iteration, State
from kpd.model.spending import Spend
from kpd.subscription import DaemonError
from tui.feed import Feed, Message
from tui.outline import Place

MOST_KEPT = 64
MOST_EVENTS = 500
LOST = ("infra", "no_daemon")
"""Codes of errors that say nothing about the question: a lost connection, a disk."""

What = Literal["show", "diff", "events", "cost", "rules"]
Key = tuple[str, int, What]
"""A run, an iteration and what is asked of it; `WHOLE` in place of either asks of all of them."""
WHOLE = ("", -1)


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


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run has spent on models, by what was asked and by model; `cut` counts the calls that broke off."""

    purposes: dict[str, Spend]
    models: dict[str, Spend]
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Efficacy:
    """What has come of a rule in all runs: candidates it fired on, iterations that aimed at it, and their gains."""

    id: str
    fired: int
    tried: int
    accepted: int
    median_gain_pct: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The answers for one iteration, `cost` for a run as such; None where none has come yet."""

    show: Show | Problem | None = None
    diff: Diff | Problem | None = None
    events: tuple[Event, ...] | Problem | None = None
    cost: Cost | Problem | None = None
    rules: tuple[Efficacy, ...] | Problem | None = None

    @property
    def detail(self) -> Detail:
        return self.show.detail if isinstance(self.show, Show) else Detail()


Answer = Show | Diff | Cost | Problem | tuple[Event, ...] | tuple[Efficacy, ...]


@dataclass(slots=True)
class _Kept:
    value: Any
    seq: int
    asking: int = -1


class Details:
    """Answers, each good until the next event that bears on it; an outdated one is shown until a new one is there."""

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
            fact = message.fact
            self._changed[fact.run, fact.iteration] = message.seq
            if isinstance(fact, Billed):
                self._changed[fact.run, WHOLE[1]] = message.seq
            elif isinstance(fact, IterationEnded):
                self._changed[WHOLE] = message.seq

    def forget_problems(self) -> None:
        """A new connection may answer what the old one could not."""
        self._kept = {key: kept for key, kept in self._kept.items() if not isinstance(kept.value, Problem)}
        for kept in self._kept.values():
            kept.asking = -1

    def shown(self, place: Place) -> Shown:
        return Shown(
            self._value(place, "show"), self._value(place, "diff"), self._value(place, "events"),
            self._value(place, "cost"), self._value(place, "rules"),
        )  # fmt: skip

    def wants(self, place: Place, what: What) -> bool:
        """Whether this must be asked for now."""
        key = _key(place, what)
        if key is None:
            return False
        kept, seq = self._kept.get(key), self._seq(key)
        return kept is None or (kept.seq < seq and kept.asking < seq)

    async def ask(self, feed: Feed, place: Place, what: What) -> None:
        """Ask, and keep the answer or the reason why there is none."""
        key = _key(place, what)
        assert key is not None
        seq = self._seq(key)
        kept = self._kept.setdefault(key, _Kept(None, -1))
        kept.asking = seq
        value: Answer
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

    def _seq(self, key: Key) -> int:
        return self._changed.get(key[:2], self._since)

    def _value(self, place: Place, what: What) -> Any:
        key = _key(place, what)
        kept = None if key is None else self._kept.get(key)
        return None if kept is None else kept.value


def _key(place: Place, what: What) -> Key | None:
    """Under which an answer is kept; None where there is nothing to ask."""
    if what == "cost":
        return (place.run, WHOLE[1], what) if place.run and place.iteration is None else None
    if place.iteration is None:
        return None
    return (*WHOLE, what) if what == "rules" else (place.run, place.iteration, what)


async def _answer(feed: Feed, place: Place, what: What) -> Answer:
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
        case "cost":
            found = decode(encode(await feed.query("cost", run=place.run)), dict[str, Any])
            return decode(encode(found.get("runs")), tuple[Cost])[0]
        case "rules":
            return decode(encode(await feed.query("rules")), tuple[Efficacy, ...])
