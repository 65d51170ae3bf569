"""Which of two scores is better, and by how much: the same in every place that tells it."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.cli import status
from kpd.cli.report import report
from kpd.engine.record import report as markdown
from kpd.model.scores import Direction, reached, speedup, unit
from tests.support.cli.shown import RUN, brief_run, shown
from tests.support.tui.stopping import stopping
from tests.support.tui.views import plain
from tui.format.scores import unit as unit_of, won
from tui.panes import overview

SCORES = st.floats(1e-6, 1e9)
HIGHER = {"name": RUN.task, "score": "tflops", "direction": "higher"}


@given(SCORES, SCORES)
def test_what_is_better_is_above_one_in_either_direction(old: float, new: float) -> None:
    less, more = speedup(old, new), speedup(old, new, "higher")
    assert less is not None and more is not None
    assert less * more == pytest.approx(1)
    assert (less > 1) == (new < old) or less == pytest.approx(1)


@pytest.mark.parametrize(("old", "new"), [(None, 1.0), (1.0, None), (0.0, 1.0), (1.0, 0.0)])
def test_what_cannot_be_said_is_not(old: float | None, new: float | None) -> None:
    assert speedup(old, new) is None


def test_a_stop_score_is_reached_from_the_side_that_is_worse() -> None:
    assert [reached(score, 2.0, "lower") for score in (1.0, 2.0, 3.0)] == [True, True, False]
    assert [reached(score, 2.0, "higher") for score in (1.0, 2.0, 3.0)] == [False, True, True]


def test_the_units_are_those_of_the_task() -> None:
    assert (unit(), unit("us"), unit("tflops")) == ("µs", "µs", "tflops")


@pytest.mark.parametrize("direction", ["lower", "higher"])
def test_scores_of_different_contests_are_not_divided(direction: Direction) -> None:
    """Whatever the scores are, and which of them are better: the factor is that of the verdicts."""
    view = stopping(300.0, direction)
    assert view.run is not None and view.run.best is not None and view.run.best.verdict is not None
    factor = f"{view.run.best.verdict.gain.speedup.ratio:.3f}×"
    assert won(view.run) == factor
    changed = replace(view.run, iterations=tuple(replace(it, score=7.0) for it in view.run.iterations))
    assert won(changed) == factor
    card = replace(view.state.tasks[view.run.task], score="tflops")
    view = replace(view, state=replace(view.state, tasks={view.run.task: card}))
    assert unit_of(view.state, view.run) == "tflops"
    assert f"Speed-up  {factor}" in plain(overview._best(view, view.run, 80))


def test_the_command_line_and_the_report_tell_the_same_number() -> None:
    told = "1.032× [1.017, 1.047], chained"
    assert status.best(brief_run(RUN), {}) == told
    assert told in "\n".join(report(shown(), 100, colour=False))
    assert "tflops" in "\n".join(report({**shown(), "card": HIGHER}, 100, colour=False))
    assert f"Best: iteration 3, {told}, over the baseline." in markdown(RUN)
