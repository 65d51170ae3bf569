"""Defines hosts and devices as they were probed, and what a task needs of them."""

from dataclasses import dataclass, field
from typing import Literal

DeviceRef = tuple[str, str]
"""A host's name, and the id of one of its devices."""


Cpus = int | Literal["", "all"]
"""How many CPUs a measurement has; empty: one for kpd's own driver, all for a task's own benchmark."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a task's device must be: `gpu` is part of its name, in any case of letters, `arch` its architecture (sm_90).

    An empty field asks for nothing: any device will do that the task's language can use. A task with its own benchmark
    may say which kind of `device` it needs, and how many `cpus` its commands may run on.
    """

    gpu: str = ""
    arch: str = ""
    device: Literal["", "cpu", "gpu"] = ""
    cpus: Cpus = ""


ANY = Need()


ProcessOwner = Literal["kpd", "tolerated", "foreign", "unseen"]
"""Who owns a process: a job of this user's kpd, one that the config tolerates, anybody else, or one that the host lists
and cannot look at (it is in another container, or it has just ended)."""


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that computes on a GPU; `memory_mib` is None where the driver does not say."""

    pid: int
    name: str
    memory_mib: int | None = None
    whose: ProcessOwner = "foreign"


@dataclass(frozen=True, slots=True)
class Telemetry:
    """How a device was at the Unix time `at`, by kpd's clock. A field that is None or empty was not reported.

    `holder` is who has its lease, as the lock file says, and `since` the Unix time from when; `unlocked` says why that
    is not known. `slowed` are the driver's reasons for a clock below the usual one. `trouble` says why a GPU has no
    figures.
    """

    at: float
    holder: str = ""
    since: float = 0.0
    unlocked: str = ""
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    memory_used_mib: float | None = None
    busy_pct: float | None = None
    slowed: tuple[str, ...] = ()
    computes: tuple[GpuProcess, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """What one measurement at a time runs on: a GPU, or the CPU that measurements are pinned to.

    `id` is "cpu", or the GPU's UUID; `arch` is "sm_90" and the like, or the CPU's machine; `pci` is the bus id.
    Bandwidth in GB/s and peak in GFLOP/s are kpd's own measurements of a GPU; those of a CPU are on its host's card.
    `clocks` are a GPU's highest clocks in MHz, of its SMs and its memory ("1980/2619"); empty where they are not known.
    `telemetry` is what it did when its host was last looked at in full.
    """

    id: str
    kind: Literal["cpu", "gpu"]
    name: str
    arch: str = ""
    pci: str = ""
    memory_mib: int = 0
    bandwidth_gbs: float | None = None
    peak_gflops: float | None = None
    telemetry: Telemetry | None = None
    clocks: str = ""


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """What must be the same of two devices, for a run to go on with the other one.

    An empty field is not known, and may be anything.
    """

    name: str
    driver: str = ""
    clocks: str = ""

    def is_like(self, other: "DeviceKind") -> bool:
        """Return whether all that is known of both is the same."""
        pairs = (self.driver, other.driver), (self.clocks, other.clocks)
        return self.name == other.name and all(mine == its or not mine or not its for mine, its in pairs)


@dataclass(frozen=True, slots=True)
class FormerKind:
    """A kind of device on which a run was before: its iterations from `since` on, up to those on the next kind.

    `incumbent` was the incumbent there at last; None where not even a baseline was.
    """

    kind: DeviceKind
    since: int
    incumbent: int | None


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One look at a host that is up: what its devices did, by their ids. `rtt_ms` is a round trip to its helper."""

    host: str
    at: float
    rtt_ms: float | None = None
    devices: dict[str, Telemetry] = field(default_factory=dict)


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
class Confinement:
    """What a host has to keep a candidate's jobs to themselves.

    `landlock` is the version of the kernel's Landlock, 0 without it; `bubblewrap`: jobs run under that instead.
    `filtered`: the process that runs kernels has a filter of its system calls (seccomp).
    """

    landlock: int = 0
    bubblewrap: bool = False
    filtered: bool = False

    @property
    def confined(self) -> bool:
        """Whether jobs of candidates run in a sandbox."""
        return self.landlock > 0 or self.bubblewrap


Standing = Literal["up", "down", "pending", "released"]
"""Where a host stands: a cluster's is `pending` while it is asked for, and `released` while nobody has asked for it."""


def standing(link: str, trouble: str) -> Standing:
    """Return where a host stands by its card's `link` and `trouble`."""
    if link == "up":
        return "up"
    return "pending" if trouble == "pending" else "released" if trouble == "released" else "down"


@dataclass(frozen=True, slots=True)
class HostCard:
    """A host and its devices as probed. Bandwidth in GB/s and peak in GFLOP/s are kpd's own measurements of its CPU.

    `driver` and `cuda` are the versions of NVIDIA's driver and of the toolkit; empty without a GPU, or in older logs.
    `confinement` is None in older logs.

    While the link is down, `error` says why in words and `trouble` its kind (see `hosts.errors`); `offered` is the
    fingerprint of a host key that nobody has trusted yet. A host that is `stuck` waits for a person: time
    alone will hardly mend it. `rtt_ms` is a round trip to the helper when it was probed. `table` is the name of its
    table in config.toml where that makes several hosts. One that only `builds` measures nothing.
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
    driver: str = ""
    cuda: str = ""
    confinement: Confinement | None = None
    table: str = ""
    builds: bool = False

    def kind_of(self, device: Device) -> DeviceKind:
        """Return the kind of one of its devices."""
        return DeviceKind(device.name, self.driver if device.kind == "gpu" else "", device.clocks)

    @property
    def standing(self) -> Standing:
        return standing(self.link, self.trouble)
