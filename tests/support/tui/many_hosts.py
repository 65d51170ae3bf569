"""Hosts for the UI's tests, healthy and otherwise, and logs of several runs on them."""

from dataclasses import replace

from kpd.hosts import errors
from kpd.model import events as e
from kpd.model.agents import AGAIN
from kpd.model.budget import Budget
from kpd.model.causes import Noise
from kpd.model.hosts import Check, Device, GpuProcess, HostCard, Telemetry
from kpd.model.kinds import Told
from kpd.model.waits import PausedBy
from tests.support.tui.logs import BEGIN, TASK, Log, measured, proposed, verdict_of

FINGERPRINT = "SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDHFlWeMsJ2vNVrv8Q"
GPU_TASK = "rmsnorm_silu_gpu"
CPU = Device("cpu", "cpu", "AMD EPYC 9534 64-Core Processor", "x86_64")
H100 = Device("GPU-7d1c", "gpu", "NVIDIA H100 80GB HBM3", "sm_90", "00000000:17:00.0", 81559)
CHECKS = (
    Check("link", "ok", "ssh to op@gpu1.lab, 0.4 ms there and back"),
    Check("python", "ok", "3.11.2"),
    Check("disk", "ok", "812.4 GiB free"),
    Check("clock", "ok", "agrees with this machine's"),
    Check("compiler", "ok", "gcc (Debian 12.2.0-14) 12.2.0"),
    Check("gpu", "ok", "NVIDIA H100 80GB HBM3, driver 550.54.15"),
    Check("nvcc", "ok", "CUDA 12.4, /usr/local/cuda-12.4/bin/nvcc"),
    Check("ncu", "ok", "2024.1.1, /usr/local/cuda-12.4/bin/ncu"),
    Check("cpu counters", "off", "no hardware counters: perf stat runs, but this machine does not support them"),
    Check(
        "gpu counters", "bad", "the driver keeps them for administrators",
        "set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, or run as root",
    ),
)  # fmt: skip


def gpu_host(name: str = "gpu1", gpus: int = 1, checks: tuple[Check, ...] = CHECKS) -> HostCard:
    cards = tuple(replace(H100, id=f"GPU-{nth}", pci=f"00000000:{0x17 + nth * 9:02X}:00.0") for nth in range(gpus))
    return HostCard(
        name, "ssh", system="Linux 6.8.0-51-generic x86_64", device=CPU.name, cpu=127, compiler="gcc 12.2.0",
        address=f"op@{name}.lab", rtt_ms=0.412, devices=(CPU, *cards), checks=checks,
    )  # fmt: skip


def down(card: HostCard, kind: str, found: str, remedy: str, offered: str = "") -> HostCard:
    """The card of a host that was known and cannot be reached."""
    check = Check("link", "bad", found, remedy)
    return replace(
        card, link="down", error=f"{found}; {remedy}", trouble=kind, offered=offered, stuck=kind not in errors.LOST,
        rtt_ms=None, checks=(check,),
    )  # fmt: skip


LOST = down(
    gpu_host("gpu2"), "unreachable", "connect to gpu2.lab port 22: no route to host",
    "check the network and that the host is up; kpd keeps trying",
)  # fmt: skip
REFUSED = down(
    HostCard("gpu4", "ssh", address="op@gpu4.lab"), "auth", "permission denied (publickey)",
    "check the user and the key with `ssh -v`; is the key in the agent?",
)  # fmt: skip
NEW = down(
    HostCard("gpu3", "ssh", address="op@gpu3.lab"), "host_key", "the key of gpu3.lab is unknown",
    f"compare {FINGERPRINT} with the host's own, then kpd hosts trust gpu3", FINGERPRINT,
)  # fmt: skip


IDLE = Telemetry(
    0.0, sm_mhz=345, memory_mhz=2619, power_w=71.4, power_limit_w=700, temperature_c=29, memory_used_mib=4, busy_pct=0,
)  # fmt: skip
BUSY = replace(
    IDLE, holder="op@kernels, r1.1.1-time", since=BEGIN, sm_mhz=1980, power_w=412.7, temperature_c=58,
    memory_used_mib=1830, busy_pct=97, computes=(GpuProcess(4211, "timed", 1826, "kpd"),),
)  # fmt: skip
TAKEN = replace(
    IDLE, sm_mhz=1410, power_w=655.1, temperature_c=87, memory_used_mib=61_440, busy_pct=100, slowed=("too hot",),
    computes=(GpuProcess(77, "train.py", 61_102), GpuProcess(812, "Xorg", 4, "tolerated")),
)  # fmt: skip


def telling(card: HostCard, *seen: Telemetry, at: float = BEGIN) -> HostCard:
    """The host as it was looked at; `seen` of its devices, the CPU first."""
    told = (replace(one, at=at) for one in seen)
    return replace(card, devices=tuple(map(_with, card.devices, told)))


def _with(device: Device, seen: Telemetry) -> Device:
    return replace(device, telemetry=seen)


class HostsLog(Log):
    def hosts(self, *cards: HostCard) -> "HostsLog":
        for card in cards:
            self.emit(e.HostProbed(card))
        return self

    def queued(self, run: str, task: str = TASK, host: str = "any", waiting: str = "") -> "HostsLog":
        self.emit(e.RunQueued(run, task, "sweep", host, Budget(iterations=8), by="op"))
        if waiting:
            self.emit(e.RunWaits(run, Told(waiting)))
        return self

    def on(self, run: str, card: HostCard, device: Device, task: str = TASK) -> "HostsLog":
        """A run that has begun on a device."""
        self.queued(run, task)
        self.emit(e.RunStarted(run, device.name, card.name, device.id), 0.4)
        return self


