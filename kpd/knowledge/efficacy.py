"""Computes the success of rules: how often each fired, was aimed at, and what was then measured."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from kpd.model.causes import Flagged
from kpd.model.iteration import Expectation, Iteration
from kpd.model.profiles import Finding
from kpd.model.run import Run
from kpd.profile.catalogue import rule_ids, rules
from kpd.profile.rules import ORDER

_TRIED = ("rejected", "failed")


@dataclass(frozen=True, slots=True)
class Efficacy:
    """How often a rule fired, and what came of the attempts that aimed at it.

    `fired` counts the candidates that the rule fired on, `tried` the iterations that started from such a candidate and
    aimed at the rule, `accepted` those of them whose verdict accepts them. `gains` are what their verdicts measured, in
    percent of time saved; an iteration that did not build or was wrong has none.
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
        """The gain of an average try, in percent of time saved. A loss counts as zero, as it is not kept."""
        return sum(max(gain, 0.0) for gain in self.gains) / self.tried if self.tried else 0.0


NEVER = Efficacy()


def efficacy(runs: Iterable[Run]) -> dict[str, Efficacy]:
    """Compute the efficacy of each rule that fired, by its id. Only ended iterations and kpd's own verdicts count.

    Runs whose results nothing checks do not count: being fast is no success if the results may be wrong. Nor do those
    of a comparison: each of them has to begin with the same knowledge.

    A candidate counts once, as it was measured first: when it is measured again, its incumbent may be another one. A
    winner with flags counts once a person has accepted it.
    """
    fired: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    gains: defaultdict[str, list[float]] = defaultdict(list)
    for run in runs:
        for iteration in () if run.unchecked or run.compared is not None else run.iterations:
            if iteration.again is not None or (isinstance(iteration.cause, Flagged) and not iteration.override):
                continue
            fired.update(set(iteration.rules))
            for rule in _tried(run, iteration):
                tried[rule] += 1
                if iteration.verdict is not None:
                    accepted[rule] += iteration.verdict.accepted
                    gains[rule].append(iteration.verdict.gain.pct)
    return {rule: Efficacy(fired[rule], tried[rule], accepted[rule], tuple(gains[rule])) for rule in sorted(fired)}


def by_efficacy(findings: Iterable[Finding], known: Mapping[str, Efficacy]) -> tuple[Finding, ...]:
    """Sort the findings: the severest first, and equally severe ones by what their rules have achieved.

    First come rules that have helped before, by the gain of an average try; then those that nobody has tried; then
    those that were tried in vain, the least often tried first. Otherwise the order stays.
    """

    def place(finding: Finding) -> tuple[int, int, float]:
        found = known.get(finding.rule, NEVER)
        if found.accepted:
            return ORDER[finding.severity], 0, -found.won_pct
        return ORDER[finding.severity], 2 if found.tried else 1, found.tried

    return tuple(sorted(findings, key=place))


def aimed_at(iteration: Iteration, fired: Iterable[str]) -> tuple[str, ...]:
    """Return the rules that an iteration aimed at, each once: the existing rules that it named.

    An iteration that named none aimed at those of the `fired` rules that look at the metric it expected to move.
    """
    named = tuple(dict.fromkeys(rule for rule in iteration.aims if rule in rule_ids()))
    return named or (() if iteration.expected is None else _looking(iteration.expected, fired))


def _looking(expected: Expectation, fired: Iterable[str]) -> tuple[str, ...]:
    looking = {rule.id for rule in rules() if expected.metric in rule.needs}
    return tuple(dict.fromkeys(rule for rule in fired if rule in looking))


def _tried(run: Run, iteration: Iteration) -> tuple[str, ...]:
    """Return the rules that had fired on the iteration's parent and that it aimed at.

    There are none for an iteration that was neither measured nor found bad, or whose verdict decides nothing.
    """
    parent = run.iteration(iteration.parent)
    if parent is None or parent.number == iteration.number or iteration.outcome in (None, "baseline"):
        return ()
    if iteration.verdict is None and iteration.outcome not in _TRIED:
        return ()
    if iteration.verdict is not None and not iteration.verdict.decides:
        return ()
    return tuple(rule for rule in aimed_at(iteration, parent.rules) if rule in parent.rules)
