"""Filters the iterations of the tree by words, by `verdict:` and others, and by saved filters such as `@wins`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kpd.model.faults import CandidateFault, IsIncorrect, first
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.run import Run
from tui.format import marks

Matches = Callable[[Run, Iteration, str], bool]


def _verdict(run: Run, it: Iteration, value: str) -> bool:
    """Match `verdict:` against the word that the tree shows, the judge's word, and the outcome."""
    words = [marks.of_iteration(it, run).word, it.outcome or "running"]
    return any(word.startswith(value) for word in [*words, *([it.verdict.word] if it.verdict else [])])


def _outcome(run: Run, it: Iteration, value: str) -> bool:
    """Match `outcome:` against the outcome, and against the kind of the cause that ended it (`outcome:superseded`)."""
    words = [it.outcome or "running", *([it.cause.name] if it.cause else [])]
    return any(word.startswith(value) for word in words)


def _fault(run: Run, it: Iteration, value: str) -> bool:
    """Match `fault:` against the kind of the candidate's fault (`fault:build`, `fault:incorrect`, `fault:crashed`)."""
    if not isinstance(it.cause, CandidateFault) or isinstance(fault := first(it.cause), Told):
        return False
    words = [fault.name, *([fault.wrong.what.name] if isinstance(fault, IsIncorrect) else [])]
    return any(word.startswith(value) for word in words)


def _rule(run: Run, it: Iteration, value: str) -> bool:
    return any(value in rule.lower() for rule in it.rules)


def _agent(run: Run, it: Iteration, value: str) -> bool:
    return value in it.agent.lower()


PREFIXES: Mapping[str, Matches] = {
    "verdict": _verdict,
    "outcome": _outcome,
    "fault": _fault,
    "rule": _rule,
    "agent": _agent,
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: all `words` and all `terms` (a prefix and its value) must match; `unknown` is no known one."""

    words: tuple[str, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    unknown: str = ""

    def __bool__(self) -> bool:
        return bool(self.words or self.terms)

    def iteration(self, run: Run, it: Iteration) -> bool:
        if not all(PREFIXES[prefix](run, it, value) for prefix, value in self.terms):
            return False
        if not self.words:
            return True
        text = f"{run.id}.{it.number} {it.agent} {it.memo}".lower()
        return all(word in text for word in self.words)

    def run(self, run: Run) -> bool:
        """Return whether the run itself matches, even where none of its iterations does."""
        text = f"{run.id} {run.task} {run.agent}".lower()
        return not self.terms and all(word in text for word in self.words)


EVERYTHING = Filter()
NO_SAVED: Mapping[str, str] = {}


def names(saved: Mapping[str, str] = NO_SAVED) -> str:
    """Return what filters there are, for people: `@wins verdict: outcome: …`."""
    return " ".join([*(f"@{name}" for name in saved), *(f"{prefix}:" for prefix in PREFIXES)])


def parsed(text: str, saved: Mapping[str, str] = NO_SAVED) -> Filter:
    """Parse the text of a filter. An unknown prefix is left out and named; one without a value yet has no effect.

    `@wins` stands for the filter of that name in `saved`, which cannot use others.
    """
    words: list[str] = []
    terms: list[tuple[str, str]] = []
    unknown = ""
    for word in _with_saved(text, saved):
        if word.startswith("@"):
            unknown = unknown or (word if len(word) > 1 else "")
            continue
        prefix, colon, value = word.partition(":")
        if not colon:
            words.append(word)
        elif prefix not in PREFIXES:
            unknown = unknown or f"{prefix}:"
        elif value:
            terms.append((prefix, value))
    return Filter(tuple(words), tuple(terms), unknown)


def _with_saved(text: str, saved: Mapping[str, str]) -> list[str]:
    """Return the words of a filter, with the words of each saved one in place of its name."""
    known = {name.lower(): words for name, words in saved.items()}
    found = (known.get(word[1:], word) if word.startswith("@") else word for word in text.lower().split())
    return [one for words in found for one in words.lower().split()]
