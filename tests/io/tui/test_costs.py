"""Money on the screen: what a run has cost, and what it may cost."""

from dataclasses import replace

import pytest

from kpd.model import events as e
from kpd.model.agents import AgentTraits
from kpd.model.kinds import Told
from kpd.model.spending import Spend, Usage, dollars
from kpd.subscription import DaemonError
from tests.support.tui import agents, logs
from tests.support.tui.drawn import screen
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.iteration_view import WIDTHS, at
from tests.support.tui.views import plain, view_of
from tui.format import money
from tui.format.story import sentence
from tui.model.outline import TreePosition
from tui.panes import bars, overview


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0.0, "$0.00"), (0.00001, "<$0.0001"), (0.00041, "$0.0004"), (0.0463, "$0.0463"), (0.1, "$0.10"),
        (1234.5, "$1,234.50"),
    ],
)  # fmt: skip
def test_dollars_have_as_many_digits_as_they_need(usd: float, text: str) -> None:
    assert dollars(usd) == text


@pytest.mark.parametrize(
    ("spend", "text"),
    [
        (Spend(1, Usage(1), 0.5), "$0.50 for 1 token"),
        (Spend(2, Usage(1_000, 4_870, 4_870, 1_204), 0.07), "$0.0700 for 11,944 tokens in 2 calls, 41 % from cache"),
        (Spend(3, Usage(1_000, 0, 0, 500), 0.25, unpriced=1), "$0.25 + ? for 1,500 tokens in 3 calls"),
        (Spend(2, Usage(2_345_678, 0, 0, 500), 0.0, unpriced=2), "? for 2.35M tokens in 2 calls"),
        (Spend().with_call(Usage(1_500), 0.25).with_call(Usage(), 2.0), "$2.25 for 1,500 + ? tokens in 2 calls"),
        (Spend().with_call(Usage(), 2.0, exact=False), "~$2.00 for ? tokens"),
        (Spend().with_call(Usage(), None, exact=False), "? for ? tokens"),
    ],
)
def test_a_cost_is_told_in_dollars_and_tokens_and_never_guessed(spend: Spend, text: str) -> None:
    assert money.told(spend) == text


def test_overview_says_what_the_run_has_cost_and_what_it_may_cost() -> None:
    view = view_of(agents.overloaded())
    assert "Cost so far  ~$0.0884 of $2.50  22,634 tokens  r1.4: ~$0.0184" in plain(overview.lines(view, 140, 40))
    narrow = plain(overview.lines(view, 47, 20))
    assert "Cost so far  ~$0.0884 of $2.50  22,634 tokens\n" in narrow, "what does not fit is left out whole"
    assert "models      ~$2.41 of $2.50 left" in narrow
    assert "Cost so far  ~$0.0709 + ? of $2.50" in plain(overview.lines(view_of(agents.unpriced()), 80, 40))


def test_the_limit_of_a_run_is_shown_and_that_there_is_none() -> None:
    limited, unlimited = (view_of(agents.begun("claude", usd).proposes(1)) for usd in (5.0, 0.0))
    assert "Cost so far  $0.00 of $5.00\n" in plain(overview.lines(limited, 47, 20))
    assert "models      $5.00 of $5.00 left" in plain(overview.lines(limited, 47, 20))
    assert "Cost so far  $0.00\n" in plain(overview.lines(unlimited, 47, 20))
    assert "models      no limit" in plain(overview.lines(unlimited, 47, 20))


def test_a_run_that_pays_for_no_model_says_nothing_of_money() -> None:
    for width in WIDTHS:
        text = plain(overview.lines(view_of(logs.running()), width, 30))
        assert "Cost" not in text
        assert "models" not in text


def test_no_amount_is_ever_cut() -> None:
    log = agents.claude()
    log.emit(e.Billed("r1", 1, "propose", agents.MODEL, Usage(10**9, 10**9, 10**9, 10**9), 12_345.67))
    for width in WIDTHS:
        for number in (None, 1):
            place = at(number) if number is not None else TreePosition(logs.TASK, "r1")
            drawn = overview.lines(view_of(log, place), width, 30)
            assert all(line.cell_length <= width for line in drawn)
            assert "$12,345.74 of $2.50" in plain(drawn)
            assert "$0.00" in plain(drawn)


