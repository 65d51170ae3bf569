"""Which further devices a run takes, and which hosts it asks for."""

from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import pytest

from kpd.engine.further import further_hosts, further_lanes, most_allocations
from kpd.engine.placement import Placement
from kpd.engine.plan import Wait, next_action
from kpd.model.agents import AgentTraits
from kpd.model.budget import Budget
from kpd.model.hosts import Device, HostCard
from kpd.model.run import Run
from tests.support.engine.lane_story import Story

GPUS = tuple(Device(f"GPU-{number}", "gpu", "H100", "sm_90") for number in range(3))


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
