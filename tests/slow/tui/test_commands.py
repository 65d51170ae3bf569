"""Keys that become commands of the cockpit: review, undo, again, budget, agent, rules, the queue."""

from typing import Any

import pytest

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.notices import Said
from kpd.model.waits import PausedBy
from kpd.operations.catalogue import OPERATIONS
from kpd.operations.checking import checked
from kpd.operations.reviews import SetReview
from kpd.operations.runs import ResumeRun
from kpd.operations.terms import ChangeAgent, SetRule
from kpd.subscription import DaemonError
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed, app_on, settled
from tests.support.tui.pressing import Commands, keys_become, type_keys
from tests.support.tui.views import ENDED, plain, view_of
from tui.actions import answers
from tui.actions.action import reason
from tui.actions.table import BY_ID
from tui.model.outline import TreePosition
from tui.model.view import View
from tui.panes import bars
from tui.screens.form import FormScreen
from tui.screens.question import QuestionScreen
from tui.widgets.lines import Lines


def waiting(gate: bool = True) -> logs.Log:
    """A candidate of r1 that waits for a person."""
    log = logs.some()
    if gate:
        log.emit(e.ReviewSet("r1", True, "op"))
    log.begin(6, parent=4).steps("r1", 6, *logs.proposed("r1", 6, "UNROLL=16: does the loop still fit?")[:2])
    return log.emit(e.ReviewAsked("r1", 6))


def queued() -> logs.Log:
    log = logs.running()
    for run in ("r2", "r3", "r4"):
        log.emit(e.RunQueued(run, logs.TASK, "sweep", "local", Budget(), "op"))
    return log


def rolled_back() -> logs.Log:
    return logs.some().emit(e.RolledBack("r1", 1, logs.files("r1", 1), "op"))


def on_a_gpu() -> logs.Log:
    log = logs.Log().daemon().tasks()
    log.emit(e.RunQueued("r1", logs.TASK, "sweep", "local", Budget(), "op"))
    return log.emit(e.RunStarted("r1", "H100", device_id="GPU-1")).baseline()


WAITING: list[tuple[list[str], Commands]] = [
    (["y"], [("approve", {"iteration": "r1.6"})]),
    (["D", "escape"], []),
    (["D", "enter"], [("decline", {"iteration": "r1.6", "reason": ""})]),
    (["D", "type:keep the epsilon", "enter"], [("decline", {"iteration": "r1.6", "reason": "keep the epsilon"})]),
    (["g", "n"], []),  # it would let the candidate go on
    (["g", "y"], [("review", {"run": "r1", "on": False})]),
    (["down", "y"], [("approve", {"iteration": "r1.6"})]),
]
MEASURED: list[tuple[list[str], Commands]] = [
    (["t"], [("again", {"iteration": "r1.5", "thorough": False})]),
    (["M"], [("again", {"iteration": "r1.5", "thorough": True})]),
    (["g"], [("review", {"run": "r1", "on": True})]),
    (["u", "escape"], []),
    (["3", "P"], [("rule", {"run": "r1", "rule": "far_below_bandwidth", "stand": "pinned"})]),
    (["tab", "down", "N"], [("rule", {"run": "r1", "rule": "not_vectorised", "stand": "banned"})]),
    (["1", "P"], []),
]
CHANGED: list[tuple[list[str], Commands]] = [
    (["B", "enter"], []),
    (["B", "escape"], []),
    (["B", "type:0", "enter"], [("budget", {"run": "r1", "iterations": 80})]),
    (["B", "type:x", "enter", "escape"], []),
    (["B", "down", "down", "backspace", "type:0.5", "down", "type:250", "enter"],
     [("budget", {"run": "r1", "min_gain_pct": 0.5, "stop_score": 250.0})]),
    (["A", "type:,claude", "down", "type:claude-x", "enter"],
     [("agent", {"run": "r1", "agent": "sweep,claude", "model": "claude-x"})]),
]  # fmt: skip
QUEUED: list[tuple[list[str], Commands]] = [
    (["K"], []),
    (["home", "down", "K"], [("move", {"run": "r4", "to": "up"})]),
    (["J"], []),
    (["down", "J"], [("move", {"run": "r3", "to": "down"})]),
]


