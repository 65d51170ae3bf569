"""Which device a run gets, and what it is told while it gets none."""

from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given

from kpd.engine.placement import GRACE_S, MOST_SHARING, Placement, devices_in_use, place, wanted_hosts
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.fold import fold_all
from kpd.model.hosts import Device, DeviceKind, HostCard, Need
from kpd.model.iteration import Iteration
from kpd.model.lanes import measures_in
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Paused, Running, Stepping
from kpd.model.waits import AtHost, ForDevice, ForService, ForTurn, PausedBy
from kpd.text.waits import wait
from tests.support.model.samples import done
from tests.support.model.strategies import logs

CPU = Device("cpu", "cpu", "EPYC", "x86_64")
H100 = Device("GPU-1", "gpu", "NVIDIA H100 80GB HBM3", "sm_90")
B200 = Device("GPU-2", "gpu", "NVIDIA B200", "sm_100")
HOSTS = {
    "local": HostCard("local", "local", devices=(CPU,)),
    "dead": HostCard("dead", "ssh", link="down", error="dead: no route", devices=(CPU, H100)),
    "box": HostCard("box", "ssh", devices=(CPU, H100, replace(H100, id="GPU-3"))),
    "new": HostCard("new", "ssh", devices=(CPU, B200)),
}


BY = PausedBy("ada")


def run(host: str = "any") -> Run:
    return Run("r1", "t", "sweep", host, Budget(), queued=0.0)


def begun(**where: str) -> Run:
    return replace(run(where.pop("host")), started=1.0, status=Running(), **where)


def waits(found: Placement | ForDevice) -> str:
    assert isinstance(found, ForDevice)
    return wait(found)


def test_the_first_free_device_that_fits() -> None:
    assert place(run(), "cpu", Need(), HOSTS, ()) == Placement("local", CPU)
    assert place(run(), "gpu", Need(), HOSTS, ()) == Placement("box", H100)
    taken = {("box", "GPU-1")}
    assert place(run(), "gpu", Need("h100"), HOSTS, taken) == Placement("box", replace(H100, id="GPU-3"))
    assert place(run(), "gpu", Need(arch="sm_100"), HOSTS, ()) == Placement("new", B200)
    assert place(run("new"), "cpu", Need(), HOSTS, ()) == Placement("new", CPU)


@pytest.mark.parametrize(
    ("host", "need", "taken", "reason"),
    [
        ("dead", Need(), (), "dead: dead: no route"),
        ("gone", Need(), (), "gone: not in config.toml any more"),
        ("box", Need("b200"), (), "box: no GPU that is a b200"),
        ("box", Need("H100"), (("box", "GPU-1"), ("box", "GPU-3")), "box: busy with another run"),
        ("any", Need("H100", "sm_100"), (), "no GPU that is a H100 and has sm_100"),
    ],
)
def test_what_it_waits_for(host: str, need: Need, taken: tuple[tuple[str, str], ...], reason: str) -> None:
    found = place(run(host), "gpu", need, HOSTS, taken)
    assert isinstance(found, ForDevice) and reason in wait(found)


def test_a_dead_host_keeps_nobody_from_the_others() -> None:
    only = {name: HOSTS[name] for name in ("dead", "box")}
    assert place(run(), "gpu", Need(), only, ()) == Placement("box", H100)


def test_a_run_goes_on_where_it_began_and_nowhere_else() -> None:
    there = begun(host="box", device=H100.name, device_id="GPU-3")
    assert place(there, "gpu", Need(), HOSTS, ()) == Placement("box", replace(H100, id="GPU-3"))
    swapped = begun(host="new", device=H100.name, device_id="GPU-1")
    assert "began on NVIDIA H100" in waits(place(swapped, "gpu", Need(), HOSTS, ()))
    another = begun(host="local", device="Xeon", device_id="cpu")
    assert "now there is EPYC" in waits(place(another, "cpu", Need(), HOSTS, ()))
    old = begun(host="local", device="EPYC")  # from a log that knew no device ids
    assert place(old, "cpu", Need(), HOSTS, ()) == Placement("local", CPU)


def lent(**more: Any) -> dict[str, HostCard]:
    return {"c": HostCard("c", "slurm", devices=(CPU, H100), driver="580.1", **more)}


def test_in_another_allocation_a_run_goes_on_with_a_device_like_its_own() -> None:
    one = begun(host="c", device=H100.name, device_id="GPU-9", driver="580.1")
    assert place(one, "gpu", Need(), lent(), ()) == Placement("c", H100)
    owned = {"c": replace(lent()["c"], transport="ssh")}
    assert "began on" in waits(place(one, "gpu", Need(), owned, ())), "a box is another one"


