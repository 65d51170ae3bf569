"""What each fact changes of its run and its iteration: this, and nothing else."""

from dataclasses import fields, replace
from typing import Any

import pytest

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Skipped, Stopped
from kpd.model.fact import Fact
from kpd.model.fold import fold
from kpd.model.hosts import HostCard
from kpd.model.iteration import Expectation, Iteration, Override, Remeasure
from kpd.model.kinds import Told
from kpd.model.notices import Said
from kpd.model.profiles import Finding
from kpd.model.run import Run, Steering
from kpd.model.spending import OpenCall, Spend, Usage
from kpd.model.state import Notice, State, TaskCard
from kpd.model.status import Done, Ended, Paused, Queued, Running, RunStatus, Stepping
from kpd.model.verdicts import Gain, Verdict
from kpd.model.waits import DiskTrouble, EditedDuring, ForTask, ForTurn, PausedBy
from tests.support.model.samples import done

AT = 50.0
VERDICT = Verdict("faster", Gain(5.0, 4.0, 6.0, 0.99), 7, True, "told", told="")
TURN, FREE, DISK = ForTurn("box", "r7"), ForTask("r0", "t"), DiskTrouble("full")
NOTE = Steering(1, "try tiles", "ada", 1.0)
USAGE = Usage(10, 0, 0, 5)
OTHER = Run("r0", "t", "sweep", "local", Budget(), 0.0, turn=7)
RUN = Run(
    "r1", "t", "claude", "any", Budget(), 0.0, status=Running(), incumbent=1, before=4, model="m1", asked=3, turn=5,
    steering=(NOTE,), stands={"low_ipc": "pinned", "tail_effect": "banned"}, again=(Remeasure(1, False, "ada"),),
    pending_edit={"kernel.c": "new"}, conflict=EditedDuring(2), folder={"kernel.c": "old"}, approve=True,
    calls=(OpenCall(3, 2, "propose", "m1", 0.5),),
    iterations=(
        Iteration(1, "baseline", 0, 1.0, status=done("baseline")),
        Iteration(2, "claude", 1, 2.0, status=Stepping(attempt=3)),
    ),
)  # fmt: skip
BOX, FAR = HostCard("box", "ssh"), HostCard("far", "ssh")
CARD, OTHER_CARD = TaskCard("t"), TaskCard("u")
STATE = State(seq=9, at=9.0, runs={"r0": OTHER, "r1": RUN})


