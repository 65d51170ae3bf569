"""Caches answers of the daemon beyond the state, mostly of one iteration: asked when shown, kept until they change."""

from dataclasses import dataclass, replace
from typing import Any

from kpd.messages import Push
from kpd.model.acts import RolledBack
from kpd.model.codec import CodecError, decode, encode, event_from_json
from kpd.model.deploying import DeployBegun, DeploymentSeen, DeployNotBegun
from kpd.model.events import Event
from kpd.model.fact import Fact, IterationFact, RunFact
from kpd.model.facts.calls import Billed
from kpd.model.facts.iterations import Accepted, GaveWay, IterationEnded
from kpd.model.notices import Notice
from kpd.model.preparing import PhaseBegun, PhaseEnded
from kpd.model.session import AGENT
from kpd.model.state import State
from kpd.subscription import DaemonError, Live
from kpd.wire import DAEMON_LOG
from tui.format.operator_acts import operator_act
from tui.model.answers import Answer, BestCases, Cost, DetailQuery, Diff, LoadedDetails, Problem, RuleRecord, Show, Text
from tui.model.conversation import SESSION_LOG
from tui.model.feed import Feed
from tui.model.outline import TreePosition

MOST_KEPT = 64
MOST_EVENTS = 500
MOST_ACTED = 500
"""Events of a run, the newest, that are searched for what was done to it."""
LOST = ("infra", "no_daemon")
"""Error codes that do not concern the question itself: a lost connection, a disk."""

TEXTS = {"reply.md": AGENT, "build.log": "build", SESSION_LOG: AGENT}
"""Files of an iteration with output that was printed while nobody watched, and its channel."""
LONGEST_TEXT, LONGEST_TALK = 40_000, 400_000
BILLS, ACTS, CASES = -1, -2, -3
"""Keys in place of an iteration's number: the bills of a run, what was done to it, and its times by case."""


@dataclass(slots=True)
class _Kept:
    """An answer: `of` is the number of the newest message that it includes, `asking` that of the question under way."""

    value: Any
    of: int
    asking: int = -1


class Details:
    """The daemon's answers, each valid until an event changes it; an outdated one is shown until the next is there."""

    def __init__(self) -> None:
        self._kept: dict[DetailQuery, _Kept] = {}
        self._heard = self._since = 0
        self._changed: dict[tuple[str, int], int] = {}
        """Which message was the newest that bears on a subject, counting from `_since`, that of the last snapshot."""

    def hear(self, message: Push) -> None:
        """Note which answers a message makes outdated; a new snapshot does so to all of them."""
        self._heard += 1
        if isinstance(message, State):
            self._since = self._heard
            self._changed.clear()
        if isinstance(message, Live) and message.channel == DAEMON_LOG:
            self._changed[_DAEMON] = self._heard
        if not isinstance(message, Event):
            return
        fact = message.fact
        if isinstance(fact, RunFact) and _done_to_a_run(fact):
            self._changed[fact.run, ACTS] = self._heard
        if isinstance(fact, IterationFact):
            self._changed[fact.run, fact.iteration] = self._heard
            if isinstance(fact, Billed):
                self._changed[fact.run, BILLS] = self._heard
            elif isinstance(fact, IterationEnded):
                self._changed[_EVERYWHERE] = self._heard
            if isinstance(fact, IterationEnded | Accepted | RolledBack | GaveWay):
                self._changed[fact.run, CASES] = self._heard

    def forget_problems(self) -> None:
        """Forget questions that got no answer, and ask again those under way: a new connection may answer them."""
        self._kept = {key: kept for key, kept in self._kept.items() if not isinstance(kept.value, Problem)}
        for kept in self._kept.values():
            kept.asking = -1

    def shown(
        self, at: TreePosition, against: TreePosition | None = None, mark: TreePosition | None = None
    ) -> LoadedDetails:
        """Return the known answers about `at`, with the diff against `against`, and about the iteration at `mark`."""
        return LoadedDetails(
            self._value(DetailQuery("show", at)),
            self._value(DetailQuery("diff", at, against)),
            self._value(DetailQuery("events", at)),
            self._value(DetailQuery("cost", at)),
            self._value(DetailQuery("rules", at)),
            self._value(DetailQuery("acts", at)),
            None if mark is None else self._value(DetailQuery("show", mark)),
            self._value(DetailQuery("diary", at)),
            self._value(DetailQuery("texts", at)),
            self._value(DetailQuery("cases", at)),
        )

    def wants(self, question: DetailQuery) -> bool:
        """Return whether this question must be asked now; if so, it counts as under way from then on."""
        key = _key(question)
        if key is None:
            return False
        kept, news = self._kept.setdefault(key, _Kept(None, -1)), self._news(key)
        wanted = kept.of < news and kept.asking < news
        if wanted:
            kept.asking = news
        return wanted

    async def ask(self, feed: Feed, question: DetailQuery) -> bool:
        """Ask the daemon, and keep its answer or the problem. Return whether it is the first to this question."""
        key = _key(question)
        assert key is not None
        news = self._news(key)
        kept = self._kept.setdefault(key, _Kept(None, -1))
        first = kept.value is None
        value: Answer
        try:
            value = await _answer(feed, question)
        except DaemonError as err:
            if err.code in LOST and kept.value is not None:
                return False  # the old answer stays, and the next connection asks again
            value = Problem(err.message, err.remedy)
        except CodecError as err:
            value = Problem(f"the daemon's answer cannot be read: {err}", "use one version of kpd")
        self._kept.pop(key, None)
        self._kept[key] = _Kept(value, news, news)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return first

    def _news(self, key: DetailQuery) -> int:
        """Return the number of the message that an answer must not be older than."""
        return self._changed.get(_subject(key), self._since)

    def _value(self, question: DetailQuery) -> Any:
        key = _key(question)
        kept = None if key is None else self._kept.get(key)
        return None if kept is None else kept.value


