"""The report of a comparison: scores are kpd's own, invalid runs count as the worst, nothing is concluded too early."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from kpd.daemon.comparison_report import ComparisonReport, ToolUse, outcome_of, report, use_of
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Stopped
from kpd.model.comparison import ToolComparison
from kpd.model.iteration import Iteration, PersonsAnswer
from kpd.model.run import Run
from kpd.model.side import Side
from kpd.model.status import Ended, Running
from kpd.model.trials import LISTING
from tests.support.model.compared import TOOLS, run, verdict
from tests.support.model.samples import done

USED = ToolUse(True, 3, ("count",), True)


def comparison(trials: int, **changes: Any) -> ToolComparison:
    order: tuple[Side, ...] = ("plain", "tools") * trials
    return replace(ToolComparison("c1", "task", "mine", "local", Budget(), order, TOOLS, 7, 0.0, {}), **changes)


def of(
    plain: list[float | None], tools: list[float | None], use: ToolUse = USED, over: bool = True
) -> ComparisonReport:
    return report(comparison(len(plain)), over, in_turn(plain, tools, use))


def in_turn(plain: list[float | None], tools: list[float | None], use: ToolUse) -> list[tuple[Run, ToolUse]]:
    pairs = zip(plain, tools, strict=True)
    return [each for one, other in pairs for each in ((run(one), ToolUse()), (run(other, "tools"), use))]


def test_a_tool_that_helps_one_that_harms_and_one_that_makes_no_difference() -> None:
    better = of([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, 1.8])
    assert (better.conclusion, better.wins, better.p) == ("tools", 1.0, pytest.approx(2 / 68)), "70 orders but two"
    assert better.times is not None and better.times.low is not None
    assert 1.2 < better.times.low < (better.times.median or 0) < 1.8
    assert of([1.5, 1.6, 1.7, 1.8], [1.0, 1.1, 1.2, 1.15]).conclusion == "plain"
    assert of([1.0, 1.2, 1.4, 1.6], [1.1, 1.3, 1.5, 1.0]).conclusion == "none"
    assert of([1.0] * 5, [1.0] * 5).conclusion == "none"


def test_nothing_is_concluded_before_the_end_from_too_few_or_of_a_stopped_one() -> None:
    ratios: tuple[list[float | None], list[float | None]] = ([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, 1.8])
    assert of(*ratios, over=False).conclusion == "under_way"
    assert of(ratios[0][:3], ratios[1][:3]).conclusion == "too_few"
    stopped = report(comparison(4, stopped="operator"), True, in_turn(*ratios, USED))
    assert (stopped.conclusion, stopped.p, of(*ratios, over=False).p) == ("stopped", None, None)
    assert report(comparison(4), False, [(run(None, status=Running()), ToolUse())]).p is None


def test_a_run_without_a_score_counts_as_the_worst_and_is_told() -> None:
    found = of([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, None])
    assert [one.invalid for one in found.runs][-1] == "failed" and found.tools.valid == 3
    assert found.p is not None and found.p > 2 / 68 and found.conclusion == "none"
    assert found.p_valid == pytest.approx(2 / 35, abs=0.03)
    assert found.times is not None and found.times.low is None, "the interval is open where a value is missing"


def test_a_side_without_a_valid_run_shows_nothing() -> None:
    found = of([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, 1.8], use=ToolUse())
    assert {one.invalid for one in found.runs if one.side == "tools"} == {"inactive"}
    assert (found.conclusion, found.tools.valid, found.p, found.times) == ("invalid", 0, None, None)


def held(answer: PersonsAnswer) -> tuple[Iteration, ...]:
    base, tried = run(1.0).iterations
    return base, replace(tried, status=done("held"), verdict=verdict(1.5), hold=answer)


@pytest.mark.parametrize(
    ("found", "use", "invalid", "ratio"),
    [
        (run(1.5), ToolUse(), "", 1.5),
        (run(1.0), ToolUse(), "", 1.0),
        (run(1.5, "tools"), USED, "", 1.5),
        (run(1.5, "tools"), ToolUse(), "inactive", None),
        (run(None), ToolUse(), "failed", None),
        (run(1.5, status=Ended("stopped", Stopped("ada"), 9.0)), ToolUse(), "stopped", None),
        (run(1.5, status=Running()), ToolUse(), "", None),
        (run(1.5, iterations=run(1.5).iterations[:2]), ToolUse(), "unconfirmed", None),
        (run(1.0, iterations=()), ToolUse(), "failed", None),
        (run(1.0, iterations=held("waits")), ToolUse(), "held", None),
        (run(1.0, iterations=held("declined")), ToolUse(), "held", None),
        (run(1.5, iterations=held("approved")), ToolUse(), "held", None),
    ],
)
def test_what_a_run_scores(found: Run, use: ToolUse, invalid: str, ratio: float | None) -> None:
    outcome = outcome_of(found, use)
    assert outcome.invalid == invalid
    assert (outcome.speedup and round(outcome.speedup.ratio, 6)) == ratio


def test_p_counts_the_orders_that_could_have_been_drawn() -> None:
    """By trying them all: of the scores in their order, dealt to two sides, none of which comes wholly first."""
    scores = [1.0, 1.1, 1.2, 1.6, 1.3, 1.7, 1.4, 1.8]
    order: tuple[Side, ...] = ("plain", "plain", "tools", "tools", "plain", "tools", "plain", "tools")
    found = report(comparison(4), True, [(run(at, side), USED) for at, side in zip(scores, order, strict=True)])

    def apart(places: Iterable[int]) -> float:
        return abs(sum(sorted(scores).index(scores[at]) for at in places) - 14)

    seen = apart(at for at, side in enumerate(order) if side == "tools")
    deals = [one for one in combinations(range(8), 4) if one not in ((0, 1, 2, 3), (4, 5, 6, 7))]
    assert found.p == pytest.approx(sum(apart(one) >= seen for one in deals) / 68)


def test_an_invalid_run_keeps_its_side_in_the_test_of_the_valid_ones() -> None:
    scores: list[float | None] = [1.0, 1.1, None, 1.2, 1.3, 1.5, 1.6, 1.7]
    order: tuple[Side, ...] = ("plain", "plain", "plain", "tools", "plain", "tools", "tools", "tools")
    found = report(comparison(4), True, [(run(at, side), USED) for at, side in zip(scores, order, strict=True)])
    assert found.p_valid is not None
    deals = [one for one in combinations((0, 1, 3, 4, 5, 6, 7), 4) if one != (4, 5, 6, 7)]
    ranks = {at: rank for rank, at in enumerate((0, 1, 3, 4, 5, 6, 7), 1)}
    seen = abs(sum(ranks[at] for at in (3, 5, 6, 7)) - 16)
    far = sum(abs(sum(ranks[at] for at in one) - 16) >= seen for one in deals)
    assert found.p_valid == pytest.approx(far / len(deals))


AT = ("r1", 1)
GIVEN, LISTED = e.ToolsGiven(*AT, "r1.1", TOOLS), e.ToolCalled(*AT, "lint", LISTING, True, 1.0)
CALLED, READ = e.ToolCalled(*AT, "lint", "count", True, 1.0), e.SkillsRead(*AT, "r1.1", TOOLS)
PROPOSED = e.Proposed(*AT, 0, 0, {}, "")


@pytest.mark.parametrize(
    ("facts", "with_skill", "use"),
    [
        ((GIVEN, PROPOSED), (), ToolUse()),
        ((GIVEN, LISTED, PROPOSED), (), ToolUse(active=True)),
        ((GIVEN, LISTED, CALLED, PROPOSED), (), ToolUse(True, 1, ("count",), True)),
        ((GIVEN, PROPOSED, CALLED), (), ToolUse(True, 1, ("count",))),
        ((GIVEN, PROPOSED, CALLED, PROPOSED), (), ToolUse(True, 1, ("count",), True)),
        ((GIVEN, replace(CALLED, ok=False), PROPOSED), (), ToolUse()),
        ((GIVEN, replace(CALLED, server="kpd"), PROPOSED), (), ToolUse()),
        ((GIVEN, replace(CALLED, iteration=7), PROPOSED), (), ToolUse(True, 1, ("count",))),
        ((GIVEN, PROPOSED), TOOLS, ToolUse(active=True)),
        ((GIVEN, READ, PROPOSED), TOOLS, ToolUse(active=True, used=True)),
        ((replace(GIVEN, tools=("other@99",)), replace(READ, skills=("other@99",)), PROPOSED), TOOLS, ToolUse()),
    ],
)
def test_a_tool_was_used_if_it_answered_before_the_accepted_candidate(
    facts: tuple[e.Fact, ...], with_skill: tuple[str, ...], use: ToolUse
) -> None:
    events = [e.Event(seq, 0.0, fact) for seq, fact in enumerate(facts, 1)]
    assert use_of(run(1.5, "tools"), events, with_skill) == use
    assert not use_of(run(1.0, "tools"), events, with_skill).used, "where nothing was accepted"
    assert use_of(run(1.5), events, with_skill) == ToolUse(), "the other side has no tools"


def test_the_runs_in_which_a_tool_was_used_are_counted() -> None:
    found = of([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, 1.8])
    assert (found.tools.used, found.plain.used) == (4, 0)
