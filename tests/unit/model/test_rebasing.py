"""A run that goes on with another kind of device: what counts there, and what stays known of the former one."""

from dataclasses import replace

import pytest

from kpd.engine.plan import End, Iterate, next_action
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import BaselineFaulty, ByVerdict, DeviceChanged, GpuHoursUsed, Noise
from kpd.model.faults import CandidateFault, NotBuilt
from kpd.model.fold import fold
from kpd.model.headline import floors, headline, on_former
from kpd.model.hosts import DeviceKind, FormerKind
from kpd.model.iteration import Confirming, Remeasure
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Done, Outcome
from kpd.model.verdicts import Gain, Verdict
from kpd.operations.iterations import AcceptIteration, RollBack
from kpd.operations.operation import RunIteration
from kpd.text.devices import formerly

GAIN = Gain(50.0, 49.0, 51.0)
WON = Verdict("faster", GAIN, 7, True, "confirmed", 1.0)


class Story:
    """A run on an H100: its baseline, an accepted candidate, and one that is at its timing."""

    def __init__(self) -> None:
        self.state, self.seq = State(), 0
        self.emit(e.RunQueued("r1", "scale", "claude", "c", Budget(9, 9)))
        self.emit(e.RunStarted("r1", "H100", "c", "GPU-0", driver="580"))
        self.ended(0, "baseline", 0)
        self.ended(1, "accepted", 0)
        self.emit(e.IterationStarted("r1", 2, "claude", 1))
        self.emit(e.StepStarted("r1", 2, "time"))

    @property
    def run(self) -> Run:
        return self.state.runs["r1"]

    def emit(self, fact: e.Fact) -> None:
        self.seq += 1
        self.state = fold(self.state, e.Event(self.seq, float(self.seq), fact))

    def ended(self, number: int, outcome: Outcome, parent: int, again: int | None = None) -> None:
        agent = "baseline" if outcome == "baseline" else "claude" if again is None else "again"
        self.emit(e.IterationStarted("r1", number, agent, parent, "", again))
        self.emit(e.Judged("r1", number, 0.0, 0.0, WON))
        if outcome in ("baseline", "accepted"):
            self.emit(e.Accepted("r1", number, {}))
        self.emit(e.IterationEnded("r1", number, outcome, Noise(GAIN) if parent == number else ByVerdict(WON)))

    def rebase(self, proposed: bool = True) -> None:
        self.emit(e.IterationEnded("r1", 2, "infra", DeviceChanged("A100", proposed)))
        self.emit(e.RunRebased("r1", "A100", "GPU-1", "c.2", "570"))


def test_the_baseline_comes_first_and_then_the_incumbent_and_what_was_cut_off() -> None:
    story = Story()
    story.rebase()
    run = story.run
    assert (run.baseline, run.incumbent, run.since, run.place) == (None, None, 3, ("c.2", "GPU-1"))
    assert run.former == (FormerKind(DeviceKind("H100", "580"), 0, 1),)
    assert next_action(run) == Iterate(3, "baseline")
    story.ended(3, "baseline", 3)
    assert next_action(story.run) == Iterate(4, "again", of=1)
    story.ended(4, "accepted", 3, again=1)
    assert next_action(story.run) == Iterate(5, "again", of=2)
    story.ended(5, "rejected", 4, again=2)
    assert next_action(story.run) == Iterate(6, "claude") and story.run.counted == story.run.iterations[1:2]


def test_no_time_of_one_kind_is_compared_with_one_of_the_other() -> None:
    story = Story()
    before = headline(story.run)
    story.rebase()
    story.ended(3, "baseline", 3)
    assert headline(story.run) is None and headline(story.run, 1) is None, "it was never measured here"
    story.ended(4, "accepted", 3, again=1)
    found = headline(story.run)
    assert found is not None and found.of == 4 and set(floors(story.run)) == {("c.2", "GPU-1")}
    (former,) = story.run.former
    assert headline(on_former(story.run, former)) == before and before is not None and before.of == 1
    story.emit(e.RunRebased("r1", "L4", "GPU-2", "c"))
    story.emit(e.RunRebased("r1", "H100", "GPU-3", "c"))
    said, _, nothing = formerly(story.run)
    assert nothing == "on L4 not even the baseline was measured"
    assert said.startswith("on H100 (driver 580) iteration 1 was the best, 2.00") and "over the baseline there" in said