def changed(fact: Fact, state: State = STATE) -> dict[str, Any]:
    """The fields of r1, and of its iteration 2 with a dot before them, that the fact gives another value."""
    after = fold(state, e.Event(state.seq + 1, AT, fact))
    assert (after.seq, after.at) == (state.seq + 1, AT)
    assert after.runs["r0"] == OTHER
    before, run = state.runs["r1"], after.runs["r1"]
    found = {field.name: getattr(run, field.name) for field in fields(run)
             if getattr(run, field.name) != getattr(before, field.name)}  # fmt: skip
    old, new = before.iteration(2), run.iteration(2)
    if "iterations" in found and old is not None and new is not None and old != new:
        assert [it for it in run.iterations if it.number != 2] == [it for it in before.iterations if it.number != 2]
        del found["iterations"]
        found |= {f".{field.name}": getattr(new, field.name) for field in fields(new)
                  if getattr(new, field.name) != getattr(old, field.name)}  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("fact", "changes"),
    [
        # an operator's
        (e.Steered("r1", 2, "unroll", "bob"), {"steering": (NOTE, Steering(2, "unroll", "bob", AT))}),
        (e.Steered("r1", 1, "unroll", "bob"), {"steering": (Steering(1, "unroll", "bob", AT),)}),
        (e.Steered("r1", 1, ""), {"steering": ()}),
        (e.Steered("r1", 9, ""), {}),
        (e.SteeringConsumed("r1", (1,), 2), {"steering": (replace(NOTE, consumed_by=2),)}),
        (e.SteeringConsumed("r1", (9,), 2), {}),
        (e.RolledBack("r1", 2, {"kernel.c": "x"}), {"incumbent": 2, "files": {"kernel.c": "x"}, "before": 1}),
        (e.RolledBack("r1", 1, {"kernel.c": "x"}), {"files": {"kernel.c": "x"}}),
        (e.MemoGiven("r1", 2, "tiles"), {".memo": "tiles", ".memo_given": True}),
        (e.ReviewSet("r1", False), {"approve": False}),
        (e.ReviewAsked("r1", 2), {".review": "waits"}),
        (e.Approved("r1", 2), {".review": "approved"}),
        (e.Declined("r1", 2), {".review": "declined"}),
        (e.BudgetChanged("r1", Budget(9)), {"budget": Budget(9)}),
        (e.AgentChanged("r1", "sweep", "m2"), {"agent": "sweep", "model": "m2"}),
        (e.RuleSet("r1", "low_ipc", "banned"), {"stands": {"tail_effect": "banned", "low_ipc": "banned"}}),
        (e.RuleSet("r1", "low_ipc", "plain"), {"stands": {"tail_effect": "banned"}}),
        (e.AgainAsked("r1", 2, True, "bob"), {"again": (Remeasure(1, False, "ada"), Remeasure(2, True, "bob"))}),
        (e.QueueOrdered(("r1",)), {"turn": -1}),
        (e.QueueOrdered(("r1", "r9")), {"turn": -2}),
        # a run's
        (e.TaskPinned("r1", {"h.c": "1"}, {"k.c": "2"}), {"pinned": {"h.c": "1"}, "folder": {"k.c": "2"}}),
        (e.FolderKnown("r1", {"k.c": "2"}), {"folder": {"k.c": "2"}, "pending_edit": {}, "conflict": None}),
        (e.BaselineStale("r1", ("h.c",)), {"stale": ("h.c",)}),
        (
            e.OperatorEdited("r1", {"k.c": "3"}, EditedDuring(3)),
            {"pending_edit": {"k.c": "3"}, "folder": {"k.c": "3"}, "conflict": EditedDuring(3)},
        ),
        (e.RunWaits("r1", TURN), {"status": Running(TURN)}),
        (e.RunPaused("r1", PausedBy("ada"), "ada"), {"status": Paused(PausedBy("ada"))}),
        (e.RunPaused("r1", DISK, infra=True), {"status": Paused(DISK, infra=True)}),
        (e.RunResumed("r1"), {}),
        (e.RunEnded("r1", "stopped", Stopped("ada")), {"status": Ended("stopped", Stopped("ada"), AT), "again": ()}),
        # an iteration's
        (e.StepStarted("r1", 2, "build", 4), {".status": Stepping("build", AT, attempt=4)}),
        (
            e.Proposed("r1", 2, 1, 0.1, {}, "memo", Expectation("ipc", "up"), {"U": "2"}, ("low_ipc",), {"V": ()}),
            {
                ".memo": "memo", ".expected": Expectation("ipc", "up"), ".point": {"U": "2"}, ".aims": ("low_ipc",),
                ".tune": {"V": ()},
            },
        ),
        (
            e.IterationEnded("r1", 2, "skipped", Skipped("ada"), exhausted=True),
            {".status": Done("skipped", Skipped("ada"), AT, exhausted=True)},
        ),
        (e.Screened("r1", 2, 1, 0.1, ("odd",)), {".flags": ("odd",)}),
        (e.Timed("r1", 2, 1, 0.1, 12.5, 7, (), roofline_pct=40.0), {".score": 12.5, ".roofline_pct": 40.0}),
        (e.Judged("r1", 2, 1, 0.1, VERDICT), {".verdict": VERDICT}),
        (
            e.Explained("r1", 2, 1, 0.1, "memory bound", (Finding("low_ipc", "low", "", ""),)),
            {".bottleneck": "memory bound", ".rules": ("low_ipc",)},
        ),
        (e.Accepted("r1", 2, {"k.c": "5"}), {"incumbent": 2, "files": {"k.c": "5"}, "before": None}),
        (
            e.Accepted("r1", 2, {"k.c": "5"}, Override("ada", "I like it")),
            {"incumbent": 2, "files": {"k.c": "5"}, "before": 1, ".override": Override("ada", "I like it")},
        ),
        # money
        (
            e.Asked("r1", 2, 4, "again", "m1", 0.2),
            {"asked": 4, "calls": (*RUN.calls, OpenCall(4, 2, "again", "m1", 0.2))},
        ),
        (e.Asked("r1", 2, 2, "again", "m1"), {"calls": (*RUN.calls, OpenCall(2, 2, "again", "m1", None))}),
        (
            e.Billed("r1", 2, "propose", "m1", USAGE, 0.3, call=3),
            {"calls": (), "spend": Spend(1, USAGE, 0.3), ".spend": Spend(1, USAGE, 0.3)},
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Fact) else "",
)  # fmt: skip
def test_a_fact_changes_what_it_says_and_nothing_else(fact: Fact, changes: dict[str, Any]) -> None:
    assert changed(fact) == changes


