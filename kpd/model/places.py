"""Where measurements are made: hosts and devices as they were probed, and what a task needs of them."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Need:
    """What a task's device must be: `gpu` is part of its name, in any case of letters, `arch` its architecture (sm_90).

    Empty words ask for nothing: any device will do that the task's language can use. A task with its own benchmark may
    say which kind of `device` that is.
    """

    gpu: str = ""
    arch: str = ""
    device: Literal["", "cpu", "gpu"] = ""


ANY = Need()


@dataclass(frozen=True, slots=True)
class Device:
    """What one measurement at a time runs on: a GPU, or the CPU that measurements are pinned to.

    `id` is "cpu", or the GPU's UUID; `arch` is "sm_90" and the like, or the CPU's machine; `pci` is the bus id.
    Bandwidth in GB/s and peak in GFLOP/s are kpd's own measurements of a GPU; those of a CPU are on its host's card.
    """

    id: str
    kind: Literal["cpu", "gpu"]
    name: str
    arch: str = ""
    pci: str = ""
    memory_mib: int = 0
    bandwidth_gbs: float | None = None
    peak_gflops: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a host's preflight: what was found, and what a person can do about it when that is bad.

    `off` is something absent that nothing here needs. `name` is the subject: link, python, disk, gpu, nvcc, …
    """

    name: str
    state: Literal["ok", "bad", "off"]
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class HostCard:
    """A host and its devices as probed. Bandwidth in GB/s and peak in GFLOP/s are kpd's own of its CPU.

    While the link is down, `error` says why in words and `trouble` its kind (see `hosts.errors`); `offered` is the
    fingerprint of a host key that nobody has trusted yet. A host that is `stuck` waits for a person: time
    alone will hardly heal it. `rtt_ms` is a round trip to the helper when it was probed.
    """

    name: str
    transport: str
    link: Literal["up", "down"] = "up"
    system: str = ""
    device: str = ""
    cpu: int | None = None
    compiler: str = ""
    counters: str = ""
    bandwidth_gbs: float | None = None
    peak_gflops: float | None = None
    error: str = ""
    address: str = ""
    trouble: str = ""
    offered: str = ""
    stuck: bool = False
    rtt_ms: float | None = None
    devices: tuple[Device, ...] = ()
    checks: tuple[Check, ...] = ()
