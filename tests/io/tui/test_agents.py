"""Agents on the screen: who is at work, what is waited for, what was aimed at."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from kpd.engine.plan import Iterate, next_action
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.faults import NotBuilt
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.spending import Usage
from kpd.model.waits import ForReply
from kpd.subscription import Live
from tests.support.model.samples import done, run_of
from tests.support.tui import agents, logs
from tests.support.tui.drawn import screen
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.iteration_view import HOSTILE, WIDTHS, at, shown, unfolded
from tests.support.tui.views import plain, view_of
from tui.model.outline import TreePosition
from tui.model.output import Output
from tui.model.view import View
from tui.model.waits import folded, waits
from tui.panes import bars, memo, overview
from tui.panes.next_step import next_lines
from tui.panes.outline import row_line

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
