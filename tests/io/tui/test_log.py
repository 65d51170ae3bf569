"""The log on the screen: what stands where, followed and let go, searched, bounded, and quick under a flood."""

from dataclasses import replace
from typing import Any

import pytest

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.notices import Notice, Said
from kpd.subscription import Live
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.opened_log import open_log
from tests.support.tui.views import plain, view_of
from tui.app import KpdApp
from tui.format.text import LONGEST_LINE
from tui.model.answers import LoadedDetails
from tui.model.outline import TreePosition
from tui.model.output import MOST_CHARACTERS, MOST_LINES, Output
from tui.panes import log
from tui.widgets.pane import LogPane


def printed(*texts: str, channel: str = "job") -> Output:
    output = Output()
    for text in texts:
        output.hear(Live(channel, "r1", 6, text), after=10_000)
    return output


def search(app: KpdApp, text: str) -> None:
    app.change(find=text)


# ── kept ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_output_is_bounded_in_lines_and_in_characters() -> None:
    output = printed("".join(f"{n}\n" for n in range(3 * MOST_LINES)))
    assert len(output.lines()) == MOST_LINES
    assert output.lines()[-1].text == str(3 * MOST_LINES - 1)
    output = printed(*["x" * LONGEST_LINE + "\n"] * (2 * MOST_CHARACTERS // LONGEST_LINE))
    assert MOST_CHARACTERS - LONGEST_LINE <= sum(len(one.text) for one in output.lines()) <= MOST_CHARACTERS


@pytest.mark.parametrize("pieces", [["x" * 10_000_000 + "\n"], ["x" * 10_000] * 1000 + ["\n"], ["x" * 10_000_000]])
def test_a_line_of_ten_megabytes_is_cut_and_says_so(pieces: list[str]) -> None:
    (line,) = printed(*pieces).lines()
    assert line.text.endswith("x … 9,998,000 more characters")


def test_lines_are_numbered_in_the_order_in_which_they_came() -> None:
    output = printed("a\nb\n", "c")
    assert [line.number for line in output.lines()] == [1, 2, 0], "the last one is still being written"


# ── what was printed while nobody looked ──────────────────────────────────────────────────────────────────────────

FILES = {
    "reply.md": "I take wider loads.\n",
    "build.log": "kernel.c:3:9: error: expected ';' before 'float'\x1b[2J\n" + "x" * 3_000 + "\n",
}


async def read(played: logs.Log, *heard: Live) -> tuple[str, list[Any]]:
    """What the log of the newest iteration shows, and which files it asked for."""
    feed = CannedFeed(played)
    feed.files = FILES
    app = app_on(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        feed.push(*heard)
        await settled(pilot)
        await pilot.press("6")
        await settled(pilot)
        return plain(log.lines(app.view, 90, 40)), [args for what, args in feed.queries if what == "file"]


async def test_an_iteration_that_nobody_watched_shows_what_its_compiler_and_its_agent_said() -> None:
    whole, asked = await read(logs.some())
    assert asked == [{"iteration": "r1.5", "name": name} for name in (*FILES, "session/log.jsonl")]
    rows = whole.splitlines()
    agent, build = (
        next(nth for nth, row in enumerate(rows) if text in row) for text in ("agent │ I take", "build │ ker")
    )
    proposed, built = (next(nth for nth, row in enumerate(rows) if text in row) for text in ("propose", "build  "))
    assert agent <= proposed < build <= built, "each beside its step"
    assert "\x1b" not in whole and "1,000 more characters" in whole


async def test_what_was_heard_is_not_shown_a_second_time_from_the_files() -> None:
    whole, _ = await read(logs.some(), Live("build", "r1", 5, "kernel.c:3:9: error\n"))
    assert whole.count("kernel.c:3:9") == 1


async def test_of_the_channels_that_were_not_heard_the_files_are_shown() -> None:
    whole, _ = await read(logs.some(), Live("job", "r1", 5, "quad 3 of 20\n"))
    assert "quad 3 of 20" in whole and "I take wider loads" in whole and whole.count("kernel.c:3:9") == 1


async def test_what_others_print_does_not_move_a_search_in_kept_output() -> None:
    feed = CannedFeed(logs.some())
    feed.files = {"build.log": "needle\n" * 40}
    app = app_on(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("6")
        await settled(pilot)
        search(app, "needle")
        await settled(pilot)
        pane = app.query_one(LogPane)
        pane.action_match(1)
        before = pane._here
        feed.push(Live("job", "r1", 4, "of another iteration\n"))
        await settled(pilot)
        assert before is not None and pane._here == before


async def test_while_an_iteration_is_under_way_its_files_are_not_asked_for() -> None:
    _, asked = await read(logs.running())
    assert not asked


# ── what stands where ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_the_daemon_noticed_stands_in_its_place_by_the_clock() -> None:
    played = logs.some().at_step(6, "build", "UNROLL=16", parent=4)
    played.emit(e.Noticed("warning", Said("the disk is nearly full")))
    played.emit(e.Built("r1", 6, 0.4, 0.1, "b", False))
    events = tuple(one for one in played.events if getattr(one.fact, "iteration", None) == 6)
    rows = plain(log.lines(view_of(played, shown=LoadedDetails(events=events)), 100, 30)).splitlines()
    at = next(nth for nth, row in enumerate(rows) if "nearly full" in row)
    assert "✓ stage" in rows[at - 1]
    assert "✓ build" in rows[at + 1]
    earlier = plain(log.lines(view_of(played, TreePosition(logs.TASK, "r1", 1)), 100, 30))
    assert "nearly full" not in earlier, "that was another time"


def test_without_an_iteration_the_log_is_the_daemons_and_says_who_did_what() -> None:
    played = logs.paused().emit(e.Noticed("error", Said("gpu2 does not answer")))
    played.emit(e.BudgetChanged("r1", Budget(iterations=9, usd=2.5), "anna"))
    acts = tuple(one for one in played.events if isinstance(one.fact, (e.RunPaused, e.BudgetChanged)))
    diary = (
        Notice(played.at - 0.05, "info", Said("host gpu2 is \x1b[31mdown")),
        Notice(played.at + 1, "error", Said("cannot answer")),
    )
    view = view_of(played, TreePosition(logs.TASK, "r1"), shown=LoadedDetails(acts=acts, diary=diary))
    text = plain(log.lines(view, 120, 30))
    assert "\x1b" not in text
    told = (
        "op pauses r1",
        "gpu2 does not answer",
        "host gpu2",
        "anna sets the budget of r1: 9 iterations",
        "cannot answer",
    )
    order = [text.index(said) for said in told]
    assert order == sorted(order)
    assert "$2.50 at most" in text
    assert "/home/op/kernels/.kpd/daemon.log" in text
    nothing = plain(log.lines(view_of(logs.no_runs(), TreePosition(logs.TASK)), 100, 30))
    assert "What the daemon logs appears here" in nothing


async def test_what_the_daemon_logs_is_asked_for_again_whenever_it_says_that_there_is_more() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        feed.diary.append(Notice(feed.log.at, "warning", Said("the snapshot is ignored")))
        feed.push(Live("daemon", "", 0, "the snapshot is ignored\n"))
        await settled(pilot)
        assert ("diary", {}) not in feed.queries, "only who looks at the log asks"
        await pilot.press("6")
        await settled(pilot)
        assert "the snapshot is ignored" in plain(app.query_one(LogPane).lines)
        feed.diary.append(Notice(feed.log.at, "info", Said("host local is up")))
        feed.push(Live("daemon", "", 0, "host local is up\n"))
        await settled(pilot)
        assert "host local is up" in plain(app.query_one(LogPane).lines)
        assert feed.queries.count(("diary", {})) == 2


@pytest.mark.parametrize("width", [40, 48, 80, 120])
def test_nothing_that_was_printed_is_cut_at_the_edge(width: int) -> None:
    rows = ("process 7 of 20  rows=64 cols=4096  1234.5678 µs  " * 3, "日本" * 60, "short")
    output = printed(*(f"{row}\n" for row in rows))
    drawn = log.lines(view_of(logs.running(), output=output.lines()), width, 30)
    assert all(line.cell_length <= width for line in drawn)
    said = "".join(line.plain.partition("│ ")[2] for line in drawn)
    assert said == "".join(rows)


# ── followed ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_log_that_was_scrolled_away_stays_where_it_is_while_lines_come_and_go() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await open_log(pilot, feed, MOST_LINES)
        assert pane.foot is None, "it follows"
        await pilot.press("pageup")
        await settled(pilot)
        top = pane.lines[pane.scroll_offset.y].plain
        assert pane.foot is not None
        assert "below  f follows" in pane.foot.plain
        feed.push(*(Live("job", "r1", 6, f"new {number}\n") for number in range(700)))
        await settled(pilot)
        assert pane.lines[pane.scroll_offset.y].plain == top, "though 700 lines above it are no longer kept"
        await pilot.press("f")
        await settled(pilot)
        assert pane.foot is None
        feed.push(Live("job", "r1", 6, "the last\n"))
        await settled(pilot)
        assert "the last" in pane.lines[pane.scroll_offset.y + pane.window - 1].plain
        assert app.view.following, "f was the log's, not the tree's"


async def test_a_log_at_its_end_follows_on_while_a_message_comes_and_goes_below_it() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await open_log(pilot, feed, 100)
        room = pane.room.height
        app.say("a message")
        await settled(pilot)
        assert pane.room.height == room - 1, "it has taken a row"
        for said in ("with it", "without it"):
            feed.push(Live("job", "r1", 6, f"{said}\n"))
            await settled(pilot)
            assert pane.foot is None
            assert said in pane.lines[pane.scroll_offset.y + pane.window - 1].plain
            app.change(said=None)
            await settled(pilot)


async def test_f_at_the_end_of_the_log_is_the_trees_only_where_that_does_not_follow() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_log(pilot, feed, 100)
        await pilot.press("f")
        await settled(pilot)
        assert app.view.said is None, "it is not refused what it has"
        app.change(following=False)
        await pilot.press("f")
        await settled(pilot)
        assert app.view.following


# ── searched ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_matches_are_counted_and_gone_through_round_and_round() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await open_log(pilot, feed, 100)
        search(app, "LINE 7")
        await settled(pilot)
        seen = []
        for key in ("n", "n", "N", "n", *"nnnnnnnnnn"):
            await pilot.press(key)
            await settled(pilot)
            assert pane.foot is not None
            in_sight = pane.lines[pane.scroll_offset.y :][: pane.window]
            (here,) = [line.plain for line in in_sight if marked(line, ".match-here")]
            seen.append((pane.foot.plain.split("  n")[0], here.split("│ ")[1]))
        assert seen[0] == ("/LINE 7  1 of 11 lines", "line 7"), "after the last comes the first"
        assert [text for _, text in seen[1:4]] == ["line 70", "line 7", "line 70"]
        assert seen[-1] == ("/LINE 7  1 of 11 lines", "line 7"), "ten further on, and round again"
        search(app, "nowhere")
        await settled(pilot)
        assert pane.foot is not None
        assert "no line has it" in pane.foot.plain
        search(app, "")
        await settled(pilot)
        assert not feed.commands, "n was the search's"


async def test_without_a_search_n_is_a_new_run() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_log(pilot, feed, 3)
        await pilot.press("n")
        await settled(pilot)
        assert len(app.screen_stack) == 2, "it asks"


@pytest.mark.parametrize("channel", ["job", "agent"])
@pytest.mark.parametrize("width", [40, 120])
def test_a_match_is_found_and_set_off_in_a_line_of_any_length(channel: str, width: int) -> None:
    output = printed("word " * 40 + "Needle [b] " + "tail " * 40 + "\n", channel=channel)
    view = view_of(logs.running(), output=output.lines(), find="needle [B]" if channel == "job" else "needle")
    sheet = log.LogRows(view, width)
    assert sheet.matches
    rows = sheet.rows(sheet.matches[0])
    found = "".join(
        row.plain[span.start : span.end] for row in rows for span in row.spans if "match" in str(span.style)
    )  # fmt: skip
    assert found.replace(" ", "") in ("Needle[b]", "Needle")


def marked(line: Any, style: str) -> bool:
    return any(span.style == style for span in line.spans)


def test_keys_that_change_nothing_of_the_log_do_not_make_it_anew() -> None:
    view = view_of(logs.running(), output=printed("x\n").lines())
    sheet = log.LogRows(view, 80, 20)
    assert sheet.holds(replace(view, keys={"help": "x"}), 80, 20)
    assert not sheet.holds(replace(view, output=printed("y\n").lines()), 80, 20)
    assert not sheet.holds(replace(view, find="x"), 80, 20)
    assert not sheet.holds(view, 81, 20)
    assert not sheet.holds(view, 80, 21)
