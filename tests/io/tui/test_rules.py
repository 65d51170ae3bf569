"""What has come of each rule so far."""

from dataclasses import replace

from kpd.subscription import DaemonError
from tests.support.tui import agents
from tests.support.tui.drawn import screen
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.iteration_view import shown
from tests.support.tui.views import plain
from tui.model.answers import RuleRecord
from tui.panes import rules


async def test_the_rules_say_what_has_come_of_them_so_far() -> None:
    feed = CannedFeed(agents.claude())
    app = app_on(feed)
    async with app.run_test(size=(120, 50)) as pilot:
        await settled(pilot)
        await pilot.press("3")
        await settled(pilot)
        text = screen(app)
        assert "so far: fired on 4, aimed at by 3, accepted 1, median gain 0.4 % less time" in text
        assert "so far: fired on 4, aimed at by 1, accepted 1, median gain 14.2 % less time" in text
        await pilot.press("down", "up", "2", "3")
        await settled(pilot)
        assert [what for what, _ in feed.queries].count("rules") == 1, "the answer holds for all iterations"
        feed.log.iteration(4, "TILE=8", 2.4, "faster", parent=1, before=353.8)
        feed.push(*feed.log.events[-30:])
        await settled(pilot)
        assert "fired on 5, aimed at by 4, accepted 2" in screen(app)


def test_a_rule_that_nobody_has_acted_on_says_so() -> None:
    view = shown(agents.claude(), 1)
    known = (RuleRecord("far_below_bandwidth", 7, 0, 0), RuleRecord("not_vectorised", 1234, 2, 0))
    text = plain(rules.lines(replace(view, shown=replace(view.shown, rules=known)), 80, 30))
    assert "so far: fired on 7 candidates, none that came after aimed at it" in text
    assert "so far: fired on 1,234, aimed at by 2, accepted 0\n" in text + "\n"
    assert "so far" not in plain(rules.lines(view, 80, 30))


async def test_a_daemon_that_does_not_know_the_record_of_rules_is_no_trouble() -> None:
    feed = CannedFeed(agents.claude(), refuse={"rules": DaemonError("unknown", "no such question: rules")})
    app = app_on(feed)
    async with app.run_test(size=(120, 50)) as pilot:
        await settled(pilot)
        await pilot.press("3")
        await settled(pilot)
        assert "far_below_bandwidth" in screen(app)
        assert "no such question" not in screen(app)
