"""News: folded, coalesced, followed or not, lost and found again; hostile or in great numbers."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC

import pytest

from kpd.messages import Push
from kpd.model import events as e
from kpd.model.causes import Stopped
from kpd.model.kinds import Told
from kpd.model.notices import Said
from kpd.model.status import Ended
from kpd.subscription import DaemonError, Dropped, Heartbeat, Live, NoDaemon
from tests.support.tui import logs
from tests.support.tui.boards import board
from tests.support.tui.feed import CannedFeed, app_on, settled
from tui.app import KpdApp
from tui.model.feed import Feed, LinkState, follow
from tui.model.outline import TreePosition
from tui.model.view import View
from tui.widgets.pane import LogPane
from tui.widgets.tree import Tree


async def test_a_burst_of_events_is_one_repaint_and_none_is_lost() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed, refresh_hz=0.01)
    shown: list[View] = []
    async with app.run_test(size=(80, 24)) as pilot:
        while not app.view.state.seq:
            await pilot.pause(0.01)
        app.watch(app, "view", lambda view: shown.append(view), init=False)
        feed.play(e.Noticed("info", Said(f"news {number}")) for number in range(1000))
        while feed.pending:
            await pilot.pause(0.01)
        before = len(shown)
        assert app.view.state.seq < len(feed.log.events), "the refresh interval has not passed"
        await pilot.press("2")
        await pilot.pause()
        assert len(shown) > before, "keys are answered at once"
        assert app.view.tab == "metrics"
        app._publish()
        assert app.view.state == feed.log.state


async def test_a_heartbeat_changes_nothing() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = app.view
        feed.push(Heartbeat(3), Heartbeat(4))
        await settled(pilot)
        assert app.view is view


async def test_the_selection_follows_the_newest_until_the_operator_moves_it() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        feed.play([e.IterationStarted("r1", 6, "sweep", 4)])
        await settled(pilot)
        assert app.view.at.iteration == 6
        await pilot.press("down", "down")
        await settled(pilot)
        feed.play([e.IterationEnded("r1", 6, "skipped", Told("by op")), e.IterationStarted("r1", 7, "sweep", 4)])
        await settled(pilot)
        assert app.view.at.iteration == 4
        await pilot.press("f")
        await settled(pilot)
        assert app.view.at.iteration == 7
        feed.play([e.IterationStarted("r1", 8, "sweep", 4)])
        await settled(pilot)
        assert app.view.at.iteration == 8


async def test_answers_are_asked_for_once_and_again_when_the_iteration_moves_on() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2", "3", "1")
        await settled(pilot)
        assert [what for what, _ in feed.queries] == ["show", "cases", "rules"]
        feed.log.steps("r1", 6, *logs.measured("r1", 6, 300.0, 320.0, logs.same())[1:2])
        feed.push(*feed.log.events[-2:])
        await settled(pilot)
        assert app.view.shown.detail.timed is not None
        assert [what for what, _ in feed.queries] == ["show", "cases", "rules", "show"]


async def test_a_query_that_fails_is_shown_in_its_pane() -> None:
    feed = CannedFeed(
        logs.some(), refuse={"diff": DaemonError("infra", "diff.patch cannot be read", "look at the disk")}
    )
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("4")
        await settled(pilot)
        screen = "\n".join(board(app))
    assert "diff.patch cannot be read" in screen
    assert "look at the disk" in screen


# ── the link ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_link_comes_back_by_itself_and_goes_on_after_the_last_event() -> None:
    asked: list[int] = []
    log = logs.some()
    back = False

    class Asked(CannedFeed):
        async def messages(self, after: int = 0) -> AsyncIterator[Push]:
            asked.append(after)
            async for message in super().messages(after):
                yield message

    first, second = Asked(log), Asked(log)

    async def connect() -> Feed:
        if not asked:
            return first
        if not back:
            raise NoDaemon()
        return second

    app = KpdApp(connect, "kernels", zone=UTC, first_wait=0.01)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        first.push(DaemonError("infra", "the daemon has ended the connection", "kpd status"))
        while app.view.link.message != "no daemon runs for this workspace":
            await pilot.pause(0.01)
        await pilot.pause()
        screen = " ".join(" ".join(board(app)).split())
        assert "no daemon runs for this workspace · kpd start" in screen
        assert "reconnects by itself" in screen
        assert "r1.5" in screen, "the last that was heard stays"
        await pilot.press("p")
        assert app.view.said is not None
        assert "no link" in app.view.said.text
        back = True
        while app.view.link.state != "up":
            await pilot.pause(0.01)
        second.play([e.RunEnded("r1", "stopped", Stopped("op"))])
        while not isinstance(app.view.state.runs["r1"].status, Ended):
            await pilot.pause(0.01)
    assert asked == [0, len(log.events) - 1]


async def test_follow_closes_what_it_opened_when_it_is_cancelled() -> None:
    closed = asyncio.Event()

    class Closing(CannedFeed):
        async def close(self) -> None:
            closed.set()

    heard = asyncio.Event()
    links: list[LinkState] = []

    async def connect() -> Feed:
        return Closing(logs.empty())

    task = asyncio.create_task(
        follow(connect, lambda: 0, lambda message: heard.set(), lambda link, feed: links.append(link))
    )
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()
    assert [link.state for link in links] == ["up"]


# ── the log ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_output_stands_between_the_steps_it_came_with() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(100, 40)) as pilot:
        await settled(pilot)
        await pilot.press("6")
        feed.push(Live("job", "r1", 6, "process 1 of 5\npro"), Live("job", "r1", 6, "cess 2 of 5\n"), Dropped(7))
        await settled(pilot)
        feed.log.steps("r1", 6, logs.measured("r1", 6, 300.0, 320.0, logs.same())[2])
        feed.push(*feed.log.events[-2:])
        await settled(pilot)
        lines = [line for line in board(app) if "│ process" in line or "✓ judge" in line or "left out" in line]
    assert [text in line for line, text in zip(lines, ("process 1", "process 2", "7 pieces", "judge"), strict=True)]


async def test_the_log_follows_until_it_is_scrolled_and_again_at_its_end() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)

    async def print_lines(count: int) -> None:
        feed.push(*(Live("job", "r1", 6, f"line {number}\n") for number in range(count)))
        await settled(pilot)

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("6", "tab")
        await print_lines(100)
        pane = app.query_one(LogPane)
        assert pane.scroll_offset.y == pane.max_scroll_y > 0
        await pilot.press("pageup")
        released = pane.scroll_offset.y
        await print_lines(50)
        assert pane.scroll_offset.y == released
        await pilot.press("end")
        await print_lines(50)
        assert pane.scroll_offset.y == pane.max_scroll_y


async def test_a_terminal_that_is_resized_keeps_everything_in_its_place() -> None:
    app = app_on(CannedFeed(logs.paused()))
    async with app.run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        for size in ((80, 24), (20, 6), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            board(app)
            tree = app.query_one(Tree)
            assert tree.cursor is not None
            assert tree.scroll_offset.y <= tree.cursor < tree.scroll_offset.y + tree.window
        assert any("r1.6" in line for line in board(app))


async def test_only_lines_that_changed_are_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        painted: list[int] = []
        monkeypatch.setattr(Tree, "refresh_line", lambda self, y: painted.append(y))
        feed.play([e.Judged("r1", 6, 0.1, 0.0, logs.same()), e.StepStarted("r1", 6, "profile")])
        await settled(pilot)
    row = app.view.outline.index[TreePosition(logs.TASK, "r1", 6)]
    assert set(painted) == {row}


def test_only_what_is_watched_has_a_timer_that_runs_by_itself() -> None:
    """An idle screen writes nothing: a pane may have one while a step is under way or hosts are looked at before it."""
    from pathlib import Path

    import tui

    modules = Path(str(tui.__file__)).parent.rglob("*.py")
    assert {path.name for path in modules if "set_interval" in path.read_text()} == {"overview.py", "hosts.py"}