_EVERYWHERE, _DAEMON = ("", -1), ("", -2)


def _key(question: DetailQuery) -> DetailQuery | None:
    """Return the key under which an answer is kept; None where there is nothing to ask."""
    at = question.at
    match question.what:
        case "cost":
            return question if at.run and at.iteration is None else None
        case "acts" | "cases":
            return replace(question, at=at.folder if at.iteration is not None else at) if at.run else None
        case "rules":
            return None if at.iteration is None else replace(question, at=TreePosition())
        case "diary":
            return replace(question, at=TreePosition())
    return None if at.iteration is None else question


def _subject(key: DetailQuery) -> tuple[str, int]:
    """Return what the answer depends on: when that changes, the answer is outdated."""
    match key.what:
        case "rules":
            return _EVERYWHERE
        case "cost":
            return key.at.run, BILLS
        case "acts":
            return key.at.run, ACTS
        case "cases":
            return key.at.run, CASES
        case "diary":
            return _DAEMON
    assert key.at.iteration is not None
    return key.at.run, key.at.iteration


def _done_to_a_run(fact: Fact) -> bool:
    """Return whether an operator has done this, or it is a phase before the run's first iteration or after its last."""
    phases = DeployBegun | DeploymentSeen | DeployNotBegun | PhaseBegun | PhaseEnded
    return isinstance(fact, phases) or operator_act(fact) is not None


async def _answer(feed: Feed, question: DetailQuery) -> Answer:
    at = question.at
    match question.what:
        case "show":
            return decode(encode(await feed.query("show", iteration=at.ref)), Show)
        case "diff":
            against = {} if question.against is None else {"against": question.against.ref}
            found = decode(encode(await feed.query("diff", iteration=at.ref, **against)), dict[str, Any])
            return Diff(str(found.get("text", "")), str(found.get("from", "")), str(found.get("to", "")))
        case "events":
            return _events(await feed.query("events", run=at.run, iteration=at.iteration, after=0, limit=MOST_EVENTS))
        case "acts":
            newest = _events(await feed.query("log", run=at.run, limit=MOST_ACTED))
            return tuple(event for event in newest if _done_to_a_run(event.fact))
        case "cost":
            found = decode(encode(await feed.query("cost", run=at.run)), dict[str, Any])
            return decode(encode(found.get("runs")), tuple[Cost])[0]
        case "cases":
            return decode(encode(await feed.query("cases", run=at.run)), BestCases)
        case "rules":
            return decode(encode(await feed.query("rules")), tuple[RuleRecord, ...])
        case "diary":
            return decode(encode(await feed.query("diary")), tuple[Notice, ...])
        case "texts":
            texts = [await _text(feed, at, name) for name in TEXTS]
            return tuple(text for text in texts if text is not None)


async def _text(feed: Feed, at: TreePosition, name: str) -> Text | None:
    """Read the first characters of a file of the iteration; None where it has no such file."""
    most = LONGEST_TALK if name == SESSION_LOG else LONGEST_TEXT
    try:
        answer = await feed.query("file", iteration=at.ref, name=name)
    except DaemonError as err:
        if err.code in ("unknown", "no_file"):
            return None
        raise
    whole = str(decode(encode(answer), dict[str, Any]).get("text", ""))
    return Text(name, whole[:most], len(whole) > most) if whole.strip() else None


def _events(answer: Any) -> tuple[Event, ...]:
    return tuple(event_from_json(encode(event)) for event in decode(encode(answer), list[Any]))
