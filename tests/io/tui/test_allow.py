"""Before an agent's wish is allowed, the operator has seen all of it, and the answer is to that question."""

from kpd.model import events as e
from tests.support.tui import sessions
from tests.support.tui.drawn import screen
from tests.support.tui.feed import CannedFeed, app_on, settled


async def test_a_long_wish_can_be_read_to_its_end_and_is_answered_by_its_number() -> None:
    log = sessions.at_work()
    log.emit(e.PermissionAnswered(*sessions.AT, sessions.ID, 2, False, "nobody has answered within 300 s"))
    command = "cargo asm \\\n" + "".join(f"  --part {number} \\\n" for number in range(40)) + "  --last"
    log.emit(e.PermissionAsked(*sessions.AT, sessions.ID, 3, "execute", command, (), 300.0, "cargo is no program"))
    feed = CannedFeed(log)
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("O")
        await settled(pilot)
        assert "execute: cargo asm" in screen(app) and "--last" not in screen(app)
        await pilot.press("end")
        await settled(pilot)
        assert "--last" in screen(app)
        await pilot.press("y")
        await settled(pilot)
    assert feed.commands == [("answer", {"reply": "allow", "iteration": "r1.1", "question": 3})]