@pytest.mark.parametrize(
    ("log", "acts"),
    [
        (waiting(), WAITING), (logs.some(), MEASURED), (logs.running(), CHANGED), (queued(), QUEUED),
        (rolled_back(), [(["u", "y"], [("undo", {"run": "r1"})]), (["u", "enter", "n"], [])]),
        (on_a_gpu(), [(["F"], [("profile", {"iteration": "r1.0"})])]),
    ],
    ids=["waiting", "measured", "changed", "queued", "rolled back", "profile"],
)  # fmt: skip
async def test_keys_become_commands(log: logs.Log, acts: list[tuple[list[str], Commands]]) -> None:
    await keys_become(log, acts)


EVERY = [one for acts in (WAITING, MEASURED, CHANGED, QUEUED) for _, sent in acts for one in sent]


@pytest.mark.parametrize(
    ("verb", "args"), [*EVERY, ("undo", {"run": "r1"}), ("edit", {"run": "r1", "files": {"k": "x"}})]
)
def test_the_daemon_takes_what_the_keys_send(verb: str, args: dict[str, Any]) -> None:
    known = checked(OPERATIONS[verb], args)
    assert {name: getattr(known, name) for name in args} == args


async def said(log: logs.Log, *keys: str, **given: Any) -> str:
    """What the status line says after the keys."""
    feed = CannedFeed(log, given.get("refuse"))
    feed.on_command = given.get("on_command", feed.on_command)
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await type_keys(pilot, keys)
        await settled(pilot)
        return app.view.said.text if app.view.said is not None else ""


async def test_what_was_done_is_said() -> None:
    moved = await said(queued(), "home", "down", "K", on_command=lambda verb, args: {"run": args["run"], "place": 2})
    assert moved == "r4 is number 2 in the queue"
    undone = await said(rolled_back(), "u", "y", on_command=lambda verb, args: {"run": "r1", "iteration": 4})
    assert undone == "r1.4 is the incumbent again"


R1 = {"run": "r1"}


def test_what_was_done_depends_on_what_was_asked_for() -> None:
    assert SetReview(run="r1", on=True).told(R1) == "candidates of r1 wait for your review before they are built"
    assert SetReview(run="r1", on=False).told(R1) == "candidates of r1 are built without waiting for you"
    assert SetRule(rule="spills", stand="pinned").told(R1) == "spills is pinned: agents hear of it first"
    assert SetRule(rule="spills", stand="plain").told(R1) == "spills is neither pinned nor banned now"
    assert ChangeAgent(model="small").told(R1) == "r1: the model small from the next iteration on"
    assert ChangeAgent(agent="sweep").told(R1) == "r1: sweep from the next iteration on"
    keeps = "r1.2 keeps its own to its end: kpd skip r1.2 gives it up"
    assert (
        ChangeAgent(agent="sweep").told({**R1, "keeps": ["r1.2"]}) == f"r1: sweep from the next iteration on; {keeps}"
    )
    assert ResumeRun().told({"run": None}) == "the queue goes on"


def test_a_full_profile_says_what_it_left() -> None:
    found = {"run": "r1", "iteration": 0, "metrics": {"gbs": 1.0, "sm_pct": 2.0}, "files": ["full.ncu-rep"]}
    assert answers.profiled(found).text == "r1.0 is profiled: 2 metrics, and full.ncu-rep in its folder"
    assert "use one version" in answers.profiled({}).text


