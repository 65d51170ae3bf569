"""Which of two scores is better, and by how much: the same in every place that tells it."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.cli import status
from kpd.cli.report import report
from kpd.engine.record import report as markdown
from kpd.model.scores import reached, speedup, unit
from tests.support.cli.shown import AT, RUN, brief_run, shown
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


@pytest.mark.parametrize(("direction", "factor"), [("lower", "1.09×"), ("higher", "0.92×")])
def test_the_cockpit_goes_by_the_tasks_direction(direction: str, factor: str) -> None:
    view = stopping(300.0, direction)
    assert view.run is not None and view.run.best is not None and view.run.baseline is not None
    assert won(view.state, view.run) == factor
    card = replace(view.state.tasks[view.run.task], score="tflops")
    view = replace(view, state=replace(view.state, tasks={view.run.task: card}))
    assert view.run is not None
    assert unit_of(view.state, view.run) == "tflops"
    assert f"tflops  {factor} the baseline" in plain(overview._best(view, view.run, 80))


def test_the_command_line_goes_by_it_too() -> None:
    run = brief_run(RUN)
    best, baseline = run["best"]["score"], run["baseline"]["score"]
    assert status.best(run, {}).endswith(f"µs, {baseline / best:.2f}x")
    assert status.best(run, HIGHER).endswith(f"tflops, {best / baseline:.2f}x")
    (table,) = list(status.runs_table([run], {RUN.task: HIGHER}, AT, None))[1:]
    assert "tflops" in table
    told = "\n".join(report({**shown(), "card": HIGHER}, 100, colour=False))
    assert "tflops" in told and "times as good)" in told
    assert "times as fast)" in "\n".join(report(shown(), 100, colour=False))


def test_the_report_in_the_run_folder_goes_by_it() -> None:
    best, baseline = RUN.best, RUN.baseline
    assert best is not None and best.score and baseline is not None and baseline.score
    assert f"{baseline.score / best.score:.2f} times" in markdown(RUN, "lower")
    assert f"{best.score / baseline.score:.2f} times" in markdown(RUN, "higher")
