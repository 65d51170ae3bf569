"""Computes the success of rules: how often each fired, was aimed at, and what was then measured."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from kpd.model.profiles import Finding
from kpd.model.state import Expectation, Iteration, Run
from kpd.profile.catalogue import rule_ids, rules
from kpd.profile.rules import ORDER

_TRIED = ("rejected", "failed")


@dataclass(frozen=True, slots=True)
class Efficacy:
    """`fired` counts the candidates that a rule fired on; `tried` the iterations that started from such a one and aimed
    at the rule; `accepted` those of them whose verdict accepts them. `gains` are what their verdicts measured, in
    percent of time saved: none of one that did not build or was wrong.
    """

    fired: int = 0
    tried: int = 0
    accepted: int = 0
    gains: tuple[float, ...] = ()

    @property
    def median_pct(self) -> float | None:
        return median(self.gains) if self.gains else None

    @property
    def won_pct(self) -> float:
        """The gain of an average try, where a loss counts as nothing, as it is not kept."""
        return sum(max(gain, 0.0) for gain in self.gains) / self.tried if self.tried else 0.0


NEVER = Efficacy()


def efficacy(runs: Iterable[Run]) -> dict[str, Efficacy]:
    """By rule id, those that fired. Only ended iterations and kpd's own verdicts count: no claim, and no override.

    A candidate counts once, as it was measured first: when it is measured again its incumbent may be another one.
    """
    fired: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    gains: defaultdict[str, list[float]] = defaultdict(list)
    for run in runs:
        for iteration in run.iterations:
            if iteration.again is not None:
                continue
            fired.update(set(iteration.rules))
            for rule in _tried(run, iteration):
                tried[rule] += 1
                if iteration.verdict is not None:
                    accepted[rule] += iteration.verdict.accepted
                    gains[rule].append(iteration.verdict.gain.pct)
    return {rule: Efficacy(fired[rule], tried[rule], accepted[rule], tuple(gains[rule])) for rule in sorted(fired)}


def by_efficacy(findings: Iterable[Finding], known: Mapping[str, Efficacy]) -> tuple[Finding, ...]:
    """Return the severest first. Within a severity: what has helped before, by the gain of an average try; then what nobody
    has tried; then what was tried in vain, the least often first. Otherwise as they come."""

    def place(finding: Finding) -> tuple[int, int, float]:
        found = known.get(finding.rule, NEVER)
        if found.accepted:
            return ORDER[finding.severity], 0, -found.won_pct
        return ORDER[finding.severity], 2 if found.tried else 1, found.tried

    return tuple(sorted(findings, key=place))


def aimed_at(iteration: Iteration, fired: Iterable[str]) -> tuple[str, ...]:
    """Return the rules that an iteration was to satisfy, each once: those it named, as far as there are such rules.

    One that named none aimed at those that had `fired` on what it started from and look at the metric it meant to move.
    """
    named = tuple(dict.fromkeys(rule for rule in iteration.aims if rule in rule_ids()))
    return named or (() if iteration.expected is None else _looking(iteration.expected, fired))


def _looking(expected: Expectation, fired: Iterable[str]) -> tuple[str, ...]:
    looking = {rule.id for rule in rules() if expected.metric in rule.needs}
    return tuple(dict.fromkeys(rule for rule in fired if rule in looking))


def _tried(run: Run, iteration: Iteration) -> tuple[str, ...]:
    """Return the rules that had fired on its parent and that it aimed at; none for what was never measured nor found bad."""
    parent = run.iteration(iteration.parent)
    if parent is None or parent.number == iteration.number or iteration.outcome in (None, "baseline"):
        return ()
    if iteration.verdict is None and iteration.outcome not in _TRIED:
        return ()
    return tuple(rule for rule in aimed_at(iteration, parent.rules) if rule in parent.rules)
