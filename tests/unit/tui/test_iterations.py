"""Iterations as a line each: lately in a run, around the log of one, on the hosts; what stands below a short diff."""

import re
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest

from kpd.subscription import Live
from tests.support.tui import gpu, gpu_views, logs, many_hosts
from tests.support.tui.feed import DIFF
from tests.support.tui.views import plain, view_of
from tui.model.answers import Diff, LoadedDetails, Show
from tui.model.outline import TreePosition
from tui.model.output import Output
from tui.model.view import View
from tui.panes import diff, hosts, log
from tui.panes.iterations import around, lately
from tui.panes.overview import why


def at(number: int | None, made: Any = logs.some, **fields: Any) -> View:
    return view_of(made(), TreePosition(logs.TASK, "r1", number), **fields)


def test_the_newest_iterations_say_what_became_of_them_and_why() -> None:
    view = view_of(logs.running())
    assert view.run is not None
    rows = [line.plain.rstrip() for line in lately(view, view.run, 80, 3)]
    assert rows[0].startswith("Lately")
    assert rows[1].startswith("≈ r1.5   0.3 % less time  323.5  PREFETCH=256")
    assert len(rows) == 4, "the one under way has nothing to tell yet"


@pytest.mark.parametrize("here", [0, 3, 5, None])
@pytest.mark.parametrize("room", range(14))
def test_the_nearest_iterations_before_and_after_take_the_room_that_there_is_and_no_more(
    here: int | None, room: int
) -> None:
    view = at(here)
    above, below = around(view, 100, room)
    assert len(above) + len(below) <= room
    told = plain([*above, *below])
    shown = [number for number in range(6) if f" r1.{number} " in told]
    if room >= 10:
        assert shown == [number for number in range(6) if number != here]
    elif shown and here is not None:
        gaps = [abs(number - here) for number in shown]
        assert sorted(gaps)[0] == 1, "the nearest first"
        assert here not in shown


def test_a_line_has_the_time_the_gain_the_score_how_long_it_took_and_the_memo() -> None:
    above, _ = around(at(5, zone=UTC), 100, 20)
    told = " ".join(above[-2].plain.split())
    assert told.endswith("▲ r1.4 14.2 % less time 324.5 4.4 s UNROLL=8, partial sums in registers")
    assert re.match(r"\d\d:\d\d:\d\d ▲", told)
    assert above[0].plain == "Earlier  in r1"
    assert all(row.cell_length <= 40 for row in around(at(5), 40, 20)[0])


def test_a_log_that_is_short_stands_between_the_lines_of_the_others_and_a_long_one_alone() -> None:
    view = at(3)
    drawn = [row.plain.rstrip() for row in log.lines(view, 100, 40)]
    before, after = drawn.index("Earlier  in r1"), drawn.index("Later  in r1")
    assert any(" r1.2 " in row for row in drawn[before:after])
    assert any(" r1.5 " in row for row in drawn[after:])
    assert len(drawn) < 40
    output = Output()
    for nth in range(40):
        output.hear(Live("job", "r1", 3, f"line {nth}\n"), 1)
    assert "Earlier" not in plain(log.lines(replace(view, output=output.lines()), 100, 40))


def test_a_search_counts_what_it_finds_in_the_lines_of_the_others_too() -> None:
    sheet = log.LogRows(at(3, find="PREFETCH"), 100, 40)
    assert ["PREFETCH" in sheet.rows()[y].plain for y in sheet.matches] == [True]


def test_the_hosts_tell_what_was_measured_on_them_lately_where_there_is_room() -> None:
    view = view_of(logs.some())
    drawn = hosts.lines(view, 100, 60)
    assert len(drawn) < 60
    told = plain(drawn)
    assert "Measured lately" in told
    newest_first = [told.index(f" r1.{number} ") for number in (5, 4, 3, 1, 0)]
    assert newest_first == sorted(newest_first)
    assert " r1.2 " not in told, "it was not timed"
    assert "Measured lately" not in plain(hosts.lines(view, 100, 12))
    assert "Measured lately" not in plain(hosts.lines(view_of(many_hosts.healthy()), 100, 60)), "one is no list"


def test_below_a_short_diff_stand_the_memo_and_the_cases() -> None:
    made = gpu_views.view_of(gpu.transposed())
    view = replace(made, shown=replace(made.shown, diff=Diff(DIFF, "r1.0", "r1.1")))
    told = plain(diff.lines(view, 100, 70))
    assert told.index("kernel.c") < told.index("Memo") < told.index("Cases")
    alone = plain(diff.lines(view, 100, 24))
    assert "Memo" not in alone
    assert alone == told[: len(alone)]


def test_until_its_own_rules_are_known_a_roomy_screen_shows_those_of_the_incumbent() -> None:
    made = gpu_views.view_of(gpu.transposed())
    own = made.shown.show
    assert isinstance(own, Show)
    running = view_of(
        logs.running(), shown=LoadedDetails(show=replace(own, detail=type(own.detail)(), parent=own.detail))
    )
    told = plain(why(running, 100, 30, roomy=True))
    assert "Rules  its incumbent's, r1.4, until its own are known" in told
    assert "smem_bank_conflicts" in told
    assert "Moved most" not in told
    assert why(running, 100, 30) == []
