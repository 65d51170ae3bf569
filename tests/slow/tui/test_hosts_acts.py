"""The Hosts tab under the operator's hands: acts on hosts, what comes back, and going from host to host."""

from typing import Any

from tests.support.tui import many_hosts
from tests.support.tui.feed import CannedFeed, app_on, settled

ACTS: list[tuple[list[str], list[tuple[str, dict[str, Any]]]]] = [
    (["T", "n"], []),
    (["T", "y"], [("trust", {"host": "gpu3", "fingerprint": many_hosts.FINGERPRINT})]),
    (["R"], [("nudge", {"host": "gpu3"})]),
    (["c"], [("check_hosts", {"host": None})]),
    (["C"], [("check_hosts", {"host": "gpu3"})]),
    (["7", "up", "R"], [("nudge", {"host": "gpu2"})]),
    (["ctrl+p", *"retry", "space", *"link", "enter"], [("nudge", {"host": "gpu2"})]),
    (["up", "R", "T", "escape"], []),
    (["ctrl+p", *"retry", "space", *"link", "enter"], []),
]


async def test_keys_become_commands_to_the_chosen_host() -> None:
    feed = CannedFeed(many_hosts.troubled())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for keys, commands in ACTS:
            feed.commands.clear()
            await pilot.press(*keys)
            await settled(pilot)
            assert (keys, feed.commands) == (keys, commands)
            assert len(app.screen_stack) == 1