@pytest.mark.parametrize("fact", [e.Screened("r1", 2, 1, 0.1), e.Faulted("r1", 2, "time", 1, Told("wrong"))])
def test_a_step_that_is_over_leaves_the_device_and_keeps_its_place(fact: Fact) -> None:
    at = replace(RUN.iterations[1], status=Stepping("time", 7.0, "measures", 2))
    state = replace(STATE, runs={"r0": OTHER, "r1": replace(RUN, iterations=(RUN.iterations[0], at))})
    assert changed(fact, state) == {".status": Stepping("time", 7.0, "", 2)}


@pytest.mark.parametrize(
    ("before", "fact", "after"),
    [
        (Running(TURN), e.RunWaits("r1", None), Running()),
        (Queued(TURN), e.RunWaits("r1", FREE), Queued(FREE)),
        (Paused(DISK, infra=True), e.RunWaits("r1", TURN), Paused(DISK, True, TURN)),
        (Running(TURN), e.RunPaused("r1", PausedBy("ada")), Paused(PausedBy("ada"), wait=TURN)),
        (Running(TURN), e.RunPaused("r1", DISK, infra=True), Paused(DISK, infra=True)),
        (Paused(PausedBy("ada"), wait=TURN), e.RunResumed("r1"), Running(TURN)),
        (Paused(DISK, infra=True), e.RunResumed("r1"), Running()),
    ],
)
def test_a_status_takes_what_it_waits_for_along(before: RunStatus, fact: Fact, after: RunStatus) -> None:
    state = replace(STATE, runs={"r0": OTHER, "r1": replace(RUN, status=before)})
    assert changed(fact, state) == {"status": after}


def test_an_end_takes_neither_the_wait_nor_what_was_still_to_be_measured_along() -> None:
    state = replace(STATE, runs={"r0": OTHER, "r1": replace(RUN, status=Paused(DISK, wait=TURN))})
    ended = {"status": Ended("no_gain", Told("x"), AT), "again": ()}
    assert changed(e.RunEnded("r1", "no_gain", Told("x")), state) == ended


def test_who_has_ended_waits_no_more() -> None:
    state = replace(STATE, runs={"r0": OTHER, "r1": replace(RUN, status=Ended("failed", Told("x"), 1.0))})
    assert changed(e.RunWaits("r1", TURN), state) == {}


@pytest.mark.parametrize(("edit", "again"), [("", None), ("e1", None), ("", 1)])
def test_an_iteration_takes_what_it_begins_with(edit: str, again: int | None) -> None:
    wishes = (Remeasure(1, False, "ada"), Remeasure(1, True, "bob"))
    state = replace(STATE, runs={"r0": OTHER, "r1": replace(RUN, iterations=RUN.iterations[:1], again=wishes)})
    begun = Iteration(2, "claude", 1, AT, edit=edit, again=again, thorough=True)
    expected: dict[str, Any] = {"iterations": (*RUN.iterations[:1], begun)}
    expected |= {"pending_edit": {}, "conflict": None} if edit else {}
    expected |= {} if again is None else {"again": wishes[1:]}
    assert changed(e.IterationStarted("r1", 2, "claude", 1, edit, again, True), state) == expected


