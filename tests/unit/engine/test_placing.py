"""Which device a run gets, and what it is told while it gets none."""

from dataclasses import replace

import pytest

from kpd.engine.placing import Place, place
from kpd.model.nouns import Budget, Run
from kpd.model.places import Device, HostCard, Need
from kpd.model.standing import ForDevice
from kpd.text.standing import wait

CPU = Device("cpu", "cpu", "EPYC", "x86_64")
H100 = Device("GPU-1", "gpu", "NVIDIA H100 80GB HBM3", "sm_90")
B200 = Device("GPU-2", "gpu", "NVIDIA B200", "sm_100")
HOSTS = {
    "local": HostCard("local", "local", devices=(CPU,)),
    "dead": HostCard("dead", "ssh", link="down", error="dead: no route", devices=(CPU, H100)),
    "box": HostCard("box", "ssh", devices=(CPU, H100, replace(H100, id="GPU-3"))),
    "new": HostCard("new", "ssh", devices=(CPU, B200)),
}


def run(host: str = "any") -> Run:
    return Run("r1", "t", "sweep", host, Budget(), queued=0.0)


def begun(**where: str) -> Run:
    return replace(run(where.pop("host")), started=1.0, status="running", **where)


def waits(found: Place | ForDevice) -> str:
    assert isinstance(found, ForDevice)
    return wait(found)


def test_the_first_free_device_that_fits() -> None:
    assert place(run(), "cpu", Need(), HOSTS, ()) == Place("local", CPU)
    assert place(run(), "gpu", Need(), HOSTS, ()) == Place("box", H100)
    taken = {("box", "GPU-1")}
    assert place(run(), "gpu", Need("h100"), HOSTS, taken) == Place("box", replace(H100, id="GPU-3"))
    assert place(run(), "gpu", Need(arch="sm_100"), HOSTS, ()) == Place("new", B200)
    assert place(run("new"), "cpu", Need(), HOSTS, ()) == Place("new", CPU)


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
    assert place(run(), "gpu", Need(), only, ()) == Place("box", H100)


def test_a_run_goes_on_where_it_began_and_nowhere_else() -> None:
    there = begun(host="box", device=H100.name, device_id="GPU-3")
    assert place(there, "gpu", Need(), HOSTS, ()) == Place("box", replace(H100, id="GPU-3"))
    swapped = begun(host="new", device=H100.name, device_id="GPU-1")
    assert "began on NVIDIA H100" in waits(place(swapped, "gpu", Need(), HOSTS, ()))
    another = begun(host="local", device="Xeon", device_id="cpu")
    assert "now there is EPYC" in waits(place(another, "cpu", Need(), HOSTS, ()))
    old = begun(host="local", device="EPYC")  # from a log that knew no device ids
    assert place(old, "cpu", Need(), HOSTS, ()) == Place("local", CPU)


def test_without_hosts() -> None:
    assert place(run(), "cpu", Need(), {}, ()) == ForDevice("r1")
    assert wait(ForDevice("r1")) == "there is no host"