KIND = DeviceKind(H100.name, "580.1", "1980/2619")


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (KIND, True),
        (replace(KIND, name="NVIDIA A100"), False),
        (replace(KIND, driver="570.2"), False),
        (replace(KIND, clocks="1830/2619"), False),
        (DeviceKind(H100.name), True),
    ],
)
def test_devices_are_alike_if_model_driver_and_clocks_are_the_same_as_far_as_they_are_known(
    other: DeviceKind, alike: bool
) -> None:
    assert KIND.is_like(other) is other.is_like(KIND) is alike
    one = begun(host="c", device=other.name, device_id="GPU-9", driver=other.driver, clocks=other.clocks)
    quick = replace(H100, clocks=KIND.clocks)
    card = replace(lent()["c"], devices=(CPU, quick))
    assert place(one, "gpu", Need(), {"c": card}, ()) == Placement("c", quick), "alike or not: there is no other"
    first = replace(card, name="c.2", table="c", devices=(CPU, replace(quick, id="GPU-7", clocks=other.clocks)))
    first = replace(first, driver=other.driver, devices=(replace(first.devices[1], name=other.name),))
    found = place(one, "gpu", Need(), {"c": card, "c.2": first}, ())
    assert isinstance(found, Placement) and found.host == ("c" if alike else "c.2"), "one that is alike comes first"
    if not alike:
        full = place(one, "gpu", Need(), {"c": card, "c.2": first}, {("c.2", "GPU-7")})
        assert isinstance(full, ForDevice), "it waits for one that another run has"
        hosts = {"c": replace(card, link="down"), "c.2": replace(card, name="c.2", table="c")}
        down = place(one, "gpu", Need(), hosts, ())
        assert isinstance(down, ForDevice) and wanted_hosts(down, hosts) == {"c"}, "its own next one may bring one"


def test_a_run_of_a_task_that_needs_a_model_waits_for_it() -> None:
    one = begun(host="c", device="NVIDIA A100", device_id="GPU-9", driver="580.1")
    assert "began on NVIDIA A100" in waits(place(one, "gpu", Need("A100"), lent(), ()))


def test_a_host_that_is_lent_is_wanted_by_what_could_run_there() -> None:
    def wanted(need: Need, **more: Any) -> set[str]:
        found = place(run(), "gpu", need, lent(link="down", **more), ())
        assert isinstance(found, ForDevice)
        return wanted_hosts(found, lent())

    assert wanted(Need("h100"), trouble="released") == {"c"}
    assert wanted(Need("b200"), trouble="released") == set(), "its last devices do not fit"
    assert wanted_hosts(ForTurn("c", "r2"), {}) == set()


def test_a_host_that_only_builds_is_no_run_s() -> None:
    hosts = lent() | {"c.build": HostCard("c.build", "slurm", devices=(CPU,), table="c", builds=True)}
    found = place(run("c.build"), "cpu", Need(), hosts, ())
    assert isinstance(found, ForDevice) and found.in_vain
    gone = begun(host="c", device="EPYC", device_id="cpu")
    there = place(gone, "cpu", Need(), hosts | {"c": replace(hosts["c"], link="down")}, ())
    assert isinstance(there, ForDevice) and wanted_hosts(there, hosts) == {"c"}


def test_of_the_allocations_of_a_table_each_run_wants_one_of_its_own() -> None:
    down = HostCard("c", "slurm", link="down", trouble="released")
    hosts = {"c": down, "c.2": replace(down, name="c.2", table="c"), "d": replace(down, name="d")}

    def wanted(of: Run, *others: str, most: int = 1) -> set[str]:
        found = place(of, "gpu", Need(), hosts, ())
        assert isinstance(found, ForDevice)
        return wanted_hosts(found, hosts, others, most)

    assert wanted(run()) == {"c", "d"}
    assert wanted(run(), "c", "d") == {"c.2", "d"}
    assert wanted(run("c"), "c") == {"c.2"} and wanted(run("c.2"), "c.2") == {"c.2"}
    assert wanted(run("c"), "c", "c.2") in ({"c"}, {"c.2"}), "there are no more: it waits for one of these"
    mine = begun(host="c", device=H100.name, device_id=H100.id)
    assert wanted(mine) == {"c"}, "it goes on where it began"
    assert wanted(mine, "c") == {"c.2"}, "or in another allocation, where that is another run's"
    assert wanted(run("c"), most=2) == {"c", "c.2"} and wanted(mine, most=9) == {"c", "c.2"}, "it can use several"
    assert wanted(run("c"), "c.2", most=2) == {"c"} and wanted(run("c"), "c", "c.2", most=2) == {"c"}, "none of others"
    hosts["c.2"] = replace(hosts["c.2"], trouble="pending")
    assert wanted(run("c")) == wanted(mine) == {"c.2"}, "rather what waits in the queue already"
    up = {**hosts, "c.2": replace(hosts["c.2"], link="up", devices=(CPU, H100))}
    assert place(run("c"), "gpu", Need(), up, ()) == Placement("c.2", H100)