async def test_a_daemon_that_is_too_old_for_an_act_is_named_as_that() -> None:
    refuse = {"review": DaemonError("no_command", "no command 'review'", "commands: run, pause")}
    assert "older than this screen" in await said(logs.some(), "g", refuse=refuse)
    gone = {"again": DaemonError("unknown", "there is no iteration r1.5")}
    assert await said(logs.some(), "t", refuse=gone) == "try again: there is no iteration r1.5"


def cpu() -> logs.Log:
    log = logs.Log().daemon().tasks().emit(e.RunQueued("r1", logs.TASK, "sweep", "local", Budget(), "op"))
    return log.emit(e.RunStarted("r1", "Xeon", device_id="cpu")).baseline()


NOTHING_TO_UNDO = (
    "there is nothing to undo in r1: since then kpd has accepted something itself, or nobody has decided anything"
)
UNTIMED = "r1.2 was never timed: it did not build, or its results are wrong"
R4, LAST = TreePosition(logs.TASK, "r4"), TreePosition(logs.TASK, "r1", 5)


@pytest.mark.parametrize(
    ("id", "view", "why"),
    [
        ("approve", view_of(logs.running()), "no candidate waits for your review"),
        ("approve", view_of(waiting()), ""),
        ("retry", view_of(logs.running()), "r1.6 is still under way"),
        ("retry", view_of(logs.ended()), ENDED),
        ("remeasure", view_of(logs.some()), ""),
        ("profile", view_of(cpu()), "r1.0 was measured on a CPU: its profile is all there is"),
        (
            "profile",
            view_of(logs.some(), TreePosition(logs.TASK, "r1", 2)),
            "r1.2 was never timed: it did not build, or its results are wrong",
        ),
        ("budget", view_of(logs.ended()), ENDED),
        ("undo", view_of(logs.some()), NOTHING_TO_UNDO),
        ("undo", view_of(rolled_back()), ""),
        ("pin", view_of(logs.some()), "choose a rule in the Rules tab"),
        ("pin", view_of(logs.some(), tab="rules"), "no rule has fired here"),
        ("move_up", view_of(logs.some()), "r1 has begun: only what is queued can be moved"),
        ("move_down", view_of(queued(), R4), "r4 is the last in the queue already"),
        ("move_up", view_of(queued(), R4), ""),
        ("compare", view_of(logs.some()), "no iteration is marked"),
        ("compare", view_of(logs.some(), mark=LAST), "r1.5 is the marked one: select another to compare it with"),
        ("compare", view_of(logs.some(), mark=TreePosition("other", "r9", 1)), "r9.1 belongs to the task other"),
        ("next_hunk", view_of(logs.some()), "hunks are in the Diff tab"),
        ("clear", view_of(logs.some()), "there is no filter, no search and no warning"),
        ("edit", view_of(logs.no_runs()), "no run is selected"),
        ("edit", view_of(logs.no_runs().run()), "r1 has no incumbent yet"),
        ("edit", view_of(logs.running()), ""),
        ("copy_kernel", view_of(logs.no_runs()), "no iteration is selected that has files"),
        ("open_folder", view_of(logs.empty()), "nothing is selected that has a folder"),
    ],
)
def test_what_cannot_be_done_says_why(id: str, view: View, why: str) -> None:
    assert reason(BY_ID[id], view) == why


async def test_two_candidates_that_wait_are_told_apart_by_the_selection() -> None:
    log = waiting()
    log.run("r2", "transpose_cpu").baseline("r2").begin(1, "r2")
    log.steps("r2", 1, *logs.proposed("r2", 1, "tiles")[:2]).emit(e.ReviewAsked("r2", 1))
    feed = CannedFeed(log)
    app = app_on(feed)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("y")
        await settled(pilot)
        await pilot.press("home", "y")
        await settled(pilot)
        assert app.view.said is not None
        assert app.view.said.text == "approve: r1.6 and r2.1 wait: select one of them"
        banner = app.query_one("#banner", Lines).lines[0].plain
        assert "r1.6 and r2.1 wait for your review" in banner
    assert feed.commands == [("approve", {"iteration": "r2.1"})]