def begin() -> HostsLog:
    log = HostsLog()
    log.daemon().tasks()
    return log


def healthy() -> HostsLog:
    """One GPU host beside this machine, whose GPU a run has."""
    card = replace(telling(gpu_host(), Telemetry(0.0), BUSY), bandwidth_gbs=2918.0, peak_gflops=51_200.0)
    log = HostsLog()
    log.emit(e.DaemonStarted("0.1.0", 4711, "/home/op/kernels"))
    log.tasks()
    log.hosts(card).on("r1", card, card.devices[1]).baseline()
    log.at_step(1, "time", "UNROLL=4: fewer branches in the first pass")
    return log


def troubled() -> HostsLog:
    """One host is down, and another one shows a key that nobody has trusted."""
    log = begin()
    log.hosts(gpu_host(), LOST, NEW).on("r1", gpu_host(), gpu_host().devices[1]).baseline()
    log.at_step(1, "time", "UNROLL=4: fewer branches in the first pass")
    return log


def eight() -> HostsLog:
    """A host of eight GPUs, one of them somebody else's, and a queue."""
    seen = (Telemetry(0.0), BUSY, IDLE, TAKEN, *[IDLE] * 5)
    card = telling(gpu_host(gpus=8), *seen)
    log = begin().hosts(card).on("r1", card, card.devices[1]).baseline()
    log.at_step(1, "time", "UNROLL=4: fewer branches in the first pass")
    return log.queued("r2", GPU_TASK, "gpu1", "gpu1: train.py (77) computes on it").queued("r3", "transpose_cpu")


def sixteen() -> HostsLog:
    fine = tuple(check for check in CHECKS if check.state != "bad")
    cards = {f"gpu{nth}": gpu_host(f"gpu{nth}", 8, fine if nth % 5 else CHECKS) for nth in range(1, 16)}
    cards |= {"gpu2": replace(LOST, devices=cards["gpu2"].devices), "gpu4": REFUSED}
    log = begin()
    log.hosts(*cards.values())
    for nth, (name, device) in enumerate((("gpu1", 1), ("gpu1", 2), ("gpu7", 8)), 1):
        log.on(f"r{nth}", cards[name], cards[name].devices[device]).baseline(f"r{nth}")
        log.at_step(1, "time", "UNROLL=4", run=f"r{nth}")
    return log


LINK_LOST = "gpu2: connect to gpu2.lab port 22: no route to host; check the network and that the host is up"


def waiting() -> HostsLog:
    """A run whose host has gone away, and one in the queue that no device is free for."""
    up, gone = gpu_host("gpu2"), LOST
    log = begin()
    log.hosts(up).on("r1", up, up.devices[1]).baseline()
    log.iteration(1, "UNROLL=4: fewer branches in the first pass", 8.3, "faster")
    log.at_step(2, "time", "UNROLL=16 with -O3: does the loop still fit?", parent=1)
    log.hosts(gone).emit(e.RunWaits("r1", Told(LINK_LOST)))
    return log.queued("r2", "transpose_cpu", waiting="local: busy with another run; gpu2: no route to host")


def two() -> HostsLog:
    """Two runs at once, on two devices of one host."""
    card = gpu_host(gpus=2)
    log = begin()
    log.hosts(card).on("r1", card, card.devices[1]).baseline()
    log.iteration(1, "UNROLL=4: fewer branches in the first pass", 8.3, "faster")
    log.at_step(2, "check", "TILE=64: keep the row in the first-level cache", parent=1)
    log.on("r2", card, card.devices[2], "transpose_cpu").baseline("r2", 388.1)
    log.at_step(1, "time", "TILE=32 with padding against bank conflicts", run="r2")
    return log


def lanes() -> HostsLog:
    """A run on three of a host's four GPUs, with an iteration under way on each, one of which waits."""
    card = telling(gpu_host(gpus=4), Telemetry(0.0), BUSY, BUSY, IDLE, TAKEN)
    log = begin().hosts(card)
    log.emit(e.RunQueued("r1", TASK, "sweep", "any", Budget(iterations=12), by="op", devices=3))
    log.emit(e.RunStarted("r1", H100.name, card.name, card.devices[1].id), 0.4)
    log.emit(e.DevicesTaken("r1", tuple(device.id for device in card.devices[2:4])))
    log.baseline()
    log.iteration(1, "UNROLL=4: fewer branches in the first pass", 8.3, "faster")
    for number, lane in ((2, 1), (3, 2)):
        log.emit(e.IterationStarted("r1", number, AGAIN, 0, again=0, confirming="floor", lane=lane))
        verdict = verdict_of("same", 0.1 * number)
        log.steps("r1", number, *proposed("r1", number, "noise floor"), *measured("r1", number, 412.0, 412.0, verdict))
        log.end(number, "measured", Noise(verdict.gain))
    log.at_step(4, "time", "UNROLL=16 with -O3: does the loop still fit?", parent=1)
    log.at_step(5, "time", "TILE=64: keep the row in the first-level cache", parent=1, lane=1)
    log.at_step(6, "build", "VECTOR=8: sixteen bytes a load", parent=1, lane=2)
    log.emit(e.RunWaits("r1", Told("gpu1: train.py (77) computes on it"), lane=1))
    return log


def mixed() -> HostsLog:
    """One run at work, one paused by the operator, one that waits."""
    log = two()
    log.emit(e.RunPaused("r1", PausedBy("op"), "op"))
    return log
