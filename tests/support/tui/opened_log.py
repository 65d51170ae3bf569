"""A cockpit with its log open."""

from typing import Any

from textual.pilot import Pilot

from kpd.subscription import Live
from tests.support.tui.feed import CannedFeed, settled
from tui.widgets.pane import LogPane


async def open_log(pilot: Pilot[Any], feed: CannedFeed, count: int) -> LogPane:
    await settled(pilot)
    await pilot.press("6", "tab")
    feed.push(*(Live("job", "r1", 6, f"line {number}\n") for number in range(count)))
    await settled(pilot)
    return pilot.app.query_one(LogPane)
