"""Several iterations of one run at once: what each lane does next, and what the fold makes of it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from kpd.engine.placement import devices_in_use
from kpd.engine.plan import End, Iterate, Wait, next_action
from kpd.model import events as e
from kpd.model.agents import EDIT, AgentTraits
from kpd.model.budget import Budget
from kpd.model.causes import Superseded, TooBusy
from kpd.model.headline import floors
from kpd.model.lanes import current_in, lane_of, lanes_on, measures_in, waits_in
from kpd.model.waits import DeviceBusy, ForTurn, HostTrouble
from tests.support.drawn import examples
from tests.support.engine.lane_story import Story


def played(story: Story, budget: Budget, choose: Callable[[int], int], check: Callable[[Story], None]) -> Story:
    """Play a run to its end: lanes go on in any order, iterations are built and end in any order."""
    lanes = story.lanes
    for _ in range(40 * (budget.iterations + 2)):
        lane = choose(lanes)
        mine = current_in(story.run, lane)
        if mine is not None and not mine.prepared and choose(2):
            story.emit(e.StepStarted("r1", mine.number, "check"))
        elif mine is not None and choose(2):
            story.end(mine, bool(choose(2)))
        elif isinstance(story.begin(lane), End):
            return story
        check(story)
    while True:  # whatever was chosen: nothing stands still for ever
        before = story.seq
        for lane in range(lanes):
            if (mine := current_in(story.run, lane)) is not None:
                story.end(mine, False)
            if isinstance(story.begin(lane), End):
                return story
            check(story)
        assert story.seq > before, "no lane can go on"


@settings(max_examples=examples(60))
@given(st.data(), st.integers(1, 5), st.integers(1, 5), st.integers(1, 8), st.integers(1, 4))
def test_lanes_keep_to_the_budget_and_the_run_ends_when_nothing_is_under_way(
    data: st.DataObject, lanes: int, gpus: int, iterations: int, patience: int
) -> None:
    def choose(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    def check(story: Story) -> None:
        run = story.run
        assert len(run.open) <= lanes
        assert len({lane_of(run, it) for it in run.open}) == len(run.open), "at most one in each lane"
        assert [it.number for it in run.iterations] == list(range(len(run.iterations)))
        assert len(run.open) <= 1 or run.incumbent is not None, "the baseline comes first, and alone"
        assert sum(it.again is None for it in run.iterations) <= iterations + 1, "no more than the budget has left"
        prepared = Counter(it.place for it in run.open if not it.prepared and it.again is None)
        assert all(count == 1 for count in prepared.values()), "one at a time for each device"

    budget = Budget(iterations, patience)
    story = played(Story(lanes, budget, gpus=min(gpus, lanes)), budget, choose, check)
    run = story.run
    assert not run.open and not run.again
    outdated = {it.number for it in run.iterations if isinstance(it.cause, Superseded)}
    again = [it.again for it in run.iterations if it.again is not None and not it.confirming]
    assert sorted(again) == sorted(outdated), "each that won against an older incumbent is measured once more"
    assert not outdated or lanes > 1
    if run.incumbent != 0:
        assert run.iterations[-1].confirms == run.incumbent, "the last thing is the contest against the baseline"


def test_the_current_iteration_is_the_oldest_that_is_under_way() -> None:
    story = Story(2, Budget(9, 9))
    story.begin(0)
    story.end(story.run.iterations[0], True)
    for lane in (0, 1):
        story.begin(lane)
    assert [it.lane for it in story.run.open] == [0, 1]
    story.end(story.run.iterations[1], False)
    story.begin(0)
    assert [(it.number, it.lane) for it in story.run.open] == [(2, 1), (3, 0)]
    assert story.run.current is story.run.iterations[2]


def test_the_noise_floor_of_each_device_is_measured_once_before_its_first_candidate() -> None:
    story = Story(3, Budget(9, 9))
    story.begin(0)
    story.end(story.run.iterations[0], False)
    assert [story.begin(lane) for lane in range(3)] == [
        Iterate(1, "claude"),
        Iterate(2, "again", of=0, confirming="floor"),
        Iterate(3, "again", of=0, confirming="floor"),
    ]
    assert [(it.parent, it.device) for it in story.run.open] == [(0, "GPU-0"), (0, "GPU-1"), (0, "GPU-2")]
    story.end(story.run.iterations[2], False)
    story.emit(e.IterationEnded("r1", 3, "infra", TooBusy("busy")))
    assert set(floors(story.run)) == {("box", "GPU-0"), ("box", "GPU-1")}
    assert [story.begin(lane) for lane in (1, 2)] == [Iterate(4, "claude"), Iterate(5, "claude")], "it is tried once"
    story.emit(e.DevicesTaken("r1", ("GPU-2", "GPU-7")))
    for number in (1, 4, 5):
        story.end(story.run.iterations[number], False)
    assert story.begin(1) == Iterate(6, "claude") and story.begin(2) == Iterate(7, "again", of=0, confirming="floor")


@pytest.mark.parametrize("hosts", [(), ("box",), ("box", "box", "other")])
def test_devices_whose_hosts_the_log_does_not_name_are_on_the_first_ones(hosts: tuple[str, ...]) -> None:
    story = Story(1, Budget(9, 9))
    story.emit(e.DevicesTaken("r1", ("GPU-1", "GPU-2"), hosts))
    assert story.run.more == (("box", "GPU-1"), ("box", "GPU-2"))


def test_a_run_that_goes_on_with_another_device_measures_its_noise() -> None:
    story = Story(1, Budget(9, 9))
    story.measure_noise()
    story.emit(e.RunMoved("r1", "H100", "GPU-8"))
    assert story.begin(0) == Iterate(1, "again", of=0, confirming="floor")
    story.end(story.run.iterations[1], False)
    assert story.begin(0) == Iterate(2, "claude") and set(floors(story.run)) == {("box", "GPU-0"), ("box", "GPU-8")}


def test_a_restart_takes_up_the_iteration_of_each_lane_and_the_first_those_of_a_device_that_is_gone() -> None:
    story = Story(3, Budget(9, 9))
    story.measure_noise()
    for lane in range(3):
        story.begin(lane)
    resumed = [next_action(story.run, "lower", lane) for lane in range(3)]
    assert resumed == [Iterate(number, "claude", resumed=True) for number in (3, 4, 5)]
    story.emit(e.DevicesTaken("r1", ("GPU-1",)))
    assert next_action(story.run, "lower", 0) == Iterate(3, "claude", resumed=True)
    story.end(story.run.iterations[3], False)
    assert next_action(story.run, "lower", 0) == Iterate(5, "claude", resumed=True)
    story.emit(e.DevicesTaken("r1", ()))
    assert next_action(story.run, "lower", 0) == Iterate(4, "claude", resumed=True), "also with one device left"


@pytest.mark.parametrize(("used", "begins"), [(1, True), (2, False)])
def test_an_iteration_under_way_counts_as_if_it_used_the_budget(used: int, begins: bool) -> None:
    story = Story(2, Budget(iterations=2))
    story.measure_noise()
    for _ in range(used - 1):
        story.begin(0)
        story.end(story.run.iterations[-1], False)
    story.begin(0)
    assert isinstance(story.begin(1), Iterate) is begins


def test_a_search_names_one_point_before_another_lane_asks_for_the_next() -> None:
    story = Story(2, Budget(), "sweep")
    story.state = replace(story.state, runs={"r1": replace(story.run, traits={"sweep": AgentTraits(explores=True)})})
    story.measure_noise()
    story.begin(0)
    assert story.begin(1) == Wait(None)
    story.emit(e.Proposed("r1", 2, 0.0, 0.0, {}, "", None, {"TILE": "8"}))
    assert story.begin(1) == Iterate(3, "sweep")


def test_a_device_has_its_next_candidate_prepared_while_it_measures() -> None:
    story = Story(2, Budget(9), gpus=1)
    story.begin(0)
    story.end(story.run.iterations[0], True)
    assert story.begin(0) == Iterate(1, "claude")
    for step in ("propose", "screen", "stage", "build"):
        story.emit(e.StepStarted("r1", 1, step))
        assert story.begin(1) == Wait(None), f"{step} leaves the device to nobody yet"
    story.emit(e.StepStarted("r1", 1, "check", 1, "measures"))
    assert story.begin(1) == Iterate(2, "claude"), "without a noise floor: it is the first device"
    story.emit(e.StepStarted("r1", 2, "time", 1, "measures"))
    story.emit(e.RunWaits("r1", ForTurn("box", "r1"), 1))
    run = story.run
    assert (lanes_on(run, run.place), run.waiting) == ([0, 1], None)
    story.emit(e.RunWaits("r1", None, 1))
    story.emit(e.RunWaits("r1", ForTurn("box", "r1")))
    run = story.run
    assert (lanes_on(run, run.place), measures_in(run, 1), waits_in(run, 0)) == ([1, 0], True, ForTurn("box", "r1"))
    assert run.waiting is None, "it does not wait: it measures in its other lane"
    story.emit(e.RunWaits("r1", ForTurn("box", "r2")))
    assert story.run.waiting == ForTurn("box", "r2")


def test_what_an_operator_asks_for_does_not_wait_until_a_candidate_is_built() -> None:
    story = Story(2, Budget(9), gpus=1)
    story.begin(0)
    story.end(story.run.iterations[0], True)
    story.begin(0)
    story.emit(e.OperatorEdited("r1", {"kernel.cu": "hash"}, None))
    assert story.begin(1) == Iterate(2, EDIT)


def test_a_device_with_two_lanes_is_left_to_others_while_its_only_iteration_thinks() -> None:
    story = Story(2, Budget(9), gpus=1)
    story.begin(0)
    story.end(story.run.iterations[0], True)
    story.begin(0)
    story.emit(e.StepStarted("r1", 1, "propose", 1, "thinks"))
    assert devices_in_use(story.state, story.seq + 60.0) == {}
    story.emit(e.StepStarted("r1", 1, "time", 1, "measures"))
    assert set(devices_in_use(story.state, story.seq + 60.0)) == {("box", "GPU-0")}


def test_each_lane_waits_and_measures_for_itself() -> None:
    story = Story(2, Budget())
    story.begin(0)
    story.end(story.run.iterations[0], True)
    for lane, number in ((0, 1), (1, 2)):
        story.begin(lane)
        story.emit(e.StepStarted("r1", number, "time", 1, "measures"))
    story.emit(e.RunWaits("r1", ForTurn("box", "r2"), 1))
    run = story.run
    assert (measures_in(run, 0), measures_in(run, 1), run.waiting) == (True, False, None)
    story.emit(e.RunWaits("r1", ForTurn("box", "r2")))
    assert not measures_in(story.run, 0)
    story.emit(e.RunWaits("r1", None, 1))
    assert (measures_in(story.run, 1), story.run.lane_waits) == (True, {})
    story.emit(e.RunWaits("r1", DeviceBusy(HostTrouble("busy", ""), 1.0), 1))
    story.emit(e.DevicesTaken("r1", ("GPU-1",)))
    assert story.run.lane_waits == {}, "what a former daemon's lane waited for is over"


def test_every_device_of_a_run_is_in_use() -> None:
    story = Story(2, Budget())
    assert set(devices_in_use(story.state, 0.0)) == {("box", "GPU-0"), ("box", "GPU-1")}
