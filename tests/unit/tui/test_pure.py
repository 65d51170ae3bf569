"""The parts of the UI that are plain functions: rows, chart, output, answers, what is next, what may not be done."""

from dataclasses import replace
from typing import Any

import pytest

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Skipped
from kpd.model.kinds import Told
from kpd.model.notices import Said
from kpd.model.state import State
from kpd.subscription import DaemonError, Live
from tests.support.tui import logs, many_hosts
from tests.support.tui.feed import CannedFeed
from tests.support.tui.views import ENDED, plain, view_of
from tui.actions import confirm
from tui.actions.table import ACTIONS, BY_ID, reason
from tui.model.answers import DetailQuery, Problem, Show
from tui.model.details import Details
from tui.model.feed import LinkState
from tui.model.outline import Outline, TreePosition, exists, outline
from tui.model.output import Output
from tui.model.view import View
from tui.panes import bars, diff, hosts, log, memo, metrics, overview, rules
from tui.panes.chart import chart, points
from tui.panes.next_step import next_lines, used

RUN, LAST = TreePosition(logs.TASK, "r1"), TreePosition(logs.TASK, "r1", 5)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_of_several_iterations_under_way_the_selected_one_is_skipped() -> None:
    log = many_hosts.lanes()
    one = view_of(log, TreePosition(logs.TASK, "r1", 5))
    assert why("skip", one) == "" and BY_ID["skip"].pick is not None
    assert BY_ID["skip"].pick(one, "").args() == {"run": "r1.5"}
    assert confirm.skip(one).title == "Skip iteration 5 of r1?"
    whole = view_of(log, TreePosition(logs.TASK, "r1"))
    assert why("skip", whole) == "r1.4 and r1.5 and r1.6 are under way: select one of them"


def test_of_several_iterations_under_way_each_shows_its_own_step_and_wait() -> None:
    log = many_hosts.lanes()
    first, second, third = (view_of(log, TreePosition(logs.TASK, "r1", number)) for number in (4, 5, 6))
    assert plain(next_lines(first, 80)) == "next  judge, once time is done"
    assert "train.py (77) computes on it; it goes on by itself" in plain(next_lines(second, 80))
    assert plain(next_lines(third, 80)) == "next  check, once build is done"
    assert "device 3 of 3" in plain(overview.lines(third, 120, 36))


def test_the_newest_run_is_open_and_its_newest_iteration_first() -> None:
    log = logs.some().emit(e.RunEnded("r1", "improved", Told("done"))).run("r2").baseline("r2")
    places = [row.place for row in outline(log.state, {}, TreePosition()).rows]
    task = logs.TASK
    assert places == [
        TreePosition(task),
        TreePosition(task, "r2"),
        TreePosition(task, "r2", 0),
        TreePosition(task, "r1"),
        TreePosition("transpose_cpu"),
    ]


def test_a_run_stays_open_while_the_operator_is_in_it() -> None:
    log = logs.some().emit(e.RunEnded("r1", "improved", Told("done"))).run("r2")
    rows = outline(log.state, {}, LAST)
    assert LAST in rows.index
    assert LAST not in outline(log.state, {RUN: False}, LAST).index


def test_steps_stop_at_the_ends_and_an_empty_outline_has_none() -> None:
    rows = outline(logs.some().state, {}, LAST)
    assert rows.step(LAST, 1) == TreePosition(logs.TASK, "r1", 4)
    assert rows.step(LAST, -100) == TreePosition(logs.TASK)
    assert Outline().step(LAST, 1) == LAST


def test_runs_of_a_removed_task_are_still_there() -> None:
    log = logs.some().emit(e.TaskRemoved(logs.TASK))
    assert LAST in outline(log.state, {}, LAST).index
    assert exists(log.state, LAST)
    assert not exists(log.state, TreePosition("no such task"))
    assert not exists(log.state, TreePosition(logs.TASK, "r1", 99))


# ── chart ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_chart_never_falls_and_marks_what_was_accepted() -> None:
    run = logs.some().state.runs["r1"]
    bests = [point.best for point in points(run, 50)]
    assert bests == sorted(bests, key=lambda best: best or 0)
    assert plain(chart(run, 50, 8)).count("▲") == 2
    assert "✗" in plain(chart(run, 50, 8))


def test_the_chart_is_of_paired_numbers_with_round_labels_and_names_its_axis() -> None:
    run = logs.some().state.runs["r1"]
    scored_otherwise = replace(run, iterations=tuple(replace(it, score=7.0) for it in run.iterations))
    drawn = plain(chart(run, 50, 12)).splitlines()
    assert drawn == plain(chart(scored_otherwise, 50, 12)).splitlines(), "scores of different contests are not compared"
    assert "speed-up over the baseline, log scale" in drawn[0]
    assert [text.split()[0] for text in drawn if "┤" in text] == ["1.2×", "1×"]