async def test_the_run_itself_shows_tokens_by_purpose_and_model() -> None:
    feed = CannedFeed(agents.unpriced())
    app = app_on(feed)
    async with app.run_test(size=(120, 50)) as pilot:
        await settled(pilot)
        assert [what for what, _ in feed.queries] == ["show"]
        await pilot.press("left")
        await settled(pilot)
        rows = [" ".join(line.split("▕", 1)[-1].split()) for line in screen(app).splitlines()]
        assert "purpose calls input to cache from cache output cost" in rows
        assert "propose 2 2,594 4,870 4,870 2,836 $0.0463 + ?" in rows
        assert "compile fix 1 1,390 0 4,870 1,204 $0.0237" in rows
        assert "my-own-model 1 1,390 0 4,870 1,204 ?" in rows
        assert "in all 4 916k 4,870 9,740 5,451 ~$0.0709 + ?" in rows
        assert any("1 call broke off" in row for row in rows)
        assert any("1 call without a known price; [claude.prices]" in row for row in rows)
        feed.play([e.Billed("r1", 4, "again", agents.MODEL, agents.CACHED, 0.02)])
        await settled(pilot)
        assert "again 1 1,390 0 4,870 1,204 $0.0200" in " ".join(screen(app).split())
    assert [what for what, _ in feed.queries].count("cost") == 2


async def test_a_run_without_bills_is_not_asked_for_its_accounts() -> None:
    feed = CannedFeed(logs.ended())
    app = app_on(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("left")
        await settled(pilot)
    assert "cost" not in [what for what, _ in feed.queries]


async def test_accounts_that_cannot_be_had_leave_the_sum() -> None:
    feed = CannedFeed(agents.claude(), refuse={"cost": DaemonError("unknown", "no such question")})
    app = app_on(feed)
    async with app.run_test(size=(120, 50)) as pilot:
        await settled(pilot)
        await pilot.press("left", "left")
        await settled(pilot)
        assert "in all 2 2,594 4,870 4,870 2,836 $0.0700" in " ".join(screen(app).split())


def test_the_journal_has_a_line_for_each_bill() -> None:
    _, text = sentence(e.Billed("r1", 1, "compile_fix", agents.MODEL, agents.CACHED, 0.0237, cut=True))
    assert text == "compile fix  broken off, ~$0.0237 for 7,464 tokens, 65 % from cache, claude-sonnet-5-5"
    _, text = sentence(e.Billed("r1", 1, "propose", "\x1b[31mred", agents.FIRST))
    assert text == "propose  ? for 7,706 tokens, red"
    _, text = sentence(e.Asked("r1", 1, 7, "runtime_fix", agents.MODEL, 0.163))
    assert text == "runtime fix  asks claude-sonnet-5-5, for $0.16 at most"


def test_the_header_says_what_a_run_has_cost_while_there_is_room_for_all_else() -> None:
    assert "● local up  $0.0700 of $2.50  " in plain(bars.header(view_of(agents.claude()), 80))
    writing = view_of(agents.writing())
    assert "● local up  $0.0700 of $2.50  " in plain(bars.header(writing, 120))
    narrow = next(width for width in range(120, 0, -1) if "$" not in plain(bars.header(writing, width)))
    assert plain(bars.header(writing, narrow)).split() == [
        one for one in plain(bars.header(writing, 120)).split() if one not in ("$0.0700", "of", "$2.50")
    ]
    assert "$" not in plain(bars.header(view_of(logs.running()), 120)), "a sweep costs nothing"


def test_whatever_agent_asks_a_model_costs_money() -> None:
    run = replace(logs.running().state.runs["r1"], agent="mine")
    assert not money.costs(run)
    assert money.costs(replace(run, traits={"mine": AgentTraits(models=True)}))


def test_the_header_says_the_cost_of_the_run_that_it_speaks_of() -> None:
    log = agents.claude().emit(e.RunEnded("r1", "improved", Told("done")))
    assert "$0.0700 of $2.50" in plain(bars.header(view_of(log), 120)), "idle, and r1 is selected"
    log.run("r2").baseline("r2")
    assert "$" not in plain(bars.header(view_of(log, TreePosition(logs.TASK, "r1")), 120)), "r2 is under way"
