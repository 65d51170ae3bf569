"""Several iterations of one run at once: what each lane does next, and what the fold makes of it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given, settings, strategies as st

from kpd.engine.further import further_hosts, further_lanes, most_allocations
from kpd.engine.placement import Placement, devices_in_use
from kpd.engine.plan import End, Iterate, Wait, next_action
from kpd.model import events as e
from kpd.model.agents import EDIT, AgentTraits
from kpd.model.budget import Budget
from kpd.model.causes import ByVerdict, IterationCause, Noise, Superseded, TooBusy
from kpd.model.fold import fold
from kpd.model.headline import floors
from kpd.model.hosts import Device, HostCard
from kpd.model.iteration import Iteration
from kpd.model.lanes import current_in, first_lane, lane_of, lanes_on, measures_in, waits_in
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Verdict
from kpd.model.waits import DeviceBusy, ForTurn, HostTrouble
from tests.support.drawn import examples

GAIN = Gain(5.0, 4.0, 6.0)
WON = Verdict("faster", GAIN, 7, True, "confirmed", 1.0)
LOST = replace(WON, word="slower", accepted=False)
GPUS = tuple(Device(f"GPU-{number}", "gpu", "H100", "sm_90") for number in range(3))


class Story:
    """A run of several lanes, on so many GPUs or each on its own, whose iterations end as a test says, in any order."""

    def __init__(self, lanes: int, budget: Budget, agent: str = "claude", gpus: int = 0) -> None:
        self.state, self.seq = State(), 0
        self.lanes, self.gpus = lanes, gpus or lanes
        self.emit(e.RunQueued("r1", "scale", agent, "box", budget, devices=lanes))
        self.emit(e.RunStarted("r1", "H100", "box", "GPU-0"))
        self.emit(e.DevicesTaken("r1", tuple(f"GPU-{number % self.gpus}" for number in range(1, lanes))))

    @property
    def run(self) -> Run:
        return self.state.runs["r1"]

    def emit(self, fact: e.Fact) -> None:
        self.seq += 1
        self.state = fold(self.state, e.Event(self.seq, float(self.seq), fact))

    def begin(self, lane: int) -> Iterate | Wait | End:
        """Do what the plan says in a lane, as its loop does, up to the beginning of an iteration."""
        step = next_action(self.run, "lower", lane)
        if isinstance(step, Iterate) and not step.resumed:
            parent = step.number if self.run.incumbent is None else self.run.incumbent
            if step.confirming and self.run.baseline is not None:
                parent = self.run.baseline.number
            self.emit(
                e.IterationStarted(
                    "r1", step.number, step.agent, parent, "", step.of, step.thorough, step.confirming, lane
                )
            )
        assert isinstance(step, Iterate | Wait | End)
        return step

    def measure_noise(self) -> None:
        """Measure the baseline, and then its noise on each further device."""
        for lane in range(self.gpus):
            self.begin(lane)
            self.end(self.run.iterations[-1], True)

    def end(self, it: Iteration, won: bool) -> None:
        """End an iteration as the step `record` does."""
        outcome: Outcome
        cause: IterationCause
        if it.parent == it.number:
            outcome, cause = "baseline", Noise(GAIN)
        elif it.confirming:
            outcome, cause = "measured", ByVerdict(WON)
        elif won and it.parent != self.run.incumbent:
            outcome, cause = "rejected", Superseded(WON, "r1", self.run.incumbent or 0)
        else:
            outcome, cause = ("accepted", ByVerdict(WON)) if won else ("rejected", ByVerdict(LOST))
        self.emit(e.Judged("r1", it.number, 0.0, 0.0, WON if won else LOST))
        if outcome in ("baseline", "accepted"):
            self.emit(e.Accepted("r1", it.number, {}))
        self.emit(e.IterationEnded("r1", it.number, outcome, cause))


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


def test_a_run_keeps_asking_for_devices_while_a_search_has_not_named_its_point() -> None:
    story = Story(1, Budget(9), "sweep")
    story.state = replace(story.state, runs={"r1": replace(story.run, traits={"sweep": AgentTraits(explores=True)})})
    story.begin(0)
    story.end(story.run.iterations[0], True)
    story.begin(0)
    run = replace(story.run, devices=2, host="cluster")
    hosts = cards(lent(1, GPUS[0]), lent(2, link="down"))
    assert next_action(run, "lower", 1) == Wait(None)
    assert further_hosts(run, GPUS[0], hosts, (), "lower") == {"cluster.2"}


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


def a_run(wanted: int, had: tuple[str, ...] = (), host: str = "box") -> Run:
    more = tuple((host, device) for device in had)
    return Run("r1", "scale", "claude", host, Budget(), 0.0, device="H100", started=0.0, devices=wanted, more=more)


@pytest.mark.parametrize(
    ("wanted", "had", "taken", "found"),
    [
        (1, (), (), []),
        (2, (), (), [1, 0, 1]),
        (0, (), (), [1, 2, 0, 1, 2]),
        (9, (), (), [1, 2, 0, 1, 2]),
        (2, (), (1,), [2, 0, 2]),
        (2, ("GPU-2",), (), [2, 0, 2]),
        (2, ("GPU-2",), (2,), [2, 0, 2]),
        (2, ("GPU-0", "GPU-2", "GPU-2"), (2,), [0, 2, 2]),
        (0, ("GPU-9",), (1, 2), [0]),
    ],
)
def test_a_run_takes_further_free_devices_that_are_like_its_first(
    wanted: int, had: tuple[str, ...], taken: tuple[int, ...], found: list[int]
) -> None:
    other = Device("GPU-7", "gpu", "H200", "sm_90")
    hosts = {"box": HostCard("box", "local", devices=(*GPUS, other)), "box2": HostCard("box2", "local", devices=GPUS)}
    places = {("box", f"GPU-{number}") for number in taken}
    chosen = further_lanes(a_run(wanted, had), Placement("box", GPUS[0]), {0: ("box", "GPU-0")}, hosts, places)
    assert chosen == {lane: Placement("box", GPUS[number]) for lane, number in enumerate(found, 1)}
    cpus = tuple(replace(device, kind="cpu") for device in GPUS)
    hosts = {name: replace(card, devices=cpus) for name, card in hosts.items()}
    of_cpus = further_lanes(a_run(wanted, had), Placement("box", cpus[0]), {0: ("box", "GPU-0")}, hosts, places)
    assert Counter(of_cpus.values()) <= Counter(cpus_once(cpus)), "a build would disturb what is measured there"


def cpus_once(cpus: tuple[Device, ...]) -> list[Placement]:
    return [Placement("box", device) for device in cpus[1:]]


def lent(number: int, *devices: Device, link: Literal["up", "down"] = "up", **more: Any) -> HostCard:
    name = "cluster" if number == 1 else f"cluster.{number}"
    return HostCard(name, "slurm", link, devices=devices, table="" if number == 1 else "cluster", **more)


def cards(*given: HostCard) -> dict[str, HostCard]:
    return {card.name: card for card in given}


def test_lanes_are_on_all_allocations_of_a_table_and_each_keeps_its_number() -> None:
    other, newer = replace(GPUS[2], name="H200"), replace(lent(4, GPUS[2]), driver="580")
    hosts = cards(lent(1, GPUS[0]), lent(2, GPUS[1]), lent(3, other), newer)
    first = Placement("cluster", GPUS[0])
    run = replace(a_run(0, host="cluster"), driver="570")
    hosts = {name: replace(card, driver=card.driver or "570") for name, card in hosts.items()}
    second = Placement("cluster.2", GPUS[1])
    found = further_lanes(run, first, {0: ("cluster", "GPU-0")}, hosts)
    assert found == {1: second, 2: first, 3: second}, "of one model and driver"
    run = replace(run, more=(second.ref, ("cluster", "GPU-0"), second.ref), device_id="GPU-0", away=(0, 2))
    assert further_lanes(run, second, run.lanes, hosts) == {0: first, 2: first}
    run = replace(run, away=(1, 3))
    assert further_lanes(run, first, run.lanes, hosts) == {1: second, 3: second}
    gone = hosts | {"cluster.2": replace(hosts["cluster.2"], link="down")}
    assert further_lanes(run, first, run.lanes, gone) == {}
    assert further_lanes(replace(run, away=(1, 2, 3)), first, {0: first.ref}, gone) == {1: first}


@pytest.mark.parametrize(
    ("wanted", "others", "asked"),
    [
        (2, (), {"cluster.3"}),
        (3, (), {"cluster.2", "cluster.3"}),
        (0, (), {"cluster.2", "cluster.3"}),
        (0, ("cluster.3",), {"cluster.2"}),
        (1, (), set()),
    ],
)
def test_a_run_asks_for_as_many_allocations_as_it_lacks_devices(
    wanted: int, others: tuple[str, ...], asked: set[str]
) -> None:
    unfit = lent(4, replace(GPUS[1], name="H200"), link="down", trouble="released")
    hosts = cards(lent(1, GPUS[0]), lent(2, link="down"), lent(3, link="down", trouble="pending"), unfit)
    story = Story(1, Budget(4))
    story.begin(0)
    run = replace(story.run, devices=wanted, host="cluster")
    assert further_hosts(run, GPUS[0], hosts, others, "lower") == asked, "while the baseline is measured"
    absent = replace(run, own_files="absent")
    assert further_hosts(absent, GPUS[0], hosts, others, "lower") == set(), "nobody knows how long that takes"
    story.end(story.run.iterations[0], True)
    run = replace(story.run, devices=wanted, host="cluster")
    assert further_hosts(run, GPUS[0], hosts, others, "lower") == asked, "the one that is asked for already comes first"
    two = cards(lent(1, *GPUS[:2]), lent(2, link="down"), lent(3, link="down"))
    assert len(further_hosts(replace(run, devices=4, more=(("cluster", "GPU-1"),)), GPUS[0], two, (), "lower")) == 1
    few = replace(run, budget=Budget(2))
    assert len(further_hosts(few, GPUS[0], hosts, others, "lower")) <= 1, "there is no work for a third lane"
    for number in range(1, 4):
        story.begin(0)
        story.end(story.run.iterations[number], False)
    story.begin(0)
    run = replace(story.run, devices=wanted, host="cluster")
    assert further_hosts(run, GPUS[0], hosts, others, "lower") == set(), "the last iteration is under way"


@pytest.mark.parametrize(
    ("devices", "iterations", "seen", "asked"),
    [(1, 6, (), 1), (4, 6, (), 4), (0, 6, (), 6), (8, 3, (), 3), (4, 6, (2,), 2), (3, 6, (2, 1), 2), (0, 6, (4,), 2)],
)
def test_a_run_without_a_device_asks_for_as_many_allocations_as_it_has_work_for(
    devices: int, iterations: int, seen: tuple[int, ...], asked: int
) -> None:
    run = Run("r1", "scale", "sweep", "cluster", Budget(iterations), 0.0, devices=devices)
    fitting = [(f"cluster.{nth}", GPUS[0]) for nth, count in enumerate(seen) for _ in range(count)]
    assert most_allocations(run, fitting, 0) == asked
    assert most_allocations(run, (), 2) == -(-min(devices or iterations, iterations) // 2), (
        "as many GPUs as it asks for"
    )
    assert most_allocations(replace(run, own_files="absent"), fitting, 0) == 1, "no candidate is right yet"


def lost(story: Story, *lanes: int) -> None:
    story.emit(e.LanesChanged("r1", story.run.more, lanes))


def test_what_a_lane_was_at_goes_on_in_the_first_that_is_there_and_stays_there() -> None:
    story = Story(3, Budget(9, 9))
    story.measure_noise()
    for lane in range(3):
        story.begin(lane)
    story.emit(e.RunWaits("r1", ForTurn("box", "r2"), 1))
    story.emit(e.RunWaits("r1", HostTrouble("unreachable", "")))
    lost(story, 0, 1)
    assert (first_lane(story.run), story.run.lane_waits, story.run.waiting) == (2, {}, None)
    assert next_action(story.run, "lower", 2) == resumed(3)
    story.emit(e.LanesChanged("r1", (("box.2", "GPU-8"), ("box", "GPU-2")), (0,)))
    assert first_lane(story.run) == 1 and story.run.lanes[1] == ("box.2", "GPU-8")
    for number in (3, 4, 5):
        assert next_action(story.run, "lower", 2) == resumed(number)
        assert story.run.iterations[number].place == ("box", "GPU-2")
        story.end(story.run.iterations[number], False)
    assert story.begin(1) == Iterate(6, "again", of=0, confirming="floor"), "another device has another noise floor"
    assert story.begin(2) == Iterate(7, "claude")
    assert set(floors(story.run)) == {("box", f"GPU-{number}") for number in range(3)}


def test_where_all_allocations_end_each_iteration_stays_with_its_lane_until_one_comes() -> None:
    story = Story(2, Budget(9, 9))
    story.measure_noise()
    for lane in range(2):
        story.begin(lane)
    lost(story, 0, 1)
    assert [it.lane for it in story.run.open] == [0, 1] and devices_in_use(story.state, 0.0) == {}
    lost(story, 0)
    assert [it.lane for it in story.run.open] == [1, 1]


def resumed(number: int) -> Iterate:
    return Iterate(number, "claude", resumed=True)


@settings(max_examples=examples(60))
@given(st.data(), st.integers(2, 4), st.integers(1, 8))
def test_whatever_allocations_end_no_iteration_is_lost_or_done_twice(
    data: st.DataObject, lanes: int, iterations: int
) -> None:
    def choose(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    def check(story: Story) -> None:
        if choose(4) == 0:
            lost(story, *(lane for lane in range(lanes) if choose(2)))
        run = story.run
        assert [it.number for it in run.iterations] == list(range(len(run.iterations)))
        assert sum(it.again is None for it in run.iterations) <= iterations + 1
        assert not run.lanes or all(it.lane in run.lanes for it in run.open)

    story = Story(lanes, Budget(iterations, 9))
    for _ in range(30 * (iterations + 2)):
        lane = choose(lanes)
        mine = current_in(story.run, lane) if lane in story.run.lanes else None
        if mine is not None and choose(2):
            story.end(mine, bool(choose(2)))
        elif lane in story.run.lanes and isinstance(story.begin(lane), End):
            break
        check(story)
    else:
        lost(story)
        for _ in range(200):
            lane = choose(lanes)
            if (mine := current_in(story.run, lane)) is not None:
                story.end(mine, False)
            if isinstance(story.begin(lane), End):
                break
    assert not story.run.open and not story.run.again