@pytest.mark.parametrize("count", [1, 2, 40, 3000])
def test_the_chart_fits_whatever_the_number_of_iterations(count: int) -> None:
    run = logs.many(count).state.runs["r1"]
    for width, height in ((20, 4), (48, 6), (120, 14)):
        drawn = chart(run, width, height)
        assert len(drawn) == height
        assert all(line.cell_length <= width for line in drawn)
    assert points(run, 20)[0].own == 1, "the baseline shares its column with none"


def test_there_is_no_chart_before_the_first_score() -> None:
    assert chart(logs.no_runs().run().state.runs["r1"], 50, 8) == []


# ── output ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_output_is_put_together_from_pieces_and_bounded() -> None:
    output = Output(most=3)
    for text in ("cc -O", "2\nker", "nel.c\n", "one\ntwo\nthree\nfo"):
        output.hear(Live("build", "r1", 1, text), after=7)
    assert [line.text for line in output.lines()] == ["one", "two", "three", "fo"]
    output.hear(Live("job", "r1", 1, "other\n"), after=8)
    assert [(line.channel, line.after) for line in output.lines()][-2:] == [("job", 8), ("build", 7)]


def test_a_line_without_an_end_does_not_grow_for_ever() -> None:
    output = Output()
    for _ in range(100):
        output.hear(Live("job", "r1", 1, "x" * 1000), after=1)
    assert sum(len(line.text) for line in output.lines()) <= 4_000


# ── answers ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_answer_is_good_until_the_iterations_next_event() -> None:
    feed, details = CannedFeed(logs.some()), Details()
    details.hear(feed.state)
    assert details.wants(DetailQuery("show", LAST))
    await details.ask(feed, DetailQuery("show", LAST))
    assert not details.wants(DetailQuery("show", LAST))
    details.hear(e.Event(10_000, 0.0, e.MemoGiven("r1", 4, "another iteration")))
    assert not details.wants(DetailQuery("show", LAST))
    details.hear(e.Event(10_001, 0.0, e.MemoGiven("r1", 5, "this one")))
    assert details.wants(DetailQuery("show", LAST))
    assert isinstance(details.shown(LAST).show, Show), "the outdated answer is shown until the new one is there"


async def test_a_question_without_an_answer_is_a_problem_until_the_next_connection() -> None:
    feed = CannedFeed(logs.some(), refuse={"show": DaemonError("infra", "the disk is full", "make room")})
    details = Details()
    details.hear(feed.state)
    await details.ask(feed, DetailQuery("show", LAST))
    assert details.shown(LAST).show == Problem("the disk is full", "make room")
    assert not details.wants(DetailQuery("show", LAST))
    details.forget_problems()
    assert details.wants(DetailQuery("show", LAST))


async def test_only_so_many_answers_are_kept() -> None:
    feed, details = CannedFeed(logs.many(200)), Details()
    details.hear(feed.state)
    for number in range(200):
        await details.ask(feed, DetailQuery("diff", TreePosition(logs.TASK, "r1", number)))
    kept = [
        number for number in range(200) if not details.wants(DetailQuery("diff", TreePosition(logs.TASK, "r1", number)))
    ]
    assert kept == list(range(136, 200))


# ── sentences where nothing is yet ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "draw", [overview.lines, metrics.lines, rules.lines, diff.lines, memo.lines, log.lines, hosts.lines]
)
@pytest.mark.parametrize(
    "view",
    [
        View(),
        View(link=LinkState("down", "no daemon", "kpd start")),
        view_of(logs.empty()),
        view_of(logs.no_runs()),
        view_of(logs.no_runs().run()),
        view_of(logs.no_runs().emit(e.RunQueued("r1", logs.TASK, "sweep", "local", Budget()))),
        view_of(logs.running()),
        view_of(logs.some(), RUN),
        view_of(logs.some().emit(e.TaskRemoved(logs.TASK)), TreePosition(logs.TASK)),
    ],
    ids=["connecting", "no daemon", "no tasks", "no runs", "preparing", "queued", "running", "a run", "a lost task"],
)
def test_no_pane_is_ever_empty(draw: Any, view: View) -> None:
    found = draw(view, 48, 20)
    assert any(line.plain.strip() for line in found)


# ── what is next ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (logs.running(), "judge, once time is done"),
        (logs.paused(), "waits  paused by op; r resumes it"),
        (logs.held(), "the queue is held: r releases it"),
        (logs.ended(), "ended  4 iterations without a gain"),
        (logs.some(), "sweep proposes the next candidate"),
        (logs.some().emit(e.Steered("r1", 1, "x", "op")), "steered by 1 note"),
        (logs.some().emit(e.OperatorEdited("r1", {"kernel.c": "new"})), "your edit of the task folder"),
    ],
)
def test_overview_says_what_is_next_and_why_it_waits(log: logs.Log, says: str) -> None:
    assert says in plain(next_lines(view_of(log), 100))


def test_a_lost_link_comes_first() -> None:
    assert "no link" in plain(next_lines(replace(view_of(logs.running()), link=LinkState("down")), 100))