async def test_the_diff_of_a_candidate_that_waits_comes_to_the_front_once_for_whoever_follows() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        feed.play(waiting(gate=False).events[i].fact for i in range(len(feed.log.events), len(waiting().events) - 1))
        await settled(pilot)
        assert (app.view.at, app.view.tab) == (TreePosition(logs.TASK, "r1", 6), "diff")
        assert "y approves, D declines" in app.query_one("#banner", Lines).lines[0].plain
        assert app.query_one("#footer", Lines).lines[0].plain.startswith("  y approve  D decline")
        await pilot.press("1")
        feed.play([e.Noticed("info", Said("news"))])
        await settled(pilot)
        assert app.view.tab == "overview", "once is enough"


async def test_whoever_looks_elsewhere_is_not_disturbed_by_a_candidate_that_waits() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("down", "2")
        feed.play(event.fact for event in waiting(gate=False).events[len(feed.log.events) :])
        await settled(pilot)
        assert (app.view.at.iteration, app.view.tab) == (4, "metrics")
        assert "r1.6 waits" in app.query_one("#banner", Lines).lines[0].plain


async def test_a_rollback_shows_its_diff_and_asks_the_daemon_for_that_against_the_incumbent() -> None:
    feed = CannedFeed(logs.some())
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*["down"] * 4, "b")
        await settled(pilot)
        text = [line.plain for line in app.screen.query_one(Lines).lines]
        assert "r1.4 → r1.1" in text
        assert any(line.endswith("+         float s[UNROLL] = {0};") for line in map(str.rstrip, text))
    assert ("diff", {"iteration": "r1.1", "against": "r1.4"}) in feed.queries


async def test_a_rollback_can_be_decided_where_its_diff_cannot_be_had() -> None:
    feed = CannedFeed(logs.some(), {"diff": DaemonError("infra", "the disk is gone", "look at it")})
    app = app_on(feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*["down"] * 4, "b")
        await settled(pilot)
        assert isinstance(app.screen, QuestionScreen)
        assert "the disk is gone" in " ".join(line.plain for line in app.screen.query_one(Lines).lines)
        await pilot.press("y")
        await settled(pilot)
    assert feed.commands == [("rollback", {"iteration": "r1.1"})]


async def test_a_form_says_what_is_wrong_and_stays() -> None:
    app = app_on(CannedFeed(logs.running()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await type_keys(pilot, ["B", "type:x", "enter"])
        await settled(pilot)
        assert isinstance(app.screen, FormScreen)
        text = " ".join(line.plain for line in app.screen.query_one(Lines).lines)
        assert "iterations: '8x' is not a whole number from 1 on" in text


async def test_acts_of_other_operators_are_told_and_ones_own_are_not() -> None:
    feed = CannedFeed(logs.running())
    app = app_on(feed)
    app._me = "ada@here:pts/1"
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        feed.play([e.RunPaused("r1", PausedBy("ada@here:pts/1"), "ada@here:pts/1")])
        await settled(pilot)
        assert app.view.said is None
        feed.play([e.RunResumed("r1", "bob@there:pts/9")])
        await settled(pilot)
        assert "» bob@there:pts/9 resumes r1" in app.query_one("#prompt", Lines).lines[0].plain
        await pilot.press("p")
        feed.play([e.Steered("r1", 1, "wider tiles", "bob@there:pts/9")])
        await settled(pilot)
        assert app.view.said is not None
        said = app.view.said.text
        assert said == "r1 is paused; a step that it is at is finished first", "the answer to one's own act stays"


def test_the_footer_names_the_review_first_and_only_while_there_is_one() -> None:
    assert plain(bars.footer(view_of(waiting()), 80)).startswith("  y approve  D decline")
    assert "approve" not in plain(bars.footer(view_of(logs.running()), 200))
