"""Whether a host's GPUs are free: who computes on them, and what can be done about it."""

from dataclasses import replace

import pytest

from kpd.hosts.preflight.gpu_checks import free
from kpd.model.hosts import Check, Device, GpuProcess, HostCard, ProcessOwner, Telemetry

CPU = Device("cpu", "cpu", "EPYC", telemetry=Telemetry(1.0))
IDLE = Device("GPU-1", "gpu", "H100", pci="00000000:19:00.0", telemetry=Telemetry(1.0, memory_used_mib=4.0))
CARD = HostCard("gpu-box", "ssh", devices=(CPU, IDLE))
OURS, THEIRS = GpuProcess(7, "runner", 300, "kpd"), GpuProcess(8, 'my "train"', None, "foreign")


def with_gpus(*seen: Telemetry | None) -> HostCard:
    buses = (f"00000000:{at:02x}:00.0" for at in range(len(seen)))
    gpus = (replace(IDLE, pci=bus, telemetry=one) for bus, one in zip(buses, seen, strict=True))
    return replace(CARD, devices=(CPU, *gpus))


def test_an_idle_gpu_is_free() -> None:
    assert free(CARD) == (Check("gpu use", "ok", "free; 4 MiB in use"),)


def test_of_several_gpus_each_is_told_by_its_bus() -> None:
    held = Telemetry(1.0, holder="op@lab, r9.1")
    found = free(with_gpus(Telemetry(1.0, computes=(OURS,)), held, Telemetry(1.0, trouble="is lost"), None))
    assert [(check.state, check.found) for check in found] == [
        ("ok", "00:00.0: runner (pid 7, 300 MiB): kpd's own"),
        ("ok", "01:00.0: leased by op@lab, r9.1"),
        ("off", "02:00.0: unknown: is lost"),
    ]


def test_who_else_computes_comes_with_what_helps() -> None:
    (found,) = free(with_gpus(Telemetry(1.0, memory_used_mib=900.4, computes=(OURS, THEIRS, THEIRS))))
    assert found.state == "bad"
    assert found.found.startswith(
        "runner (pid 7, 300 MiB): kpd's own; my \"train\" (pid 8): not kpd's, measurements wait"
    )
    assert found.found.endswith("; 900 MiB in use")
    assert r'tolerate = ["my \"train\""] in [hosts.gpu-box] of config.toml' in found.remedy


@pytest.mark.parametrize(
    ("whose", "state"), [("kpd", "ok"), ("tolerated", "ok"), ("unseen", "off"), ("foreign", "bad")]
)
def test_only_what_measurements_wait_for_is_to_be_corrected(whose: ProcessOwner, state: str) -> None:
    (found,) = free(with_gpus(Telemetry(1.0, computes=(replace(OURS, whose=whose),))))
    assert found.state == state


def test_of_a_host_that_is_down_nothing_is_said() -> None:
    assert free(replace(CARD, link="down")) == ()
    assert free(replace(CARD, devices=(CPU,))) == ()
