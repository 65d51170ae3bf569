"""Defines the interface by which the engine measures candidates on a host, for every language."""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kpd.hosts.host import JobResult
from kpd.measure.judge import HeldOutResult
from kpd.measure.samples import ProcessSample
from kpd.measure.score import CaseWork
from kpd.model.faults import WrongResult
from kpd.model.hosts import Device
from kpd.text.faults import wrong as told

Say = Callable[[str], None]
Counted = Callable[[Callable[[int], str]], str]
"""A shell script made from `calls(number)`: the command line of a process that calls the kernel so often a case."""


@dataclass(frozen=True, slots=True)
class BuiltObject:
    """A candidate that was built: the host's job whose `out/` folder holds it, and what the compiler said."""

    job: str
    cached: bool
    flags: str
    warnings: int
    log: str


@dataclass(frozen=True, slots=True)
class CheckPassed:
    """A check that passed: the largest error as a multiple of the tolerance, and where it was seen."""

    comparisons: int
    worst: float
    where: str


class CheckFailed(Exception):
    """The candidate computes something else, breaks, hangs, or writes where it must not: see `wrong`."""

    def __init__(self, wrong: WrongResult) -> None:
        super().__init__(told(wrong))
        self.wrong = wrong


@dataclass(frozen=True, slots=True)
class CompilerListing:
    """What the compiler wrote beside the object: assembly, and its remarks on vectorisation."""

    assembly: str
    remarks: str


@dataclass(frozen=True, slots=True)
class LaunchFilter:
    """Which kernel launches of a process a profiler of GPUs looks at, at most `most` of them.

    `kernel` is a regular expression for their names; empty takes any. `marked` are only those between
    cudaProfilerStart and cudaProfilerStop, as kpd's driver calls them around what it measures.
    """

    kernel: str = ""
    marked: bool = True
    most: int = 64


class Bench(Protocol):
    """A task made ready on a host. `job` names are the caller's: the host runs each of them at most once."""

    @property
    def work(self) -> Mapping[str, CaseWork]:
        """What each case must move and compute at the least."""

    @property
    def peaks(self) -> tuple[float | None, float | None]:
        """What the device can do at best, measured: bandwidth past all caches in GB/s, arithmetic in GFLOP/s."""

    async def remeasure(self) -> None:
        """Measure once more what the device can do: `work` and `peaks` are then by the better figures.

        It was perhaps slowed when that was measured. Only the first time that it is asked for.
        """

    @property
    def device(self) -> Device:
        """What candidates are measured on."""

    @property
    def checks_alone(self) -> bool:
        """Whether a check must have the device for itself: on a GPU; on a CPU it runs beside what is timed."""

    @property
    def launches(self) -> LaunchFilter:
        """Which of a candidate's kernel launches are profiled, on a GPU."""

    async def stage(self, files: Mapping[str, bytes]) -> str:
        """Return the pristine task with `files` laid over it, as a tree on the host; its digest.

        What this bench has staged or built before costs no round trip, here and in `build`.
        """

    async def build(self, tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        """Raise BuildError, the candidate's fault."""

    async def check(self, built: str, job: str, say: Say) -> CheckPassed:
        """Compare with the oracle on fresh secret seeds. `built` is an Object's job. Raises CheckFailed."""

    def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say
    ) -> AsyncGenerator[ProcessSample]:
        """At most `processes` fresh processes, numbered from `first`, both objects in each, as they end.

        Closing the generator ends the job. What it yields stays true, and is the same when it is asked for again; there
        are fewer when the job was ended before it was asked for. Raises CheckFailed.
        """

    async def memcheck(self, built: str, job: str, say: Say) -> None:
        """Look for accesses out of bounds that a check cannot see, if the task asks for that. Raises CheckFailed."""

    async def final(self, incumbent: str | None, candidate: str, job: str, say: Say) -> HeldOutResult | None:
        """Return the cases that the task holds out, for the baseline (no incumbent) or a candidate that is to be accepted.

        None when it holds none out. Raises CheckFailed.
        """

    async def forget(self, job: str) -> None:
        """Let a job of check or time run again when it is next asked for, if the host can be reached; end it first."""

    async def listing(self, built: str) -> CompilerListing:
        """Return what the compiler wrote in build job `built`."""

    async def counted(self, built: str, job: str, script: Counted, say: Say) -> JobResult:
        """Run a script that a profiler needs, where the candidate is timed."""

    async def output(self, job: str, name: str, limit: int) -> bytes:
        """Return what a job has left in its `out/`. Raises HostError."""