@pytest.mark.parametrize("host", ["", "box"])
def test_a_run_begins_on_its_device(host: str) -> None:
    queued = replace(RUN, status=Queued(Told("a device")))
    state = replace(STATE, runs={"r0": OTHER, "r1": queued})
    assert changed(e.RunStarted("r1", "H100", host, "GPU-1"), state) == {
        "status": Running(), "started": AT, "clock": AT, "device": "H100", "device_id": "GPU-1",
    } | ({"host": "box"} if host else {})  # fmt: skip


def test_bills_are_counted_by_day_and_a_refused_call_costs_nothing() -> None:
    billed = e.Billed("r1", 2, "propose", "m1", USAGE, 0.3, call=3)
    once = fold(STATE, e.Event(10, AT, billed))
    twice = fold(once, e.Event(11, 86_400.0, billed))
    twice = fold(twice, e.Event(12, 86_401.0, billed))
    assert [spend.calls for _, spend in sorted(twice.days.items())] == [1, 2]
    assert changed(e.Billed("r1", 2, "propose", "m1", Usage(), 0.0, call=3)) == {"calls": ()}


def test_a_fault_takes_what_was_measured_and_leaves_what_the_agent_said() -> None:
    measured = {"score": 1.0, "verdict": VERDICT, "bottleneck": "memory", "rules": ("low_ipc",), "flags": ("odd",)}
    more = {"roofline_pct": 9.0, "review": "waits", "memo": "tiles", "status": Stepping("check")}
    found = replace(RUN.iterations[1], **measured, **more)
    state = replace(STATE, runs={"r0": OTHER, "r1": replace(RUN, iterations=(RUN.iterations[0], found))})
    assert changed(e.Faulted("r1", 2, "check", 1, Told("wrong")), state) == {
        ".flags": (), ".score": None, ".roofline_pct": None, ".verdict": None, ".bottleneck": "", ".rules": (),
        ".review": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "changes"),
    [
        ((e.DaemonStarted("2.0", 77, "/ws"),), {"version": "2.0", "pid": 77, "workspace": "/ws"}),
        ((e.DaemonStarted("2.0", 77, "/ws"), e.DaemonStopped()), {"version": "2.0", "workspace": "/ws"}),
        ((e.QueueHeld(Told("a crash")),), {"held": Told("a crash")}),
        ((e.QueueHeld(Told("a crash")), e.QueueReleased("ada")), {}),
        ((e.HostProbed(BOX), e.HostProbed(FAR), e.HostRemoved("box")), {"hosts": {"far": FAR}}),
        ((e.TaskLoaded(CARD), e.TaskLoaded(OTHER_CARD), e.TaskRemoved("t")), {"tasks": {"u": OTHER_CARD}}),
        ((e.Noticed("error", Said("disk")),), {"notices": (Notice(AT, "error", Said("disk")),)}),
    ],
)
def test_a_fact_of_the_workspace_leaves_the_runs_alone(facts: tuple[Fact, ...], changes: dict[str, Any]) -> None:
    state = STATE
    for seq, fact in enumerate(facts, STATE.seq + 1):
        state = fold(state, e.Event(seq, AT, fact))
    assert state == replace(STATE, seq=STATE.seq + len(facts), at=AT, **changes)


def test_a_queued_run_has_what_it_was_asked_for_with() -> None:
    state = fold(STATE, e.Event(10, AT, e.RunQueued("r2", "t", "sweep", "box", Budget(3), approve=True)))
    assert state.runs["r2"] == Run("r2", "t", "sweep", "box", Budget(3), AT, approve=True)
    assert list(state.runs) == ["r0", "r1", "r2"]
