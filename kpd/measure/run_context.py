"""Decides the CPUs, lease and priority with which a program of a measurement runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kpd.hosts.host import JobSpec, LeaseRequest
from kpd.hosts.preflight.probe import HostFacts, command_cpus, measuring_cpu, spare_cpus
from kpd.measure.jobs import GONE
from kpd.measure.seals import Seals, guard
from kpd.model.hosts import Cpus, Device

NICE = 10
"""The niceness of builds. Without it the kernel would move other processes to the CPU that is timed on."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """The conditions in which a program runs: its CPUs (empty: any), lease, environment variables and niceness.

    It is `confined` to a sandbox unless it needs what only the user knows; `capable` is for profilers (see `JobSpec`).
    It ends with an error before it begins where the files of `seals` are not as they were built.
    """

    cpus: tuple[int, ...] = ()
    lease: LeaseRequest | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    nice: int = 0
    confined: bool = True
    capable: bool = False
    seals: Seals = field(default_factory=dict)

    @property
    def gpu(self) -> bool:
        return self.lease is not None and self.lease.gpu

    def spec(self, job: str, script: str, limit_s: float, stdin: bytes = b"") -> JobSpec:
        """Return the job that runs `script` in this context, for at most `limit_s` seconds."""
        script = guard(self.seals, GONE) + script
        return JobSpec(
            job, script, limit_s, stdin, dict(self.env), self.cpus, self.lease, self.nice, self.confined, self.capable
        )


def command_context(facts: HostFacts, device: Device, cpus: Cpus, env: Mapping[str, str] = {}) -> RunContext:
    """Return the context in which a task's own commands are timed: on as many CPUs as it needs. Raises HostError."""
    return RunContext(command_cpus(facts, cpus), LeaseRequest(device.id, gpu=device.kind == "gpu"), env)


def timed_context(facts: HostFacts, device: Device, env: Mapping[str, str] = {}) -> RunContext:
    """Return the context in which kpd's driver times candidates: on one CPU, or on a GPU that nobody else uses."""
    cpu = measuring_cpu(facts) if device.kind == "cpu" else None
    return RunContext(() if cpu is None else (cpu,), LeaseRequest(device.id, gpu=device.kind == "gpu"), env)


def untimed_context(facts: HostFacts, device: Device) -> RunContext:
    """Return the context for programs that must not disturb what is timed: on the other CPUs.

    Where the host has no other CPU, or cannot pin programs to CPUs, it holds the device's lease instead.
    """
    cpus = spare_cpus(facts)
    return RunContext(cpus, nice=NICE) if cpus else RunContext(lease=LeaseRequest(device.id))
