"""Which phase before a run's first iteration comes next is a function of the state, so that every daemon decides it."""

from kpd.model import codec, events as e
from kpd.model.budget import Budget
from kpd.model.causes import PhaseFailed, Stopped
from kpd.model.preparation import BeforePhase, PhaseResult, TaskOrder
from kpd.model.preparing import due, of_project
from kpd.model.run import Run
from kpd.model.spending import Spend, Usage
from kpd.text import preparing
from kpd.text.endings import of_run
from tests.support.tui.logs import Log

ORDER, DONE = TaskOrder(), PhaseResult()
PAID = Spend().with_call(Usage(10, output=5), 0.25)


def queued(order: TaskOrder | None = ORDER) -> Log:
    return Log().emit(e.RunQueued("r1", "p", "sweep", "local", Budget(), deploy="p", order=order))


def did(log: Log, phase: BeforePhase, result: PhaseResult = DONE) -> Log:
    return log.emit(e.PhaseBegun("r1", phase)).emit(e.PhaseEnded("r1", phase, result, 2.0))


def run_of(log: Log) -> Run:
    return log.state.runs["r1"]


def is_due(log: Log) -> bool:
    return [run.id for run in due(log.state)] == ["r1"]


def test_each_phase_follows_the_one_before_it_and_then_the_run_can_begin() -> None:
    log = queued()
    for phase in ("check", "observe", "task"):
        assert (run_of(log).next_phase, run_of(log).at_phase, is_due(log)) == (phase, None, True)
        log.emit(e.PhaseBegun("r1", phase))
        at = run_of(log).at_phase
        assert at is not None and (at.name, run_of(log).next_phase, is_due(log)) == (phase, phase, True)
        log.emit(e.PhaseEnded("r1", phase, PhaseResult(task="p-2" if phase == "task" else ""), 2.0))
    assert (run_of(log).unprepared, is_due(log), run_of(log).task) == (False, False, "p-2")
    assert codec.decode(codec.encode(log.state), type(log.state)) == log.state


def test_a_run_whose_task_is_there_has_no_phases_and_a_given_table_leaves_out_one() -> None:
    assert not run_of(queued(None)).unprepared
    log = did(queued(TaskOrder(observed="launches.json")), "check")
    assert run_of(log).next_phase == "task"


def test_a_phase_whose_process_was_killed_is_begun_again_and_stays_one() -> None:
    log = did(queued(), "check").emit(e.PhaseBegun("r1", "observe")).emit(e.PhaseBegun("r1", "observe"))
    assert [(phase.name, phase.times) for phase in run_of(log).phases] == [("check", 1), ("observe", 2)]
    log.emit(e.PhaseEnded("r1", "observe", PhaseResult(anew=False), 3.0))
    assert preparing.headline(run_of(log).phases[1]) == (
        "observe: what was observed is current (3.0 s, begun 2 times)"
    )  # fmt: skip
    assert run_of(log).next_phase == "task"


def test_a_failed_phase_ends_its_run_and_says_what_it_has_cost() -> None:
    log = did(did(queued(), "check"), "observe").emit(e.PhaseBegun("r1", "task"))
    log.emit(e.PhaseEnded("r1", "task", PhaseResult(failed="no harness", remedy="ask anew"), 90.0, {"harness": PAID}))
    assert run_of(log).unprepared
    log.emit(e.RunEnded("r1", "failed", PhaseFailed("task", "no harness", "ask anew")))
    assert (is_due(log), of_project(log.state, "p")) == (False, None)
    assert of_run(run_of(log)) == "task: no harness; ask anew"
    assert preparing.headline(run_of(log).phases[-1]) == (
        "task: FAILED: no harness; ask anew (1 min 30 s, harness $0.25)"
    )  # fmt: skip
    assert preparing.now(run_of(log)) == ""


def test_one_run_of_a_project_at_a_time_until_its_winner_is_deployed() -> None:
    log = queued()
    found = of_project(log.state, "p")
    assert found is not None and found.id == "r1"
    assert of_project(log.state, "q") is None
    done = did(did(did(log, "check"), "observe"), "task", PhaseResult(task="p"))
    assert of_project(done.state, "p") is not None
    won = done.emit(e.RunStarted("r1", "Xeon")).baseline().iteration(1, "wide", 5.0, "faster")
    assert of_project(won.emit(e.RunEnded("r1", "improved", Stopped("op"))).state, "p") is not None
    assert of_project(won.emit(e.DeployNotBegun("r1", "p", "no host")).state, "p") is None
    by_hand = Log().emit(e.RunQueued("r1", "t", "sweep", "local", Budget(), deploy="p"))
    assert of_project(by_hand.state, "p") is None, "kpd run --deploy makes no task"


def test_what_is_said_of_another_phase_or_of_no_run_changes_nothing() -> None:
    log = queued().emit(e.PhaseBegun("r1", "check"))
    before = run_of(log)
    log.emit(e.PhaseEnded("r1", "task", PhaseResult(task="other"))).emit(e.PhaseBegun("r9", "check"))
    assert run_of(log.emit(e.PhaseEnded("r9", "check", PhaseResult()))) == before
