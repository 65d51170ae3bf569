"""The words of a model, shown as they come."""

from kpd.subscription import Live
from tests.support.tui import agents
from tests.support.tui.drawn import screen
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.iteration_view import HOSTILE, at, unfolded
from tests.support.tui.views import view_of
from tui.model.answers import LoadedDetails
from tui.model.output import Output
from tui.panes import log as journal
from tui.widgets.pane import LogPane


async def test_a_models_words_are_shown_as_they_come_and_followed() -> None:
    feed = CannedFeed(agents.writing())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("6")
        feed.push(Live("agent", "r1", 4, "MEMO: keep each row in regis"))
        await settled(pilot)
        assert "│ MEMO: keep each row in regis" in screen(app)
        feed.push(Live("agent", "r1", 4, "ters between the two passes, so that it is read once\nEXPECT"))
        await settled(pilot)
        words = " ".join(line.split("│", 1)[-1].strip() for line in screen(app).splitlines() if "│" in line)
        assert words == "MEMO: keep each row in registers between the two passes, so that it is read once EXPECT"
        feed.push(*(Live("agent", "r1", 4, f" word{number}\n") for number in range(200)))
        await settled(pilot)
        pane = app.query_one(LogPane)
        assert "word199" in screen(app)
        assert pane.scroll_offset.y == pane.max_scroll_y > 0
        feed.push(Live("agent", "r1", 3, "of another iteration\n"), Live("build", "r1", 4, "x" * 100 + "\n"))
        await settled(pilot)
        assert "of another iteration" not in screen(app)
        assert screen(app).count("x") >= 100, "what others print goes on below, and nothing of it is lost"


async def test_a_models_words_never_reach_the_terminal_raw() -> None:
    feed = CannedFeed(agents.writing())
    app = app_on(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("6")
        feed.push(*(Live("agent", "r1", 4, char) for char in HOSTILE), Live("agent", "r1", 4, "\n" + HOSTILE))
        await settled(pilot)
        text = screen(app)
        assert not any(char in text for char in "\x1b\x07\x00\u202e\u200d")
        assert text.count("│ [bold red]MEMO[/] [@click=app.quit]x[/] ") == 2, "markup is text"
        await pilot.click(LogPane, offset=(40, 2))
        await settled(pilot)
        assert app.is_running


def test_a_line_end_that_comes_in_two_pieces_is_one() -> None:
    output = Output()
    for piece in ("one\r", "\ntwo\r", "three\r\n", "four\r"):
        output.hear(Live("agent", "r1", 4, piece), after=1)
    assert [line.text for line in output.lines()] == ["one", "two", "three", "four"]


def test_what_came_live_is_said_to_be_kept_in_the_reply() -> None:
    for number, files in ((1, ": reply.md, build.log, "), (2, ": build.log, ")):
        log = agents.claude()
        events = tuple(event for event in log.events if getattr(event.fact, "iteration", None) == number)
        view = view_of(log, at(number), shown=LoadedDetails(events=events))
        assert files in unfolded(journal.lines(view, 80, 30))
