"""The overview as plain functions: how far it is, how long it takes, what else goes on, and its layouts."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.detail import Detail
from kpd.model.profiles import CaseTime
from kpd.model.status import Outcome
from tests.support.model.samples import done
from tests.support.tui import agents, gpu, logs, many_hosts
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.gpu_views import view_of as gpu_view
from tests.support.tui.stopping import stopping
from tests.support.tui.views import plain, view_of
from tui.format import numbers
from tui.model.outline import TreePosition
from tui.panes import overview
from tui.panes.cases import cases
from tui.panes.chart import chart
from tui.panes.distance import distance, split
from tui.panes.next_step import budget, next_lines
from tui.panes.other_runs import others
from tui.panes.overview import why
from tui.panes.steps import across, down, elapsed, usual
from tui.widgets.overview import OverviewPane

SIZES = ((47, 19), (79, 30), (140, 40), (185, 66))


# ── how far it is ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_stop_score_says_how_much_is_left_and_how_much_of_the_way_is_done() -> None:
    view = stopping(300.0)
    assert view.run is not None
    told = plain(distance(view, view.run, 90))
    assert "300: 21 % less to go" in told
    assert told.count("━") > 0
    assert "reached" in plain(distance(stopping(400.0), stopping(400.0).run or view.run, 90))
    higher = stopping(500.0, "higher")
    assert higher.run is not None
    assert "500: 11 % more to go" in plain(distance(higher, higher.run, 90))


def test_the_roofline_is_a_bar_where_there_is_room_and_always_a_number() -> None:
    view = view_of(logs.some())
    assert view.run is not None
    assert "49 % of what the device can do" in plain(distance(view, view.run, 80))
    for width in (20, 40, 60):
        assert "49 %" in plain(distance(view, view.run, width))
    nothing = view_of(logs.no_runs().run())
    assert nothing.run is not None
    assert distance(nothing, nothing.run, 80) == []


def test_the_chart_shows_a_stop_score_that_is_near_and_leaves_out_one_that_is_far() -> None:
    near, far = stopping(370.0).run, stopping(20.0).run
    assert near is not None and far is not None
    assert "┄" in plain(chart(near, 60, 12))
    assert "1.115× ┤" in plain(chart(near, 60, 12))
    assert "┄" not in plain(chart(far, 60, 12))


@given(st.floats(1e-6, 1e6), st.sampled_from((4, 8, 20)))
def test_any_stop_score_leaves_the_chart_whole(stop: float, height: int) -> None:
    log = logs.Log().daemon().tasks().run(budget=Budget(stop_score=stop)).baseline()
    drawn = chart(log.state.runs["r1"], 60, height)
    assert len(drawn) == height
    assert "◆" in plain(drawn)


def test_the_calls_of_a_gpu_are_split_into_device_and_launching() -> None:
    detail = gpu_view(gpu.transposed()).shown.detail
    assert "96 % on the device, 3.7 % launching" in plain(split(detail, 90))
    assert "3.7 % launching" in plain(split(detail, 40))
    assert detail.timed is not None
    tiny = CaseTime("tiny", 10.0, 10.0, 0.0, device_us=2.5)
    slow = replace(detail, timed=replace(detail.timed, cases=(*detail.timed.cases, tiny)))
    assert "tiny: 75 %" in plain(split(slow, 90))
    cpu = replace(detail, timed=replace(detail.timed, cases=(CaseTime("a", 1.0, 1.0, 0.0),)))
    assert split(cpu, 90) == []


# ── how long it takes ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_step_under_way_says_how_long_it_takes_and_usually_does() -> None:
    view = gpu_view(gpu.transposed())
    log = gpu.transposed()
    log.emit(e.IterationStarted("r1", 2, "sweep", 1))
    log.emit(e.StepStarted("r1", 2, "time"))
    at = log.state.runs["r1"].iterations[-1]
    later = replace(view, state=log.state, at=TreePosition(gpu.TASK, "r1", 2), now=log.at + 4.0)
    assert elapsed(later, at) == pytest.approx(4.0)
    assert usual(later, log.state.runs["r1"], at, "time") == pytest.approx(6.27)
    assert usual(later, log.state.runs["r1"], at, "record") is None
    assert "4.0 s, usually 6.3 s" in plain(across(later, log.state.runs["r1"], at, later.shown.detail, 60))
    told = plain(down(later, log.state.runs["r1"], at, Detail(), 40))
    assert "about 6.0 s" in told, "the profile that is to come"
    early = replace(later, now=0.0, state=replace(later.state, at=0.0))
    assert elapsed(early, at) == 0.0, "clocks that differ make no negative time"


def test_another_agents_proposal_says_nothing_of_this_ones() -> None:
    view = gpu_view(gpu.transposed())
    it = view.iteration
    assert it is not None and view.run is not None
    assert usual(view, view.run, it, "propose") is None, "its parent is the baseline"


def test_the_budget_has_the_time_so_far_and_what_is_left_at_most() -> None:
    view = view_of(logs.some())
    assert view.run is not None
    told = plain(budget(replace(view, now=(view.run.started or 0) + 90), view.run, 47))
    assert "1 min 30 s so far" in told
    took = [it.ended - it.started for it in view.run.iterations if it.counts and it.ended]
    assert f"up to {numbers.seconds(3 * sorted(took)[len(took) // 2])}" in told
    ended = view_of(logs.ended())
    assert ended.run is not None
    assert "to go" not in plain(budget(ended, ended.run, 47))
    assert "so far" not in plain(budget(ended, ended.run, 47))


def test_a_gate_and_a_stop_score_are_in_the_budget() -> None:
    log = logs.running().emit(e.ReviewSet("r1", True, "op"))
    run = log.state.runs["r1"]
    assert "candidates wait for you" in plain(budget(view_of(log), run, 47))
    view = stopping(300.0)
    assert view.run is not None
    assert "at a score of 300" in plain(budget(view, view.run, 47))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "now"), (1.4, "now"), (3, "3 s ago"), (59, "59 s ago"), (90, "2 min ago"), (60, "1 min ago"),
     (7200, "2 h ago"), (90_000, "25 h ago"), (200_000, "2 days ago")],
)  # fmt: skip
def test_ages_are_rough(value: float, text: str) -> None:
    assert numbers.ago(value) == text


# ── what comes next ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_candidate_that_waits_for_a_person_says_so_with_its_keys() -> None:
    log = logs.running().emit(e.ReviewAsked("r1", 6))
    told = plain(next_lines(view_of(log), 120))
    for part in ("waits  for your review of r1.6", "4 shows its diff", "y builds it", "D ends it"):
        assert part in told
    assert "judge" in plain(next_lines(view_of(log.emit(e.Approved("r1", 6, "op"))), 120))


def test_what_is_measured_once_more_comes_before_the_agents() -> None:
    log = logs.some().emit(e.AgainAsked("r1", 3, True, "op"))
    assert "r1.3 is measured once more, with all processes" in plain(next_lines(view_of(log), 120))


# ── what else goes on ─────────────────────────────────────────────────────────────────────────────────────────────


def test_other_runs_stand_with_where_they_are_and_what_they_have_won() -> None:
    view = view_of(many_hosts.two(), TreePosition("transpose_cpu", "r2", 1))
    assert view.run is not None
    assert "… r1 rmsnorm_silu_cpu  gpu1  2: check  1.091×" in plain(others(view, view.run, 80))
    alone = view_of(logs.running())
    assert alone.run is not None
    assert others(alone, alone.run, 80) == []
    waiting = view_of(many_hosts.waiting())
    assert waiting.run is not None
    assert "◔ r2 transpose_cpu" in plain(others(waiting, waiting.run, 80))
    assert all(row.cell_length <= 30 for row in others(waiting, waiting.run, 30))


def test_what_moved_and_what_fired_is_told_in_brief() -> None:
    view = gpu_view(gpu.transposed())
    told = plain(why(view, 100, 30))
    assert "Moved most" in told
    assert "smem_bank_conflicts" in told
    assert len(why(view, 100, 12)) <= 12
    assert why(view, 100, 4) == []


# ── as a whole ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize(
    "log",
    [logs.running, logs.some, logs.paused, logs.held, logs.ended, agents.claude, agents.overloaded, many_hosts.two,
     many_hosts.waiting, gpu.transposed, gpu.without_counters],
)  # fmt: skip
def test_it_fits_and_answers_what_is_next_at_any_size(log: Callable[[], logs.Log], width: int, height: int) -> None:
    for place in (None, TreePosition(logs.TASK, "r1")):
        view = view_of(log()) if place is None else view_of(log(), place)
        drawn = overview.lines(view, width, height)
        assert all(line.cell_length <= width for line in drawn)
        text = plain(drawn)
        assert any(word in text for word in ("next  ", "waits  ", "ended  ")) or view.run is None
        assert "Budget" in text or view.run is None


async def test_time_goes_on_only_while_a_step_is_under_way_and_in_sight() -> None:
    for log, at_work in (
        (logs.running(), True),
        (logs.paused(), False),
        (logs.ended(), False),
        (many_hosts.waiting(), False),
    ):
        app = app_on(CannedFeed(log))
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            pane = app.query_one(OverviewPane)
            assert (pane._ticking is not None) is at_work
            await pilot.press("2")
            await settled(pilot)
            assert pane._ticking is None


# ── the cases ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("score", "outcome", "why"),
    [
        (None, None, "appear when this iteration is timed"),
        (8.3, None, "are being read"),
        (8.3, "accepted", "are being read"),
        (None, "failed", "none: it ended before it was timed"),
    ],
)
def test_where_no_case_is_shown_it_says_why(score: float | None, outcome: Outcome | None, why: str) -> None:
    it = replace(logs.some().state.runs["r1"].iterations[1], score=score, status=done(outcome))
    assert plain(cases(it, Detail(), 60)) == f"Cases  {why}"
