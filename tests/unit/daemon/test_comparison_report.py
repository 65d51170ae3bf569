"""The report of a comparison: scores are kpd's own, invalid runs count as the worst, nothing is concluded too early."""

from dataclasses import replace
from typing import Any

import pytest

from kpd.daemon.comparison_report import ComparisonReport, ToolUse, outcome_of, report
from kpd.model.causes import Stopped
from kpd.model.comparison import ToolComparison
from kpd.model.iteration import Iteration, PersonsAnswer
from kpd.model.run import Budget, Run
from kpd.model.side import Side
from kpd.model.status import Ended, Running
from tests.support.model.compared import TOOLS, run, verdict
from tests.support.model.samples import done

USED = ToolUse(True, 3)


def comparison(trials: int, **changes: Any) -> ToolComparison:
    order: tuple[Side, ...] = ("plain", "tools") * trials
    return replace(ToolComparison("c1", "task", "mine", "local", Budget(), order, TOOLS, 7, 0.0, {}), **changes)


def of(
    plain: list[float | None], tools: list[float | None], use: ToolUse = USED, over: bool = True
) -> ComparisonReport:
    runs = [(run(ratio), ToolUse()) for ratio in plain] + [(run(ratio, "tools"), use) for ratio in tools]
    return report(comparison(len(plain)), over, runs)


def test_a_tool_that_helps_one_that_harms_and_one_that_makes_no_difference() -> None:
    better = of([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, 1.8])
    assert (better.conclusion, better.wins, better.p) == ("tools", 1.0, pytest.approx(2 / 70))
    assert better.times is not None and better.times.low is not None
    assert 1.2 < better.times.low < (better.times.median or 0) < 1.8
    assert of([1.5, 1.6, 1.7, 1.8], [1.0, 1.1, 1.2, 1.15]).conclusion == "plain"
    assert of([1.0, 1.2, 1.4, 1.6], [1.1, 1.3, 1.5, 1.0]).conclusion == "none"
    assert of([1.0] * 5, [1.0] * 5).conclusion == "none"


def test_nothing_is_concluded_before_the_end_from_too_few_or_of_a_stopped_one() -> None:
    ratios: tuple[list[float | None], list[float | None]] = ([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, 1.8])
    assert of(*ratios, over=False).conclusion == "under_way"
    assert of(ratios[0][:3], ratios[1][:3]).conclusion == "too_few"
    runs = [(run(ratio), ToolUse()) for ratio in ratios[0]] + [(run(ratio, "tools"), USED) for ratio in ratios[1]]
    assert report(comparison(4, stopped="operator"), True, runs).conclusion == "stopped"
    assert report(comparison(4), False, [(run(None, status=Running()), ToolUse())]).p is None


def test_a_run_without_a_score_counts_as_the_worst_and_is_told() -> None:
    found = of([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, None])
    assert [one.invalid for one in found.runs][-1] == "failed" and found.tools.valid == 3
    assert found.p is not None and found.p > 2 / 70 and found.conclusion == "none"
    assert found.p_valid == pytest.approx(2 / 35, abs=0.03)
    assert found.times is not None and found.times.low is None, "the interval is open where a value is missing"


def test_a_side_without_a_valid_run_shows_nothing() -> None:
    found = of([1.0, 1.1, 1.2, 1.15], [1.5, 1.6, 1.7, 1.8], use=ToolUse())
    assert {one.invalid for one in found.runs if one.side == "tools"} == {"inactive"}
    assert (found.conclusion, found.tools.valid, found.p_valid) == ("invalid", 0, None)


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
