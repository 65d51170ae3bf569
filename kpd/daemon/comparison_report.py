"""Reports what a comparison has found: pure functions of its runs, and of what their sessions had and called."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import median
from typing import Literal

from kpd.daemon.rank_test import SURE, Shift, rank_test, shift
from kpd.model.comparison import ToolComparison
from kpd.model.events import Event
from kpd.model.facts.steps import Proposed
from kpd.model.headline import ALONE, headline
from kpd.model.run import Run
from kpd.model.side import Side, in_blocks
from kpd.model.spending import Spend
from kpd.model.status import Ended
from kpd.model.tools import SkillsRead, ToolsGiven
from kpd.model.trials import LISTING, ToolCalled
from kpd.model.verdicts import Speedup

Invalid = Literal["stopped", "failed", "held", "unconfirmed", "inactive"]
"""Why a run has no score: a person stopped it; no attempt of it was measured; its winner waits for a person; its best
was not measured against the baseline; its sessions did not use, or could not use, any of the tools."""
Conclusion = Literal["under_way", "stopped", "too_few", "invalid", "none", "tools", "plain"]
"""What the runs show: nothing yet; nothing, as it was stopped; too few runs to show anything; no valid run on one side;
no difference; that the runs with tools, or those without, ended faster."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What the sessions of a run did with the compared tools: whether any of these was `active`, and their calls.

    `called` are those tools of the servers that answered, by name. `used`: a tool had answered, or its skill been read,
    before the session left a candidate that was accepted.
    """

    active: bool = False
    calls: int = 0
    called: tuple[str, ...] = ()
    used: bool = False


@dataclass(frozen=True, slots=True)
class ComparedOutcome:
    """A run of a comparison: `speedup` is that of its best over its own baseline, None where `invalid` says why.

    A run that has not ended has neither. `calls`, `called` and `used` are as in `ToolUse`; `seconds` and `spend`
    are what its agent took.
    """

    run: str
    number: int
    side: Side
    over: bool
    speedup: Speedup | None
    invalid: Invalid | Literal[""]
    calls: int
    called: tuple[str, ...]
    used: bool
    seconds: float
    spend: Spend


@dataclass(frozen=True, slots=True)
class SideSummary:
    """The runs of one side that have ended; the speed-ups are those of the valid ones, None without any.

    In `used` of them a tool was used before the accepted candidate.
    """

    side: Side
    ended: int
    valid: int
    used: int
    lowest: float | None
    median: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """What a comparison has found so far, or in the end.

    `times` is how many times as fast as the plain runs those with tools ended: the median over all pairs, with its
    interval. `wins` is the share of pairs in which the run with tools ended faster. `p` is that of the rank test, in
    which runs without a score are the worst; `p_valid` leaves them out. All are None where a side has no valid run, and
    those of the test before the end.
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
    if not plain.valid or not tools.valid:
        return ComparisonReport(_conclusion(comparison, over, plain, tools, 1.0, 1.0, 0.5), found, plain, tools)
    one, other = _scores(ended["tools"]), _scores(ended["plain"])
    whole = over and not comparison.stopped
    impossible = _impossible(found) if whole else []
    test, ratio = rank_test(one, other, impossible), _ratio(shift(one, other, len(impossible)))
    conclusion = _conclusion(comparison, over, plain, tools, test.p, test.least, test.wins)
    if not whole:
        return ComparisonReport(conclusion, found, plain, tools, ratio, test.wins)
    valid = ([value for value in one if value != -inf], [value for value in other if value != -inf])
    p_valid = rank_test(*valid, _impossible(found, valid_only=True)).p
    return ComparisonReport(conclusion, found, plain, tools, ratio, test.wins, test.p, p_valid, test.least)


def use_of(run: Run, events: Iterable[Event], with_skill: Collection[str]) -> ToolUse:
    """Return what a run did with the tools of its side; `with_skill` are the versions that have a skill.

    A server is at work once the agent has listed its tools; a skill is as soon as the session has it.
    """
    wanted = {ref.partition("@")[0]: ref for ref in run.compared.tools} if run.compared is not None else {}
    refs, accepted = set(wanted.values()), {it.number for it in run.iterations if it.outcome == "accepted"}
    active, used, called, helped = False, False, list[str](), set[int]()
    for event in events:
        match event.fact:
            case ToolsGiven(tools=tools):
                active = active or bool(refs & set(tools) & set(with_skill))
            case ToolCalled(server=server, ok=True, iteration=iteration, tool=tool) if server in wanted:
                active = True
                if tool != LISTING:
                    called.append(tool)
                    helped.add(iteration)
            case SkillsRead(iteration=iteration, skills=skills) if refs & set(skills):
                helped.add(iteration)
            case Proposed(iteration=iteration) if iteration in accepted:
                used = used or iteration in helped
    return ToolUse(active, len(called), tuple(sorted(set(called))), used)


def outcome_of(run: Run, use: ToolUse) -> ComparedOutcome:
    """Score a run of a comparison by what kpd has measured."""
    assert run.compared is not None
    place, invalid = run.compared, _invalid(run, use) if run.over else ""
    best = headline(run)
    speedup = best.speedup if best is not None else ALONE
    seconds = sum(it.session.seconds for it in run.iterations if it.session is not None)
    scored = run.over and not invalid
    return ComparedOutcome(
        run.id, place.number, place.side, run.over, speedup if scored else None, invalid, use.calls, use.called,
        use.used, seconds, run.spend,
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


def _impossible(found: Sequence[ComparedOutcome], valid_only: bool = False) -> list[list[float]]:
    """Return, for each order that no comparison has, the scores that the runs with tools would have had in it.

    `valid_only`: the invalid runs are left out, and stay on their side.
    """
    orders, own = in_blocks(len(found) // 2), tuple(one.side for one in found)
    if own in orders:  # an earlier kpd drew it, of all orders
        return []
    stay = [at for at, one in enumerate(found) if valid_only and one.speedup is None]
    dealt = [
        [one for at, one in enumerate(found) if order[at] == "tools" and at not in stay]
        for order in orders
        if all(order[at] == own[at] for at in stay)
    ]
    return [_scores(deal) for deal in dealt]


def _scores(found: Sequence[ComparedOutcome]) -> list[float]:
    """Return the logarithms of the speed-ups; a missing one is worse than any."""
    return [log(one.speedup.ratio) if one.speedup is not None and one.speedup.ratio > 0 else -inf for one in found]


def _summary(side: Side, found: Sequence[ComparedOutcome]) -> SideSummary:
    ratios = [one.speedup.ratio for one in found if one.speedup is not None]
    used = sum(one.used for one in found)
    if not ratios:
        return SideSummary(side, len(found), 0, used, None, None, None)
    return SideSummary(side, len(found), len(ratios), used, min(ratios), median(ratios), max(ratios))


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
