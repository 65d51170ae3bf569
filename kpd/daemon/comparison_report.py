"""Reports what a comparison has found: pure functions of its runs, and of what their sessions had and called."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import median
from typing import Literal

from kpd.daemon.rank_test import SURE, Shift, rank_test, shift
from kpd.model.comparison import ToolComparison
from kpd.model.headline import ALONE, headline
from kpd.model.run import Run
from kpd.model.side import Side
from kpd.model.status import Ended
from kpd.model.verdicts import Speedup

Invalid = Literal["stopped", "failed", "held", "unconfirmed", "inactive"]
"""Why a run has no score: a person stopped it; no attempt of it was measured; its winner waits for a person; its best
was not measured against the baseline; its sessions did not use, or could not use, any of the tools."""
Conclusion = Literal["under_way", "stopped", "too_few", "invalid", "none", "tools", "plain"]
"""What the runs show: nothing yet; nothing, as it was stopped; too few runs to show anything; no valid run on one side;
no difference; that the runs with tools, or those without, ended faster."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What the sessions of a run did with the compared tools: whether any of these was `active`, and their calls."""

    active: bool = False
    calls: int = 0


@dataclass(frozen=True, slots=True)
class ComparedOutcome:
    """A run of a comparison: `speedup` is that of its best over its own baseline, None where `invalid` says why.

    A run that has not ended has neither. `seconds` and `usd` are what its agent took.
    """

    run: str
    number: int
    side: Side
    over: bool
    speedup: Speedup | None
    invalid: Invalid | Literal[""]
    calls: int
    seconds: float
    usd: float


@dataclass(frozen=True, slots=True)
class SideSummary:
    """The runs of one side that have ended; the speed-ups are those of the valid ones, None without any."""

    side: Side
    ended: int
    valid: int
    lowest: float | None
    median: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """What a comparison has found so far, or in the end.

    `times` is how many times as fast as the plain runs those with tools ended: the median over all pairs, with its
    interval. `wins` is the share of pairs in which the run with tools ended faster. `p` is that of the rank test, in
    which runs without a score are the worst; `p_valid` leaves them out. All are None where a side has no run for them.
    """

    conclusion: Conclusion
    runs: tuple[ComparedOutcome, ...]
    plain: SideSummary
    tools: SideSummary
    times: Shift | None = None
    wins: float | None = None
    p: float | None = None
    p_valid: float | None = None
    least_p: float | None = None


def report(comparison: ToolComparison, over: bool, runs: Sequence[tuple[Run, ToolUse]]) -> ComparisonReport:
    """Compute the report; `over`: no run of the comparison is still to come or to end."""
    found = tuple(outcome_of(run, use) for run, use in runs)
    ended = {side: [one for one in found if one.side == side and one.over] for side in ("plain", "tools")}
    plain, tools = (_summary(side, ended[side]) for side in ("plain", "tools"))
    if not plain.ended or not tools.ended:
        return ComparisonReport(_conclusion(comparison, over, plain, tools, 1.0, 1.0, 0.5), found, plain, tools)
    one, other = _scores(ended["tools"]), _scores(ended["plain"])
    test = rank_test(one, other)
    valid = ([value for value in one if value != -inf], [value for value in other if value != -inf])
    p_valid = rank_test(*valid).p if all(valid) else None
    conclusion = _conclusion(comparison, over, plain, tools, test.p, test.least, test.wins)
    return ComparisonReport(
        conclusion, found, plain, tools, _ratio(shift(one, other)), test.wins, test.p, p_valid, test.least
    )


def outcome_of(run: Run, use: ToolUse) -> ComparedOutcome:
    """Score a run of a comparison by what kpd has measured."""
    assert run.compared is not None
    place, invalid = run.compared, _invalid(run, use) if run.over else ""
    best = headline(run)
    speedup = best.speedup if best is not None else ALONE
    seconds = sum(it.session.seconds for it in run.iterations if it.session is not None)
    scored = run.over and not invalid
    return ComparedOutcome(
        run.id, place.number, place.side, run.over, speedup if scored else None, invalid, use.calls, seconds,
        run.spend.usd,
    )  # fmt: skip


def _invalid(run: Run, use: ToolUse) -> Invalid | Literal[""]:
    if isinstance(run.status, Ended) and run.status.outcome == "stopped":
        return "stopped"
    attempts = [it for it in run.iterations if it.session is not None]
    if run.baseline is None or not any(it.verdict is not None for it in attempts):
        return "failed"
    if any(it.outcome == "held" for it in run.iterations):  # whatever a person has decided of it since then
        return "held"
    if (best := headline(run)) is not None and best.how != "measured":
        return "unconfirmed"
    return "inactive" if run.compared is not None and run.compared.tools and not use.active else ""


def _scores(found: Sequence[ComparedOutcome]) -> list[float]:
    """Return the logarithms of the speed-ups; a missing one is worse than any."""
    return [log(one.speedup.ratio) if one.speedup is not None and one.speedup.ratio > 0 else -inf for one in found]


def _summary(side: Side, found: Sequence[ComparedOutcome]) -> SideSummary:
    ratios = [one.speedup.ratio for one in found if one.speedup is not None]
    if not ratios:
        return SideSummary(side, len(found), 0, None, None, None)
    return SideSummary(side, len(found), len(ratios), min(ratios), median(ratios), max(ratios))


def _ratio(found: Shift) -> Shift:
    ends = (None if value is None else exp(value) for value in (found.median, found.low, found.high))
    return Shift(*ends)


def _conclusion(
    comparison: ToolComparison, over: bool, plain: SideSummary, tools: SideSummary, p: float, least: float, wins: float
) -> Conclusion:
    """Conclude only when all runs have ended: who looks often enough would see a difference by chance."""
    if comparison.stopped:
        return "stopped"
    if not over:
        return "under_way"
    if not plain.valid or not tools.valid:
        return "invalid"
    if least > SURE:
        return "too_few"
    if p > SURE:
        return "none"
    return "tools" if wins > 0.5 else "plain"
