"""A GPU run on the screen: hundreds of metrics, event and device time, NVIDIA's advice, no counters."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len
from textual.content import Content

from kpd.model import events as e
from kpd.model.metrics import METRICS
from kpd.model.profiles import MANY_CASES, Advice, CaseTime, Scope
from kpd.model.sanitizer import TOOLS, ToolReport
from kpd.profile.changes import changes
from tests.support.tui import gpu, logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.gpu_views import heading, plain, view_of
from tui.format import numbers
from tui.format.gauge import gauge
from tui.format.short_names import LONGEST, SHORT, short
from tui.format.text import squeezed
from tui.model.answers import LoadedDetails, Show
from tui.model.outline import TreePosition
from tui.model.selected import findings
from tui.panes import metrics, overview, rules
from tui.panes.cases import cases, launching
from tui.panes.comparison import compared, moved_most
from tui.panes.rules import advised
from tui.panes.sides import Sides, stalls
from tui.widgets.pane import RulesPane

WIDTHS = (40, 47, 63, 64, 87, 108, 138, 250)


def row(lines: list[Content], begins: str) -> str:
    return next(text for text in plain(lines) if text.startswith(begins))


def sides(number: int = 1) -> Sides:
    return Sides(gpu.metrics("tiled"), gpu.metrics("naive"), {}) if number else Sides(gpu.metrics("naive"), {}, {})


# ── metrics ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("log", [gpu.transposed(), gpu.without_counters()])
@pytest.mark.parametrize("number", [0, 1])
def test_every_pane_fits_its_width(width: int, log: logs.Log, number: int) -> None:
    view = view_of(log, number)
    for pane in (overview.lines, metrics.lines, rules.lines):
        assert all(line.cell_length <= width for line in pane(view, width, 24)), pane


def test_the_slowest_cases_have_a_column_where_there_is_room_and_none_at_80_columns() -> None:
    by_width = {width: plain(compared(sides(), width))[0].split()[1:] for width in (47, 108, 138)}
    assert by_width[47] == ["cand.", "inc.", "Δ"]
    assert by_width[108] == ["cand.", "inc.", "Δ", "wide", "tall", "squa…4096", "odd"]
    assert by_width[138] == ["cand.", "inc.", "Δ", "wide", "tall", "squa…4096", "odd", "squa…1024"]
    assert plain(compared(sides(0), 108))[0].split()[1:3] == ["cand.", "wide"], "a baseline is compared with nothing"


def test_each_metric_has_one_row_with_the_whole_and_its_cases() -> None:
    drawn = compared(sides(), 138)
    assert row(drawn, "DRAM, % of peak").split()[-9:] == [
        "72.94", "13.00", "+461", "%", "79.20", "80.22", "80.42", "57.05", "24.11",
    ]  # fmt: skip
    assert not any(text.startswith("time of a call, µs") for text in plain(drawn)), "as launched is the same time"
    assert not any("[" in text for text in plain(drawn))
    assert len(drawn) < 100


def test_columns_of_cases_keep_whole_names_when_short_ones_do_not_tell_them_apart() -> None:
    names = ("batch=8 rows=1024 cols=64", "batch=8 rows=2048 cols=64")
    mine = {f"{metric}[{name}]": 1.0 for metric in ("call_us", "gbs", "dram_pct", "l2_pct", "sm_pct") for name in names}
    mine |= {"call_us": 1.0, "gbs": 1.0, "dram_pct": 1.0}
    head = plain(compared(Sides(mine, {}, {}), 138))[0]
    assert all(name in head for name in names)


def test_stalls_stand_by_share_and_the_small_ones_in_one_line() -> None:
    known = [metric for metric in METRICS.values() if metric.group == "warp stalls"]
    of, kept = stalls(sides(), known)
    shares = [of.mine[metric.name] for metric in kept[:-1]]
    assert shares == sorted(shares, reverse=True)
    assert kept[0].name == "stall_long_scoreboard"
    assert "stall_drain" in {metric.name for metric in kept}, "small now, but it was 45 % before"
    assert sum(of.mine[metric.name] for metric in kept) == pytest.approx(sum(of.mine[one.name] for one in known))
    drawn = compared(sides(), 108)
    assert row(drawn, "global or local memory").split()[5:9] == ["54.52", "35.22", "+54.8", "%"]
    assert row(drawn, "10 below 2 % each").split()[6:9] == ["2.601", "0.583", "+346"]


def test_what_moved_most_stands_first_in_the_daemons_order() -> None:
    drawn = plain(metrics.lines(view_of(gpu.transposed()), 108, 40))
    at = heading(drawn, "Moved most")
    told = (
        "shared memory a block, byte", "sectors that hit in L1, %", "stall: last stores", "bank conflicts, %",
        "useful of stores, %", "waves of blocks",
    )  # fmt: skip
    assert all(text.startswith(label) for text, label in zip(drawn[at + 1 : at + 7], told, strict=True))
    assert "new" in drawn[at + 4]
    assert drawn[at + 7] == "", "six rows and a blank"
    assert at < heading(drawn, "Roofline") < heading(drawn, "Speed")
    assert "Moved most" not in " ".join(plain(metrics.lines(view_of(gpu.transposed(), 0), 108, 40)))


def test_what_moved_most_stands_above_the_rest() -> None:
    drawn = plain(moved_most(sides(), changes(gpu.metrics("naive"), gpu.metrics("tiled")), 108))
    assert drawn[0].startswith("Moved most")
    assert len(drawn) == 7


def test_sixty_missing_counters_are_one_reason_above_the_table() -> None:
    drawn = plain(metrics.lines(view_of(gpu.without_counters()), 108, 40))
    told = " ".join(drawn)
    assert told.count("ERR_NVGPUCTRPERM") == 1
    assert "55 metrics: " in told
    assert next(nth for nth, text in enumerate(drawn) if "ERR_NVGPUCTRPERM" in text) < heading(drawn, "Speed")
    assert told.index("counts no flops") > told.index("Compiler")


@pytest.mark.parametrize("name", METRICS)
def test_short_names_fit_beside_three_figures(name: str) -> None:
    assert cell_len(short(METRICS[name])) <= LONGEST


def test_there_is_no_short_name_of_a_metric_that_is_no_more() -> None:
    assert SHORT.keys() <= METRICS.keys()


def test_short_names_tell_the_metrics_of_a_group_apart() -> None:
    named = [(metric.group, short(metric)) for metric in METRICS.values()]
    assert len(named) == len(set(named))


@given(st.floats(allow_nan=True), st.integers(1, 20))
def test_a_gauge_fills_its_cells_or_none(share: float, cells: int) -> None:
    assert gauge(share, cells).cell_length == (cells if math.isfinite(share) else 0)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 20))
def test_a_larger_share_never_has_a_shorter_bar(one: float, other: float, cells: int) -> None:
    def halves(share: float) -> int:
        text = gauge(share, cells).plain
        return 2 * text.count("━") + text.count("╸")

    low, high = sorted((one, other))
    assert halves(low) <= halves(high)
    assert (halves(0.0), halves(1.0)) == (0, 2 * cells)


@pytest.mark.parametrize(
    ("value", "text"),
    [(50_676_197.0, "50.7M"), (1_676_250.0, "1.68M"), (544_192.0, "544k"), (99_999.0, "99,999"), (-2e9, "−2G"),
     (0.0, "0"), (math.nan, "–"), (None, "–"), (3e15, "3e+15")],
)  # fmt: skip
def test_large_counts_are_short(value: float | None, text: str) -> None:
    assert numbers.compact(value) == text


@pytest.mark.parametrize(
    ("now", "before", "text"),
    [(17_664.0, 1024.0, "17.2×"), (94.0, 16.13, "+483 %"), (41.3, 231.7, "−82.2 %"), (5.0, 0.0, "new"),
     (0.0, 5.0, "−100 %"), (0.0, 0.0, "–"), (None, 1.0, "–"), (1.0, None, "–")],
)  # fmt: skip
def test_a_move_is_a_percentage_a_factor_or_new(now: float | None, before: float | None, text: str) -> None:
    assert numbers.moved(now, before) == text


@given(st.text("abc日_9", max_size=30), st.integers(0, 20))
def test_squeezed_text_keeps_its_ends(text: str, width: int) -> None:
    found = squeezed(text, width)
    assert cell_len(found) <= width
    if cell_len(text) > width >= 5:
        assert "…" in found
        assert text.endswith(found.rpartition("…")[2])


# ── cases ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_event_and_device_time_stand_side_by_side_with_what_launching_costs() -> None:
    view = view_of(gpu.transposed())
    assert view.iteration is not None
    drawn = cases(view.iteration, view.shown.detail, 75)
    assert plain(drawn)[1].split() == ["case,", "µs", "event", "device", "launch", "warm", "inc.", "speed-up", "roof"]
    assert row(drawn, "wide").split() == [
        "wide", "51.07", "48.90", "4.3", "%", "51.10", "330.3", "6.47×", "93", "%",
    ]  # fmt: skip
    narrow = plain(cases(view.iteration, view.shown.detail, 47))
    assert narrow[1].split() == ["case,", "µs", "event", "device", "launch", "speed-up"]
    assert narrow[2].startswith("square_4096"), "the name is whole"


def test_many_cases_begin_with_the_worst_and_each_has_its_interval() -> None:
    view = view_of(gpu.transposed())
    assert view.iteration is not None and view.shown.detail.timed is not None

    def drawn(count: int) -> list[str]:
        many = tuple(
            CaseTime(f"case{at}", 10.0, 10.0 + at % 7, at % 7 - 3.0, low_pct=at % 7 - 3.2, high_pct=at % 7 - 2.8)
            for at in range(count)
        )
        timed = replace(view.shown.detail.timed, cases=many)
        return plain(cases(view.iteration, replace(view.shown.detail, timed=timed), 60))

    assert drawn(MANY_CASES)[2].split()[0] == "case0"
    many = drawn(256)
    assert "256, the worst first" in many[0]
    assert len(many) == 2 + 256 and max(map(len, many)) <= 60
    assert many[2].split()[0] == "case0" and many[3].split()[0] == "case7"
    assert "0.971× ±0.002" in many[2]


def test_a_launch_bound_case_stands_out() -> None:
    view = view_of(gpu.transposed())
    assert view.iteration is not None and view.shown.detail.timed is not None
    tiny = CaseTime("tiny", 10.0, 10.0, 0.0, device_us=2.5, warm_us=9.8)
    timed = replace(view.shown.detail.timed, cases=(tiny, *view.shown.detail.timed.cases))
    drawn = cases(view.iteration, replace(view.shown.detail, timed=timed), 75)
    assert "75 %" in row(drawn, "tiny")
    warned = [line.plain for line in drawn if any(span.style == ".warn" for span in line.spans)]
    assert [text.split()[0] for text in warned] == ["tiny"]


def test_a_kernel_in_python_shows_how_long_a_call_keeps_the_host() -> None:
    view = view_of(gpu.transposed())
    assert view.iteration is not None and view.shown.detail.timed is not None
    tiny = CaseTime("tiny", 30.0, 30.0, 0.0, device_us=2.5, host_us=21.5)
    drawn = cases(view.iteration, replace(view.shown.detail, timed=replace(view.shown.detail.timed, cases=(tiny,))), 75)
    assert "host" in drawn[1].plain and "warm" not in drawn[1].plain
    assert "21.5" in row(drawn, "tiny")


def test_a_device_that_seems_slower_than_the_call_leaves_nothing_to_launching() -> None:
    assert launching(CaseTime("a", 5.962, 6.0, 0.0, device_us=5.968)) == 0.0
    assert launching(CaseTime("a", 5.962, 6.0, 0.0)) is None


# ── overview ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_winner_is_marked_until_it_has_passed_its_last_checks() -> None:
    log = logs.Log().daemon().tasks().run()
    log.emit(e.SanitizerFound("r1", True)).baseline().iteration(1, "fewer loads", 30.0, "faster")
    told = " ".join(text.strip() for text in plain(overview.lines(view_of(log), 120, 30)))
    assert "! provisional until it has passed its last checks" in told
    assert "provisional  chained  r1.1 against the baseline" in told
    log.emit(e.Sanitized("r1", 1, tuple(ToolReport(tool, 2, 2, 3.0) for tool in TOOLS)))
    assert "provisional" not in " ".join(plain(overview.lines(view_of(log), 120, 30)))


@pytest.mark.parametrize("width", [47, 108])
def test_a_gpu_is_named(width: int) -> None:
    view = view_of(gpu.transposed())
    for shown in (view, replace(view, at=TreePosition(gpu.TASK, "r1"))):
        assert "NVIDIA H100 80GB HBM3" in plain(overview.lines(shown, width, 24))


def test_a_gpu_without_counters_says_why_and_what_to_do() -> None:
    told = " ".join(text.strip() for text in plain(overview.lines(view_of(gpu.without_counters()), 47, 24)))
    assert "! no counters: ncu is denied the GPU's counters (ERR_NVGPUCTRPERM): set" in told
    assert "or run as root" in told
    assert "no counters:" not in " ".join(plain(overview.lines(view_of(gpu.transposed()), 47, 24)))


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nvidias_advice_stands_below_the_rules_with_what_it_gains_and_who_agrees() -> None:
    drawn = plain(rules.lines(view_of(gpu.transposed()), 108, 40))
    at = next(nth for nth, text in enumerate(drawn) if text.startswith("NVIDIA's advice"))
    assert at > max(nth for nth, text in enumerate(drawn) if "severe_memory_bound" in text and "medium" in text)
    assert drawn[at + 2] == "  OPT  TheoreticalOccupancy  up to 62 %  ✓ register_limited"
    assert "    in all 5 cases" in drawn[at:]
    assert "    in 1 of 5 cases: wide" in drawn[at:]


@pytest.mark.parametrize(
    ("scope", "told"), [("global", "up to 62 % less time"), ("local", "local: up to 62 %"), ("", "up to 62 %")]
)
def test_an_estimate_says_what_it_is_of(scope: Scope, told: str) -> None:
    piece = Advice("R", "OPT", "It is.", 62.4, agrees="low_ipc", scope=scope)
    assert plain(advised((piece,), (), 80))[2] == f"  OPT  R  {told}  ✓ low_ipc"


def test_advice_is_there_when_no_rule_fires() -> None:
    view = view_of(gpu.transposed())
    show = view.shown.show
    assert isinstance(show, Show) and show.detail.explained is not None
    quiet = replace(show, detail=replace(show.detail, explained=replace(show.detail.explained, findings=())))
    drawn = "\n".join(plain(rules.lines(replace(view, shown=LoadedDetails(quiet)), 108, 40)))
    assert drawn.startswith("No rule fired")
    assert "TheoreticalOccupancy" in drawn


@pytest.mark.parametrize("width", [40, 108])
def test_a_long_or_hostile_piece_is_cut(width: int) -> None:
    piece = Advice("R\x1b[2J" * 40, "WRN", "word " * 400, 12.5, tuple(f"case {nth}" for nth in range(60)), "rule" * 30)
    drawn = advised((piece,) * 30, ("a", "b"), width)
    assert all(line.cell_length <= width for line in drawn)
    assert len(drawn) < 12 * 10
    assert plain(drawn)[-1] == "18 more: kpd show"


@pytest.mark.parametrize("width", [47, 108])
def test_a_findings_lines_are_where_they_are_drawn(width: int) -> None:
    view = view_of(gpu.transposed())
    drawn = plain(rules.lines(view, width, 40))
    for nth, finding in enumerate(findings(view)):
        top, height = rules.span(view, width, nth)
        assert finding.rule in drawn[top]
        assert "".join(drawn[top + height : top + height + 1]) == "", "a blank line follows"


async def test_down_goes_through_the_findings_and_brings_each_into_sight() -> None:
    app = app_on(CannedFeed(gpu.transposed()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("3", "right", *["down"] * 5)
        await settled(pilot)
        pane: Any = app.query_one(RulesPane)
        top, height = rules.span(app.view, pane.room.width, pane.chosen)
        assert pane.chosen == 5
        assert pane.scroll_offset.y <= top < top + height <= pane.scroll_offset.y + pane.room.height
