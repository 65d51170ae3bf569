"""Work that could go on and does not: told once, when it has lasted, and again only after it was over."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from kpd.daemon import alert
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.daemon.watchdog_timer import EVERY_S, WatchdogTimer
from kpd.engine.watchdog import GAP_S, LEAST_STALL_S, Watchdog, idle_devices, steps_under_way, usual_s
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Stopped
from kpd.model.fold import fold_all
from kpd.model.hosts import Device, HostCard
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.notices import QueueIsHeld, Said
from kpd.model.run import Run
from kpd.model.state import State, TaskCard
from kpd.model.status import Paused, Queued, Running, Stepping
from kpd.model.waits import DiskTrouble, ForApproval, ForTurn, PausedBy
from kpd.text.notices import notice, watchdog_notice
from kpd.text.waits import idle_reason
from kpd.workspace.config import NotifyConfig
from tests.support.drawn import examples
from tests.support.model.samples import done
from tests.support.model.strategies import logs

CPU = Device("cpu", "cpu", "EPYC", "x86_64")
H100 = Device("GPU-1", "gpu", "NVIDIA H100", "sm_90")
HOSTS = {
    "local": HostCard("local", "local", devices=(CPU,)),
    "box": HostCard("box", "ssh", link="down", error="box: no route", devices=(CPU, H100)),
}
TASKS = {"t": TaskCard("t", language="c"), "u": TaskCard("u", language="c"), "g": TaskCard("g", language="cuda")}
IDLE_S = 600.0
FULL = DiskTrouble("no space")
BY_ADA, BUSY = Paused(PausedBy("ada")), Queued(Told("local: busy"))


def queued(name: str, task: str = "t", **more: Any) -> Run:
    return Run(name, task, "sweep", more.pop("host", "any"), Budget(), queued=0.0, **more)


def begun(name: str, task: str = "t", **more: Any) -> Run:
    place = {"host": "local", "device": "EPYC", "device_id": "cpu"} | more
    return queued(name, task, started=1.0, **({"status": Running()} | place))


def state(*runs: Run, **more: Any) -> State:
    return State(runs={run.id: run for run in runs}, hosts=HOSTS, tasks=TASKS, **more)


def for_edits(name: str) -> Run:
    """Of an operator, with nothing to measure until they edit."""
    baseline = Iteration(0, "baseline", 0, 0.0, status=done("baseline"))
    return replace(begun(name), agent="operator", iterations=(baseline,), incumbent=0)


def at_step(run: Run, step: str = "time", number: int = 3, use: str = "") -> Run:
    return replace(run, iterations=(Iteration(number, "sweep", 0, 0.0, status=Stepping(step, use=use)),))  # type: ignore[arg-type]


def unknown(run: str, step: str) -> None:
    """How long steps usually take: nobody knows."""


# ── what stands still ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (state(), []),
        (state(begun("r1")), []),
        (state(begun("r1"), queued("r2", "u", host="local")), []),
        (state(begun("r1", status=BY_ADA)), []),
        (
            state(begun("r1", status=Paused(FULL, infra=True)), queued("r2", "u", host="local")),
            [("local", "cpu", ["r1", "r2"], "infrastructure: no space")],
        ),
        (state(for_edits("r1")), []),  # whoever began it knows
        (
            state(for_edits("r1"), queued("r2", "u", host="local")),
            [("local", "cpu", ["r2"], "r2 has not begun")],
        ),
        (
            state(begun("r1", status=Running(Told("needs your approval")))),
            [("local", "cpu", ["r1"], "needs your approval")],
        ),
        (
            state(begun("r1", status=BY_ADA), held=Told("shut down")),
            [("local", "cpu", ["r1"], "the queue is held: shut down")],
        ),
        (state(queued("r1", host="local"), held=Told("disk")), [("local", "cpu", ["r1"], "the queue is held: disk")]),
        (state(queued("r1", "g")), [("box", "GPU-1", ["r1"], "box: no route")]),
        (state(queued("r1", "g", host="local")), []),
        (state(begun("r1"), queued("r2", "t")), []),
        (state(queued("r1", "gone"), held=Told("disk")), []),
        (state(begun("r1", status=Running(ForTurn("local", "r2"))), at_step(begun("r2", "u"), use="measures")), []),
        (state(begun("r1", status=Paused(PausedBy("ada"), infra=True)), at_step(begun("r2", "u"), use="measures")), []),
        (state(at_step(begun("r1"), use="thinks")), []),
        (
            state(at_step(begun("r1"), use="thinks"), queued("r2", "u", host="local", status=BUSY)),
            [("local", "cpu", ["r2"], "local: busy")],
        ),
        (
            state(begun("r1", status=BY_ADA), queued("r2", "u", host="local")),
            [("local", "cpu", ["r2"], "r2 has not begun")],
        ),
        (state(at_step(begun("r1", status=BY_ADA), use="measures"), queued("r2", "u", host="local")), []),
    ],
    ids=[
        "nothing", "it goes on", "its device is in use", "a person paused it", "trouble paused it",
        "it waits for an edit", "others wait for that edit, too", "it waits", "held", "held before it began",
        "its host is down", "no device fits", "its task is in use", "its task is gone", "another has its turn",
        "another goes on", "it thinks", "others wait while it thinks", "a person paused it, others wait",
        "paused while it measures",
    ],
)  # fmt: skip
def test_a_device_that_work_waits_for(now: State, found: list[tuple[str, str, list[str], str]]) -> None:
    assert [(one.host, one.device_id, one.runs, idle_reason(one.keeps)) for one in idle_devices(now)] == found


@given(logs)
@settings(max_examples=examples(40))
def test_whatever_happened_can_be_looked_at(events: list[e.Event]) -> None:
    now = fold_all(events)
    places = [(one.host, one.device_id) for one in idle_devices(now)]
    assert len(places) == len(set(places))
    assert {run.status for run, _ in steps_under_way(now)} <= {"running"}


# ── when it is told ───────────────────────────────────────────────────────────────────────────────────────────────


def test_an_idle_device_is_told_once_and_again_after_it_was_used() -> None:
    dog, held, free = Watchdog(), state(begun("r1"), held=Told("disk full")), state(begun("r1"))
    assert dog.look(held, 0, IDLE_S, unknown) == []
    assert dog.look(held, IDLE_S - 1, IDLE_S, unknown) == []
    assert dog.look(held, IDLE_S, IDLE_S, unknown) == [
        e.DeviceIdle("local", "EPYC", "cpu", IDLE_S, ("r1",), QueueIsHeld(Told("disk full")))
    ]
    assert dog.look(held, 50 * IDLE_S, IDLE_S, unknown) == []
    later = 50 * IDLE_S
    assert dog.look(free, later + GAP_S + 1, IDLE_S, unknown) == []
    assert dog.look(held, later + GAP_S + 60, IDLE_S, unknown) == []
    assert len(dog.look(held, later + GAP_S + 60 + IDLE_S, IDLE_S, unknown)) == 1


def test_a_reason_that_counts_seconds_is_no_news_and_another_cause_is() -> None:
    dog = Watchdog()
    told = [
        news
        for at in range(0, 3000, 60)
        for news in dog.look(state(begun("r1", status=Running(Told(f"busy; again in {at} s")))), at, IDLE_S, unknown)
    ]
    assert len(told) == 1
    paused = state(begun("r1", status=Paused(FULL, infra=True)))
    assert [len(dog.look(paused, at, IDLE_S, unknown)) for at in (3000, 3600)] == [0, 1]


def test_agents_that_begin_to_think_again_and_again_leave_no_device_idle() -> None:
    dog, told = Watchdog(), 0
    waits = queued("r2", "u", host="local")
    for minute in range(30):
        thinks = at_step(begun("r1"), use="thinks")
        began = Stepping("propose", 60.0 * minute if minute < 15 else 900.0, "thinks")
        since = replace(thinks.iterations[0], status=began)
        news = dog.look(state(replace(thinks, iterations=(since,)), waits), 60 * minute, IDLE_S, unknown)
        told += sum(isinstance(one, e.DeviceIdle) for one in news)
        assert told == (minute >= 25), "only who thinks for so long without an end keeps it idle"


def test_a_run_that_tries_a_busy_device_now_and_then_waits_all_the_same() -> None:
    dog, told = Watchdog(), 0
    for minute in range(20):
        now = state(begun("r1", status=Running(Told("the GPU is busy") if minute % 2 else None)))
        told += len(dog.look(now, 60 * minute, IDLE_S, unknown))
    assert told == 1


def test_no_device_is_idle_where_nobody_wants_to_know() -> None:
    dog = Watchdog()
    assert [dog.look(state(begun("r1"), held=Told("disk")), at, 0, unknown) for at in (0, 1e6)] == [[], []]


@pytest.mark.parametrize(("usual", "limit"), [(None, LEAST_STALL_S), (2.0, LEAST_STALL_S), (300.0, 3000.0)])
def test_a_step_that_takes_far_longer_than_it_does_is_told_once(usual: float | None, limit: float) -> None:
    dog, now, asked = Watchdog(), state(at_step(begun("r1"))), []

    def usually(run: str, step: str) -> float | None:
        asked.append((run, step))
        return usual

    looks = [dog.look(now, at, IDLE_S, usually) for at in (0.0, limit - 1, limit + 1, 10 * limit)]
    assert looks == [[], [], [e.StepStalled("r1", 3, "time", limit + 1, usual)], []]
    assert set(asked) == {("r1", "time")} and len(asked) == 1, "the log is read once"
    other = state(at_step(begun("r1"), number=4))
    assert dog.look(other, 10 * limit + 1, IDLE_S, usually) == [], "another iteration's step has just begun"


def test_a_step_that_waits_does_not_stall() -> None:
    dog = Watchdog()
    waits = state(at_step(begun("r1", status=Running(Told("box: no link")))))
    kinds = [type(news) for at in range(0, 7200, 60) for news in dog.look(waits, at, IDLE_S, unknown)]
    assert kinds == [e.DeviceIdle]
    assert dog.look(state(at_step(begun("r1"))), 7200, IDLE_S, unknown) == [], "the wait is no part of the step"


def test_what_is_told_says_where_for_how_long_and_why() -> None:
    idle = e.DeviceIdle("box", "NVIDIA H100", "GPU-1", 720.0, ("r1", "r2"), Told("box: no route"))
    assert alert.worth_telling(idle) == (
        "nothing has been measured on NVIDIA H100 of box for 12 min, although r1, r2 could: box: no route"
    )
    stalled = e.StepStalled("r1", 3, "time", 3600.0, 4.25)
    assert alert.worth_telling(stalled) == "r1.3 has been at time for 60 min (usually 4.2 s); kpd skip gives it up"
    assert [alert.held(reason) for reason in (None, Told("no space"))] == [None, "the queue waits for you: no space"]
    after = fold_all([e.Event(1, 0.0, idle), e.Event(2, 0.0, stalled)])
    assert [(one.level, notice(one)) for one in after.notices] == [
        ("warning", watchdog_notice(idle)), ("warning", watchdog_notice(stalled))
    ]  # fmt: skip


# ── when it looks ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Clock:
    """Time that passes when it is told to, with the calls that are to come."""

    now: float = 0.0
    calls: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def later(self, seconds: float, call: Callable[[], None]) -> "Call":
        self.calls.append((self.now + seconds, call))
        return Call(self, self.calls[-1])

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.calls and min(self.calls)[0] <= end:
            self.now, call = first = min(self.calls, key=lambda one: one[0])
            self.calls.remove(first)
            call()
        self.now = end


@dataclass
class Call:
    clock: Clock
    call: tuple[float, Callable[[], None]]

    def cancel(self) -> None:
        self.clock.calls.remove(self.call)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[EventJournal]:
    with EventStore(tmp_path / "events.db") as store:
        yield EventJournal(store)


def watching(journal: EventJournal, clock: Clock, minutes: float = 10.0) -> WatchdogTimer:
    return WatchdogTimer(journal, lambda: NotifyConfig(idle_minutes=minutes), clock.later, lambda: clock.now)


def kinds(journal: EventJournal, *wanted: type[e.Fact]) -> list[e.Fact]:
    return [event.fact for event in journal.events() if isinstance(event.fact, wanted)]


def test_nothing_is_looked_at_while_there_is_no_work(journal: EventJournal) -> None:
    clock = Clock()
    watch = watching(journal, clock)
    journal.emit(e.Noticed("info", Said("hello")))
    assert clock.calls == []
    journal.emit(e.RunQueued("r1", "t", "sweep", "local", Budget()))
    journal.emit(e.Noticed("info", Said("one timer is enough")))
    assert [at for at, _ in clock.calls] == [EVERY_S]
    clock.run(3 * EVERY_S)
    assert len(clock.calls) == 1
    journal.emit(e.RunEnded("r1", "stopped", Stopped("ada")))
    clock.run(EVERY_S)
    assert clock.calls == []
    journal.emit(e.RunQueued("r2", "t", "sweep", "local", Budget()))
    watch.close()
    assert clock.calls == []
    journal.emit(e.Noticed("info", Said("nobody looks any more")))
    assert clock.calls == []


def test_a_run_that_waits_for_a_person_is_told_of_in_the_log(journal: EventJournal) -> None:
    clock = Clock()
    watching(journal, clock)
    journal.emit(e.RunQueued("r1", "t", "claude", "local", Budget()))
    journal.emit(e.RunStarted("r1", "EPYC", "local", "cpu"))
    clock.run(300)
    journal.emit(e.RunWaits("r1", ForApproval("r1", 2)))
    clock.run(9 * EVERY_S)
    assert kinds(journal, e.DeviceIdle) == []
    clock.run(3 * EVERY_S)
    clock.run(100 * EVERY_S)
    assert kinds(journal, e.DeviceIdle) == [e.DeviceIdle("local", "EPYC", "cpu", 600.0, ("r1",), ForApproval("r1", 2))]


def test_the_usual_time_of_a_step_is_the_median_of_the_runs_own(journal: EventJournal) -> None:
    clock = Clock()
    watching(journal, clock)
    journal.emit(e.RunQueued("r1", "t", "sweep", "local", Budget()))
    journal.emit(e.RunStarted("r1", "EPYC", "local", "cpu"))
    for number, seconds in enumerate((90.0, 100.0, 4000.0)):
        journal.emit(e.IterationStarted("r1", number, "sweep", 0))
        journal.emit(e.Screened("r1", number, 1.0, 0.0))
        journal.emit(e.Staged("r1", number, seconds, 0.0, "tree"))
        journal.emit(e.IterationEnded("r1", number, "rejected", Told("slower")))
    assert usual_s(journal, "r1", "stage") == 100.0
    assert usual_s(journal, "r1", "build") is None
    journal.emit(e.IterationStarted("r1", 3, "sweep", 0))
    journal.emit(e.StepStarted("r1", 3, "stage"))
    clock.run(1000)
    assert kinds(journal, e.StepStalled) == []
    clock.run(10_000)
    (stalled,) = kinds(journal, e.StepStalled)
    assert isinstance(stalled, e.StepStalled) and (stalled.iteration, stalled.step, stalled.usual_s) == (
        3,
        "stage",
        100,
    )


def test_a_log_that_takes_nothing_does_not_end_the_watch(
    journal: EventJournal, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    watching(journal, clock)
    journal.emit(e.RunQueued("r1", "t", "sweep", "local", Budget()))
    journal.emit(e.RunStarted("r1", "EPYC", "local", "cpu"))
    journal.emit(e.RunWaits("r1", Told("the disk")))
    journal.store.close()
    clock.run(15 * EVERY_S)
    assert "the watchdog's report cannot be recorded" in caplog.text
    assert len(clock.calls) == 1