def test_only_measured_and_failed_iterations_use_the_budget() -> None:
    log = logs.some().begin(6, parent=4).end(6, "skipped", Skipped("op"))
    assert used(log.state.runs["r1"]) == (5, 1)


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def why(id: str, view: View) -> str:
    return reason(BY_ID[id], view)


def test_every_action_has_its_own_keys() -> None:
    keys = [key for action in ACTIONS for key in action.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert len(BY_ID) == len(ACTIONS)


def test_a_read_only_screen_may_look_but_not_act() -> None:
    view = replace(view_of(logs.held()), read_only=True)
    for action in ACTIONS:
        forbidden = action.pick is not None and action.group != "Recording"  # without one, that is the reason
        assert ("read-only" in reason(action, view)) == forbidden, action.id


def test_without_a_link_no_command_can_be_given() -> None:
    view = replace(view_of(logs.running()), link=LinkState("down"))
    commands = [action for action in ACTIONS if action.pick is not None and action.group != "Recording"]
    assert all("no link" in reason(action, view) for action in commands)


def test_what_cannot_be_done_says_why() -> None:
    some, running = view_of(logs.some()), view_of(logs.running())
    assert why("pause", some) == ""
    assert why("resume", some) == "r1 is not paused"
    assert why("pause", view_of(logs.paused())) == "r1 is paused already"
    assert why("resume", view_of(logs.ended())) == ENDED
    assert why("resume", view_of(logs.held())) == ""
    assert why("skip", some) == "r1 has no iteration under way"
    assert why("skip", running) == ""
    assert why("accept", running) == "r1.6 is still under way"
    assert why("accept", view_of(logs.some(), TreePosition(logs.TASK, "r1", 4))) == "r1.4 is the incumbent already"
    assert "never timed" in why("accept", view_of(logs.some(), TreePosition(logs.TASK, "r1", 2)))
    assert "was accepted before" in why("accept", view_of(logs.some(), TreePosition(logs.TASK, "r1", 1)))
    assert why("accept", view_of(logs.some(), TreePosition(logs.TASK, "r1", 3))) == ""
    assert "never accepted" in why("rollback", view_of(logs.some(), TreePosition(logs.TASK, "r1", 3)))
    assert why("rollback", view_of(logs.some(), TreePosition(logs.TASK, "r1", 0))) == ""
    assert why("stop", view_of(logs.ended())) == ENDED
    assert why("run", view_of(logs.empty())).startswith("there is no task yet")
    assert why("memo", view_of(logs.no_runs())) == "no iteration is selected"


def test_a_refused_task_cannot_be_run() -> None:
    card = replace(logs.no_runs().state.tasks[logs.TASK], error="task.toml:3: unknown key 'itterations'")
    view = view_of(logs.no_runs().emit(e.TaskLoaded(card)))
    assert "is refused" in why("run", view)
    assert "task.toml:3" in plain(overview.lines(view, 60, 20))


def test_the_memo_goes_to_the_edit_that_lacks_one_unless_another_was_chosen() -> None:
    log = logs.edited().at_step(7, "build", "PREFETCH=64", parent=6)
    assert confirm.memo_target(view_of(log)) == "r1.6"
    assert confirm.memo_target(view_of(log, TreePosition(logs.TASK, "r1", 3), following=False)) == "r1.3"
    assert "r1.6 is your edit" in plain(bars.prompt(view_of(log), 80))
    given = view_of(log.emit(e.MemoGiven("r1", 6, "unrolled by hand", "op")))
    assert bars.prompt(given, 80) == []


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("log", [logs.empty(), logs.running(), logs.paused(), logs.held(), logs.ended()])
def test_the_bars_fit_and_the_footer_always_ends_with_the_way_out(log: logs.Log, width: int) -> None:
    view = view_of(log)
    for draw in (bars.header, bars.banner, bars.tabs, bars.prompt, bars.footer):
        assert all(line.cell_length <= width for line in draw(view, width)), draw.__name__
    assert plain(bars.footer(view, width)).endswith("? help  q detach")


def test_the_banner_names_what_matters_most() -> None:
    down = LinkState("down", "no daemon runs for this workspace", "kpd start")
    assert "kpd start" in plain(bars.banner(replace(view_of(logs.held()), link=down), 80))
    assert "r releases it" in plain(bars.banner(view_of(logs.held()), 80))
    assert "r resumes it" in plain(bars.banner(view_of(logs.paused()), 80))
    assert bars.banner(view_of(logs.running()), 80) == []
    assert "full" in plain(bars.banner(view_of(logs.running().emit(e.Noticed("error", Said("the disk is full")))), 80))
    assert bars.banner(view_of(logs.running().emit(e.Noticed("error", Said("old"))).begin(7)), 80) == []


def test_the_header_shows_how_far_the_iteration_is() -> None:
    assert "6/10" in plain(bars.header(view_of(logs.running()), 80))
    assert "idle" in plain(bars.header(view_of(logs.ended()), 80))
    assert plain(bars.header(View(state=State()), 80)).strip().endswith("connecting")
