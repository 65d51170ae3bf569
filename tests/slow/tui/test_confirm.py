"""What is asked before an act, and why one cannot be taken: true in every state of the run and the queue."""

import pytest

from kpd.model import events as e
from kpd.model.notices import Said
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled


async def test_an_answer_goes_once_news_came_and_stays_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.app.SAID_S", 0.3)
    feed = CannedFeed(logs.running())
    app = app_on(feed, low_bandwidth=True)  # else the clock of the overview ticks meanwhile
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.say("r1 is paused")
        await pilot.pause(1.5)
        assert app.view.said is not None, "nothing has happened since"
        app.say("r1 is paused")
        feed.play([e.Noticed("info", Said("something else"))])
        await settled(pilot)
        assert app.view.said is not None
        await pilot.pause(0.6)
        assert app.view.said is None, "without any more news"
