"""Agents and money on the screen: who is at work, what is waited for, what was aimed at, and what it all costs."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len
from textual.content import Content

from kpd.engine.plan import Iterate, next_action
from kpd.model import events as e
from kpd.model.agents import AgentTraits
from kpd.model.budget import Budget
from kpd.model.faults import NotBuilt
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.spending import Spend, Usage, dollars
from kpd.model.waits import ForReply
from kpd.subscription import DaemonError, Live
from tests.support.model.samples import done, run_of
from tests.support.tui import agents, logs
from tests.support.tui.drawn import screen
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.views import plain, view_of
from tui.format import money
from tui.format.story import sentence
from tui.model.answers import LoadedDetails, RuleRecord, Show
from tui.model.outline import TreePosition
from tui.model.output import Output
from tui.model.view import View
from tui.model.waits import folded, waits
from tui.panes import bars, log as journal, memo, overview, rules
from tui.panes.next_step import next_lines
from tui.panes.outline import row_line
from tui.widgets.pane import LogPane

WIDTHS = (47, 64, 80, 140)
HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]MEMO[/] [@click=app.quit]x[/] \x00\u202e\u200d \x1b]52;c;aGk=\x07end"


def at(number: int) -> TreePosition:
    return TreePosition(logs.TASK, "r1", number)


def shown(log: logs.Log, number: int) -> View:
    """The view on an iteration with what the daemon answers about it."""
    feed = CannedFeed(log)
    it = log.state.runs["r1"].iteration(number)
    assert it is not None
    show = Show(it, feed.detail("r1", number), feed.detail("r1", it.parent), feed.detail("r1", 0))
    return view_of(log, at(number), shown=LoadedDetails(show))


def unfolded(lines: list[Content]) -> str:
    return " ".join(line.plain.strip() for line in lines)


# ── money ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── what an iteration is about ────────────────────────────────────────────────────────────────────────────────────


def test_the_memo_tells_aims_expectation_measurement_parameters_and_cost() -> None:
    drawn = memo.lines(shown(agents.claude(), 1), 90, 40)
    rows = [line.plain.strip() for line in drawn]
    assert "aims at    far_below_bandwidth, not_vectorised" in rows
    assert "expects    memory traffic up, 12.0 % less time" in rows
    assert "measured   ✓ memory traffic 7.910 → 9.219 GB/s (+16.6 %)" in rows
    assert "✓ 14.2 % less time [13.5, 14.8]" in rows
    assert "unsure of  UNROLL = 4, 8, 16; TILE = 32, 64 (left to the sweep)" in rows
    assert "cost       $0.0700 for 15,170 tokens in 2 calls, 32 % from cache" in rows
    columns = {line.plain.index(row[11:]) for line, row in zip(drawn, rows, strict=True) if row[:8] in LABELS}
    assert len(columns) == 1, "what stands beside the labels is aligned"


LABELS = ("aims at ", "expects ", "measured", "unsure o", "cost    ")


def test_before_it_is_measured_there_is_only_the_expectation() -> None:
    text = plain(memo.lines(shown(agents.repairing(), 4), 90, 40)).split("\n\n")[1]
    assert "expects    memory traffic up, 9.0 % less time" in text
    assert "measured" not in text


def test_without_metrics_or_a_sweep_the_gain_and_the_parameters_are_still_told() -> None:
    text = plain(memo.lines(view_of(agents.claude("claude"), at(1)), 90, 40))
    assert "measured   ✓ 14.2 % less time" in text
    assert "unsure of  UNROLL = 4, 8, 16; TILE = 32, 64\n" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_of_a_memo_is_lost_in_a_narrow_pane(width: int) -> None:
    drawn = memo.lines(shown(agents.claude(), 1), width, 20)
    assert all(line.cell_length <= width for line in drawn)
    text = unfolded(drawn).replace(" ", "")
    came = ("7.910→9.219GB/s(+16.6%)", "14.2%lesstime[13.5,14.8]")
    for told in ("far_below_bandwidth,not_vectorised", *came, "TILE=32,64"):
        assert told in text


def test_overview_says_why_an_agent_is_asked_again_until_it_is_over() -> None:
    log = agents.repairing()
    text = unfolded(overview.lines(shown(log, 4), 47, 20))
    assert "✗ attempt 1, build: does not build: kernel.c:31: error: use of undeclared identifier 'LANES'" in text
    log.end(4, "failed", NotBuilt("it"))
    assert "attempt 1, build" not in unfolded(overview.lines(shown(log, 4), 47, 20))


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


# ── what is waited for ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_service_that_is_overloaded_is_waited_for_in_words() -> None:
    log = agents.overloaded()
    view = view_of(log)
    assert unfolded(next_lines(view, 47)) == f"waits  {agents.OVERLOADED}; it goes on by itself"
    assert "by claude, against r1.1" in plain(overview.lines(view, 80, 30))
    assert "◔ waiting  r1.4  the model service" in plain(bars.header(view, 120))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_path_of_a_mailbox_can_be_read_whole(width: int) -> None:
    lines = [line.plain for line in next_lines(view_of(agents.mailbox()), width)]
    assert all(cell_len(line) <= width for line in lines)
    begins = next(nth for nth, line in enumerate(lines) if line.strip().startswith("/"))
    assert "".join(line.strip() for line in lines[begins:]) == agents.REPLY
    assert " ".join(line.strip() for line in lines[:begins]) == (
        "waits  for reply.md, the answer to prompt.md beside it; Y copies its path:"
    )


def test_a_mailbox_says_in_brief_what_it_waits_for_where_there_is_no_room() -> None:
    view = view_of(agents.mailbox())
    row = view.outline.rows[view.outline.index[TreePosition(logs.TASK, "r1")]]
    assert row_line(view, row, 38).plain == " ▾ r1 ◔ waiting  for reply.md, the an…"
    assert "r1.4  for reply.md" in plain(bars.header(view, 80))


def test_a_reply_that_cannot_be_used_is_said_with_its_reason() -> None:
    log = agents.mailbox()
    log.emit(e.RunWaits("r1", ForReply(agents.REPLY, "prompt.md", "the block of kernel.c is never closed")))
    text = unfolded(next_lines(view_of(log), 47))
    assert "; the last one cannot be used: the block of kernel.c is never closed; Y copies" in text
    assert waits(log.state.runs["r1"]).path == agents.REPLY


def test_only_a_file_that_is_waited_for_is_offered_for_copying() -> None:
    log = agents.mailbox().emit(e.RunWaits("r1", Told("for /etc/passwd, said a stranger")))
    found = waits(log.state.runs["r1"])
    assert (found.path, found.text) == ("", "for /etc/passwd, said a stranger")


async def test_it_copies_the_path_that_is_waited_for_else_that_of_the_iterations_folder() -> None:
    app = app_on(CannedFeed(agents.mailbox()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("Y")
        assert app.clipboard == agents.REPLY
        assert agents.REPLY in screen(app)
    app = app_on(CannedFeed(logs.some()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("Y")
        assert app.clipboard == f"/home/op/kernels/runs/{logs.TASK}/r1/iter_0005"
        await pilot.press("left", "left")
        await settled(pilot)
        await pilot.press("Y")
        assert "no iteration is selected" in screen(app)


@given(st.text(st.sampled_from("ab/日. "), max_size=80), st.integers(2, 30))
def test_a_folded_path_fits_and_is_still_the_path(path: str, width: int) -> None:
    lines = folded(path, width)
    assert "".join(lines) == path
    assert all(cell_len(line) <= width for line in lines)


# ── who is at work ────────────────────────────────────────────────────────────────────────────────────────────────


def test_overview_says_who_proposes_and_where_it_can_be_watched() -> None:
    log = agents.writing()
    assert plain(next_lines(view_of(log), 100)) == "next  screen, once claude has proposed"
    elsewhere, output = Output(), Output()
    for other in (Live("agent", "r1", 3, "MEMO"), Live("agent", "r2", 4, "MEMO"), Live("build", "r1", 4, "cc")):
        elsewhere.hear(other, after=1)
    assert "live" not in plain(next_lines(view_of(log, output=elsewhere.lines()), 100))
    output.hear(Live("agent", "r1", 4, "MEMO"), after=1)
    assert plain(next_lines(view_of(log, output=output.lines()), 100)).endswith("; 6 shows it live")
    kept = view_of(log, output=output.lines(), keys={"tab_log": "ctrl+l"})
    assert plain(next_lines(kept, 100)).endswith("; ^l shows it live"), "the operator's own key"


@st.composite
def turns(draw: st.DrawFn) -> tuple[str, tuple[Iteration, ...]]:
    """A run of several agents as the engine would lead it: what each left open, and whether it could be measured."""
    names = draw(st.permutations(("claude", "mailbox", "sweep")))[: draw(st.integers(1, 3))]
    agent = ",".join(names)
    found = [Iteration(0, "baseline", 0, 0.0, status=done("baseline"), score=400.0)]
    for number in range(1, draw(st.integers(1, 14))):
        turn = next_action(run_with(agent, tuple(found)))
        assert isinstance(turn, Iterate)
        who = draw(st.sampled_from((turn.agent, turn.agent, turn.agent, "operator")))
        open_ = who not in ("sweep", "operator") and draw(st.booleans())
        measured = draw(st.booleans())
        found.append(
            Iteration(
                number, who, 0, 0.0, status=done(draw(st.sampled_from(("rejected", "accepted", "skipped")))),
                tune={"UNROLL": ("4", "8")} if open_ else {}, score=390.0 if measured else None,
            )
        )  # fmt: skip
    return agent, tuple(found)


def run_with(agent: str, iterations: tuple[Iteration, ...]) -> Any:
    return replace(run_of(*iterations, budget=Budget(iterations=1000, patience=1000)), agent=agent)


@given(turns())
def test_what_is_said_to_be_next_is_what_the_engine_does(found: tuple[str, tuple[Iteration, ...]]) -> None:
    run = run_with(*found)
    turn = next_action(run)
    assert isinstance(turn, Iterate)
    log = logs.no_runs()
    state = replace(log.state, runs={"r1": run})
    text = plain(next_lines(View(state=state, at=TreePosition("task", "r1")), 200)).removeprefix("next  ")
    if text.startswith("sweep, as long as"):
        assert turn.agent == "sweep" or text.endswith(f"; then {turn.agent}")
    else:
        assert text == f"{turn.agent} proposes the next candidate"


def test_the_sweep_is_next_while_parameters_are_left_to_it() -> None:
    text = plain(next_lines(view_of(agents.claude()), 200))
    assert text == "next  sweep, as long as r1.1 leaves it UNROLL and TILE to explore; then claude"


# ── its words as they come ────────────────────────────────────────────────────────────────────────────────────────


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


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── hostile ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", WIDTHS)
def test_what_an_agent_names_is_text_and_fits(width: int) -> None:
    played = agents.begun(f"claude,{HOSTILE}").proposes(1, HOSTILE)
    evil = e.Proposed("r1", 1, 0.1, 0.1, {}, HOSTILE, None, aims=(HOSTILE, "x" * 400), tune={HOSTILE: (HOSTILE,) * 3})
    played.emit(evil).emit(e.Billed("r1", 1, "propose", HOSTILE, Usage(10**15), 1e12)).emit(
        e.RunWaits("r1", Told(HOSTILE))
    )
    played.emit(e.Timed("r1", 1, 0.1, 0.1, 400.0, 5, ()))
    for place in (at(1), TreePosition(logs.TASK, "r1")):
        for pane in (overview.lines, memo.lines):
            text = plain(drawn := pane(view_of(played, place), width, 20))
            assert not any(char in text for char in "\x1b\x07\x00\u202e\u200d")
            assert all(line.cell_length <= width for line in drawn)