def test_without_hosts() -> None:
    assert place(run(), "cpu", Need(), {}, ()) == ForDevice("r1")
    assert wait(ForDevice("r1")) == "there is no host"


def test_a_device_of_ones_own_comes_before_one_that_is_shared() -> None:
    shared = {("box", "GPU-1")}
    assert place(run("box"), "gpu", Need("H100"), HOSTS, (), shared) == Placement("box", replace(H100, id="GPU-3"))
    only = {**HOSTS, "box": replace(HOSTS["box"], devices=(H100,))}
    assert place(run("box"), "gpu", Need("H100"), only, (), shared) == Placement("box", H100)
    assert place(run("box"), "gpu", Need("H100"), only, shared, shared) == ForDevice("r1", (AtHost("box", "taken"),))


# ── what is taken ─────────────────────────────────────────────────────────────────────────────────────────────────


NOW = 1000.0
THERE = ("box", "GPU-1")


def there(use: str = "", since: float = NOW, **more: Any) -> Run:
    """A run on THERE that is at a step of this use; without a number, between two iterations."""
    at = Iteration(3, "claude", 0, 0.0, status=Stepping("propose", since, use))  # type: ignore[arg-type]
    return replace(begun(host="box", device=H100.name, device_id="GPU-1"), iterations=(at,), incumbent=0, **more)


def edited(since: float) -> Run:
    """Of an operator, whose edit it has waited for since then."""
    baseline = Iteration(0, "baseline", 0, 0.0, status=done("baseline", at=since))
    return replace(there(), agent="operator", iterations=(baseline,))


def fresh() -> Run:
    return replace(there(), iterations=(), incumbent=None)


@pytest.mark.parametrize(
    ("runs", "until"),
    [
        ([there("measures")], inf),
        ([there("")], inf),
        ([fresh()], inf),
        ([there("thinks")], NOW + GRACE_S),
        ([there("thinks", NOW - GRACE_S)], None),
        ([there("thinks", NOW - GRACE_S), there("thinks")], NOW + GRACE_S),
        ([there("thinks", NOW - GRACE_S), there("measures")], inf),
        ([there("thinks", status=Running(ForService("overloaded", 8)), since=NOW - 9)], None),
        ([there("measures", status=Running(ForTurn("box", "ann")))], inf),
        ([edited(NOW - 9)], None),
        ([edited(NOW - 1)], NOW - 1 + GRACE_S),
        ([there("", status=Paused(BY))], None),
        ([there("measures", status=Paused(BY))], inf),
        ([there("measures", status=Paused(BY, wait=ForTurn("box", "r7")))], None),
        ([there("measures", status=Paused(BY, infra=True))], None),
        ([there("", status=Paused(BY)), there("measures")], inf),
        ([there("thinks", 0.0)] * (MOST_SHARING - 1), None),
        ([there("thinks", 0.0)] * MOST_SHARING, inf),
        ([there("thinks", 0.0, status=Paused(BY))] * MOST_SHARING, None),
    ],
    ids=[
        "measures", "is on its way there", "is made ready", "has just begun to think", "thinks", "one of them does not",
        "one of them measures", "waits for the service", "waits for the lease", "waits for an edit",
        "has just begun to wait", "paused", "paused while it measures", "paused before it could",
        "paused by trouble", "one of them paused",
        "as many as may share it", "no more than that", "who is paused does not count",
    ],
)  # fmt: skip
def test_when_another_run_may_begin_on_a_device(runs: list[Run], until: float | None) -> None:
    named = {f"r{nth}": replace(one, id=f"r{nth}") for nth, one in enumerate(runs)}
    assert devices_in_use(State(runs=named), NOW) == ({} if until is None else {THERE: until})


@given(logs)
def test_nobody_begins_where_somebody_measures(events: list[e.Event]) -> None:
    now = fold_all(events)
    found = devices_in_use(now, 10.0 * len(events))
    measuring = {place for run in now.begun for lane, place in run.lanes.items() if measures_in(run, lane)}
    assert measuring <= found.keys()
    assert found.keys() <= {run.place for run in now.begun}


@pytest.mark.parametrize(
    ("ahead", "queued", "waits_for"),
    [({}, {}, "r1"), ({"apart": True}, {}, None), ({}, {"apart": True}, None), ({"task": "u"}, {}, None)],
)
def test_one_run_of_a_task_at_a_time_beside_those_that_work_apart(
    ahead: dict[str, Any], queued: dict[str, Any], waits_for: str | None
) -> None:
    first, second = replace(begun(host="local"), **ahead), replace(run(), id="r2", **queued)
    other = State(runs={"r1": first, "r2": second}).ahead_of(second)
    assert (other.id if other else None) == waits_for
