"""The roofline among the metrics: a chart where operations are counted, bars where they are not; and what is marked."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from kpd.model import events as e
from kpd.model.detail import detail
from kpd.model.profiles import CaseTime
from tests.support.tui import gpu, logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.gpu_views import heading, plain, view_of
from tui.model.answers import LoadedDetails, Show
from tui.model.outline import TreePosition
from tui.model.view import View
from tui.panes import metrics
from tui.panes.plot import LogAxis, Plot, tick
from tui.panes.roofline import Roof, Side, roof_of, roofline

WIDTHS = (40, 47, 63, 64, 87, 138, 250)
POSITIVE = st.floats(1e-11, 1e14)


def side(**values: float) -> Side:
    return Side("●", ".strong", "candidate", values)


def on_a_known_device(log: logs.Log) -> logs.Log:
    """The same, once kpd has measured what the run's device can do."""
    run = log.state.runs["r1"]
    card = log.state.hosts[run.host]
    if run.device_id in ("", "cpu"):
        return log.emit(e.HostProbed(replace(card, bandwidth_gbs=20.7, peak_gflops=61.0)))
    devices = tuple(replace(one, bandwidth_gbs=3050.0, peak_gflops=51_200.0) for one in card.devices)
    return log.emit(e.HostProbed(replace(card, devices=devices)))


def metrics_of(log: logs.Log, number: int = 1, width: int = 87, height: int = 40, **fields: Any) -> list[str]:
    return plain(metrics.lines(replace(view_of(log, number), **fields), width, height))


# ── the device ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_roof_is_that_of_the_device_that_the_run_is_on() -> None:
    log = on_a_known_device(gpu.transposed())
    run = log.state.runs["r1"]
    assert roof_of(log.state, run) == Roof(3050.0, 51_200.0)
    assert roof_of(log.state, replace(run, device_id="cpu")) == Roof(), "the CPU of that host was not measured"
    assert roof_of(log.state, replace(run, device_id="GPU-gone")) == Roof()
    assert roof_of(log.state, replace(run, host="gone")) == Roof()
    played = on_a_known_device(logs.some())
    assert roof_of(played.state, played.state.runs["r1"]) == Roof(20.7, 61.0)


def test_the_share_is_of_the_lower_of_the_two_roofs() -> None:
    roof = Roof(100.0, 1000.0)
    assert side(gflops=40.0, gbs=80.0).share(roof) == pytest.approx(0.8), "memory limits at half an operation a byte"
    assert side(gflops=250.0, gbs=5.0).share(roof) == pytest.approx(0.25), "arithmetic limits at fifty"
    assert side(gbs=80.0).share(roof) == pytest.approx(0.8)
    assert side(roofline_pct=61.0).share(Roof()) == pytest.approx(0.61)
    assert side().share(roof) is None


# ── the chart ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", WIDTHS)
def test_operations_that_are_counted_make_a_chart_with_its_numbers_below(width: int) -> None:
    drawn = metrics_of(on_a_known_device(logs.some()), 5, width)
    assert all(cell_len(text) <= width for text in drawn)
    at = heading(drawn, "Roofline")
    assert "20.70 GB/s, 61 GFLOP/s" in drawn[at]
    legend = [text for text in drawn[at:] if text[:1] in "●▲◆" and text[:1]]
    assert [text.split()[0] + text.split()[1] for text in legend[:3]] == ["●candidate", "▲incumbent", "◆baseline"]
    assert legend[0].endswith("68 %")
    assert "4.359" in legend[0]
    assert any("FLOP/byte" in text for text in drawn[at:])


def test_the_candidate_stands_below_the_roof_where_its_numbers_are() -> None:
    plot = Plot(LogAxis(0.1, 100), LogAxis(1, 1000), 60, 14, "FLOP/byte", "GFLOP/s")
    plot.curve(lambda x: min(500, 100 * x), ".accent")
    plot.mark(1.0, 10.0, "●", "")
    rows = [line.plain for line in plot.lines()]
    (row, column) = next((nth, text.index("●")) for nth, text in enumerate(rows) if "●" in text)
    above = [nth for nth, text in enumerate(rows[:row]) if len(text) > column and text[column] in "▔─▁"]
    assert len(above) == 1, "one roof above it"
    assert rows[-1].index(" 1 ") + 1 in range(column - 1, column + 2), "above its label on the axis"


def test_tasks_without_counted_operations_have_bars_of_bandwidth() -> None:
    drawn = metrics_of(on_a_known_device(gpu.transposed()))
    at = heading(drawn, "Roofline")
    assert "of 3,050 GB/s measured" in drawn[at]
    assert drawn[at + 1].split()[:2] == ["●", "candidate"]
    assert drawn[at + 1].endswith("2,466 GB/s  81 %")
    assert drawn[at + 2].endswith("439.7 GB/s  14 %")
    assert drawn[at + 1].count("━") > drawn[at + 2].count("━")


def test_a_device_that_nobody_has_measured_still_has_its_share() -> None:
    drawn = metrics_of(gpu.transposed())
    at = heading(drawn, "Roofline")
    assert "of what the device allows" in drawn[at]
    assert drawn[at + 1].endswith("87 %")