def test_each_change_is_kept_and_what_is_measured_anew_is_what_was_the_incumbent_last() -> None:
    story = Story()
    story.rebase(proposed=False)
    story.ended(3, "baseline", 3)
    story.emit(e.RunRebased("r1", "H100", "GPU-2", "c", "580"))
    assert [former.since for former in story.run.former] == [0, 3] and story.run.since == 4
    assert story.run.again == (Remeasure(1, False, "kpd"),), "the second kind has not come to it"
    story.ended(4, "baseline", 4)
    story.ended(5, "accepted", 4, again=1)
    assert story.run.again == ()
    assert [headline(on_former(story.run, one)) is None for one in story.run.former] == [False, True]


def test_where_the_tasks_own_files_were_not_right_the_first_right_candidate_is_the_baseline_again() -> None:
    story = Story()
    story.state = replace(story.state, runs={"r1": replace(story.run, own_files="absent")})
    story.rebase(proposed=False)
    assert next_action(story.run) == Iterate(3, "again", of=0)
    story.ended(3, "baseline", 3, again=0)
    assert next_action(story.run) == Iterate(4, "again", of=1)


def test_a_task_that_is_faulty_on_the_new_kind_ends_the_run() -> None:
    story = Story()
    story.rebase()
    fault: CandidateFault = NotBuilt("no")
    story.emit(e.IterationStarted("r1", 3, "baseline", 3))
    story.emit(e.IterationEnded("r1", 3, "failed", fault))
    assert next_action(story.run) == End("failed", BaselineFaulty(fault))


def test_what_was_cut_off_is_measured_again_also_where_the_daemon_died_before_it_had_another_device() -> None:
    story = Story()
    story.emit(e.IterationEnded("r1", 2, "infra", DeviceChanged("A100", True)))
    assert next_action(story.run) == Iterate(3, "again", of=2)
    story.emit(e.IterationStarted("r1", 3, "again", 1, "", 2, True))
    story.emit(e.IterationEnded("r1", 3, "infra", DeviceChanged("A100", True)))
    assert story.run.again == (Remeasure(2, True, "kpd"),), (
        "what is measured again is the candidate, as it was asked for"
    )
    story.emit(e.RunRebased("r1", "A100", "GPU-1", "c.2", "570"))
    assert [wish.of for wish in story.run.again] == [1, 2]


def test_nothing_of_the_former_kind_is_chosen_before_there_is_a_baseline() -> None:
    story = Story()
    story.rebase()

    def refused() -> list[bool]:
        best = RunIteration(story.run, story.run.iterations[1])
        slower = best._replace(it=replace(best.it, status=Done("rejected", ByVerdict(WON), 0.0), score=1.0))
        back, chosen = RollBack(iteration="r1.1"), AcceptIteration(iteration="r1.1")
        return [back.why_not(story.state, best) is not None, chosen.why_not(story.state, slower) is not None]

    assert refused() == [True, True]
    story.ended(3, "baseline", 3)
    assert refused() == [False, False]


def test_a_run_that_is_out_of_hours_before_the_new_baseline_has_what_it_reached_on_the_former_kind() -> None:
    story = Story()
    story.rebase()
    story.emit(e.RunRebased("r1", "L4", "GPU-2", "c"))
    story.emit(e.DeadlinePassed("r1", gpus=True))
    assert next_action(story.run) == End("improved", GpuHoursUsed(0.0))
    without = Story()
    without.emit(e.RolledBack("r1", 0, {}, "ada"))
    without.rebase()
    without.emit(e.DeadlinePassed("r1", gpus=True))
    assert next_action(without.run) == End("no_gain", GpuHoursUsed(0.0))


@pytest.mark.parametrize("confirming", ["floor", "end", "decision"])
def test_what_was_measured_against_the_baseline_is_no_candidate_to_accept(confirming: Confirming) -> None:
    story = Story()
    it = replace(story.run.iterations[1], status=Done("measured", ByVerdict(WON), 0.0), score=1.0, verdict=WON)
    contest = RunIteration(story.run, replace(it, number=3, again=1, confirming=confirming))
    refused = AcceptIteration(iteration="r1.3").why_not(story.state, contest)
    assert refused is not None and refused.remedy == "kpd rollback r1.1"