def test_more_than_memory_delivers_is_explained() -> None:
    found = plain(roofline([side(gbs=120.0)], (), Roof(100.0), 80, False))
    assert "came out of a cache" in " ".join(found)
    assert "120 %" in found[1]


def test_without_any_figure_there_is_no_roofline() -> None:
    assert roofline([side()], (), Roof(100.0, 1000.0), 80, False) == []
    assert "Roofline" not in " ".join(metrics_of(logs.running(), 6))


@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE, st.integers(20, 200), st.booleans())
def test_whatever_the_figures_are_the_chart_fits(
    gbs: float, gflops: float, most_gbs: float, most_gflops: float, width: int, tall: bool
) -> None:
    mine = {"gbs": gbs, "gflops": gflops, "gbs[a]": gflops, "gflops[a]": gbs, "gbs[b]": math.nan}
    sides = [Side("●", "", "candidate", mine), Side("◆", "", "baseline", {"gbs": gflops, "gflops": 1.0})]
    found = roofline(sides, ("a", "b"), Roof(most_gbs, most_gflops), width, tall)
    assert found
    assert all(line.cell_length <= max(width, 47) for line in found)


@given(st.floats(1e-9, 1e9), st.floats(1.01, 1e9))
def test_an_axis_has_labels_in_order_and_within_its_ends(low: float, times: float) -> None:
    axis = LogAxis(low, low * times)
    assert axis.ticks == sorted(axis.ticks)
    assert all(axis.low <= one <= axis.high for one in axis.ticks)
    assert all(cell_len(tick(one)) <= 7 for one in axis.ticks)
    assert axis.at(axis.share(low * times**0.3)) == pytest.approx(low * times**0.3)


# ── beside it ─────────────────────────────────────────────────────────────────────────────────────────────────────


def shown_of(log: logs.Log, number: int) -> Show:
    it = log.state.runs["r1"].iteration(number)
    assert it is not None
    return Show(it, detail(one for one in log.events if getattr(one.fact, "iteration", None) == number))


def test_the_marked_iteration_takes_the_place_of_the_baseline() -> None:
    log = logs.some()
    view = view_of(log, 5)
    marked = replace(view.shown, marked=shown_of(log, 3))
    text = metrics_of(log, 5, mark=TreePosition(logs.TASK, "r1", 3), shown=marked)
    assert "marked r1.3" in text[0]
    head = next(row for row in text if row.startswith("Speed  "))
    assert head.split() == ["Speed", "candidate", "incumbent", "Δ", "marked", "then"]
    assert "baseline" in metrics_of(log, 5)[0]
    parent = metrics_of(
        log, 5, mark=TreePosition(logs.TASK, "r1", 4), shown=replace(view.shown, marked=shown_of(log, 4))
    )
    assert "marked" not in parent[0], "the incumbent stands there anyway"


async def test_the_daemon_is_asked_for_the_marked_iteration_once() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        app.change(mark=TreePosition(logs.TASK, "r1", 3))
        await pilot.press("2")
        await settled(pilot)
        assert isinstance(app.view.shown.marked, Show)
        assert app.view.shown.marked.iteration.number == 3
    assert [args["iteration"] for what, args in feed.queries if what == "show"] == ["r1.5", "r1.3"]


def test_counters_that_are_missing_stand_in_their_group_and_say_why() -> None:
    text = metrics_of(logs.some(), 5)
    at = heading(text, "Hardware counters")
    assert text[at + 1].split() == ["instructions", "a", "cycle", "–", "–", "–", "–"]
    assert any("perf stat: no hardware counters" in row for row in text)


def test_metrics_of_no_case_alone_have_the_times_of_all_of_them() -> None:
    log = logs.some()
    view = view_of(log, 5)
    show = view.shown.show
    assert isinstance(show, Show)
    assert show.detail.profiled is not None
    plain_metrics = {name: value for name, value in show.detail.profiled.metrics.items() if "[" not in name}
    bare = replace(show.detail, profiled=replace(show.detail.profiled, metrics=plain_metrics))
    text = metrics_of(log, 5, shown=LoadedDetails(replace(show, detail=bare, parent=None, baseline=None)))
    assert any(row.startswith("rows=64 cols=4096") for row in text)
    assert any("none of a case alone" in row for row in text)


def test_a_case_has_its_own_dot() -> None:
    cases = tuple(CaseTime(name, 1.0, 1.0, 0.0) for name in ("a", "b"))
    values = {"gbs": 10.0, "gflops": 5.0} | {
        f"{name}[{case.case}]": 3.0 for case in cases for name in ("gbs", "gflops")
    }  # fmt: skip
    found = plain(roofline([side(**values)], [case.case for case in cases], Roof(100.0, 1000.0), 80, True))
    assert any("∘ the candidate's 2 cases" in row for row in found)
    assert sum(row.count("∘") for row in found[:-1]) == 1, "both are at the same place"


def test_view_without_a_profile_says_when_there_will_be_one() -> None:
    running = View(state=logs.running().state, at=TreePosition(logs.TASK, "r1", 6))
    assert "Asking the daemon" in " ".join(plain(metrics.lines(running, 80, 24)))
    assert "appear when the profile step is done" in " ".join(metrics_of(logs.running(), 6))
