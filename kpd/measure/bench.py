"""Defines the interface by which the engine measures candidates on a host, for every language."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from kpd.hosts.host import JobResult
from kpd.hosts.job import Leave, never
from kpd.measure.audits import AuditSamples
from kpd.measure.judge import HeldOutResult
from kpd.measure.samples import ProcessSample
from kpd.measure.score import CaseWork
from kpd.model.defects import WrongResult
from kpd.model.flags import Flag
from kpd.model.hosts import Device
from kpd.model.sanitizer import Tool, ToolReport
from kpd.text.faults import wrong as told

Say = Callable[[str], None]
Fresh = Callable[[], None]
"""What is called once an audit has timed all calls on fresh inputs."""
Counted = Callable[[Callable[[int], str]], str]
"""A function that makes a shell script from `calls(number)`: a command with so many calls of the kernel per case."""


@dataclass(frozen=True, slots=True)
class BuiltObject:
    """A built candidate: the id of the host's job whose `out/` folder holds it, and what the compiler said.

    `hashes` are the sha256 of the files in that folder, by name. `made`: they were taken now, not read from a cache.
    """

    job: str
    cached: bool
    flags: str
    warnings: int
    log: str
    hashes: Mapping[str, str] = field(default_factory=dict)
    made: bool = False


FindObject = Callable[[], Awaitable[BuiltObject]]


@dataclass(frozen=True, slots=True)
class CheckPassed:
    """A check that passed: the largest error in tolerances, where it was seen, and whose outputs are the truth.

    `run_s` is the time of one run of the task's own benchmark in seconds; None where the check did not run it. `unread`
    are the entries of its cases that have no name or no time. `drawn` and `unchecked` are as in `Checked`; `spent` as
    in ProcessSample. `kept` is the sha256 of what the check has compiled for later jobs; empty for nothing. `fewest`
    are the comparisons of the case and kind of inputs that have the fewest; 0 where nobody counts them.
    """

    comparisons: int
    worst: float
    where: str
    truth: Literal["oracle", "baseline"] = "oracle"
    run_s: float | None = None
    unread: tuple[str, ...] = ()
    drawn: int = 0
    unchecked: int = 0
    spent: Mapping[str, float] = field(default_factory=dict)
    kept: str = ""
    fewest: int = 0


class CheckFailed(Exception):
    """The candidate gives wrong results, crashes, hangs, or writes where it must not: see `wrong`."""

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
    """The kernel launches of a process that a GPU profiler looks at, at most `most` of them.

    `kernel` is a regular expression for the kernels' names; empty means any kernel. With `marked`, only launches
    between cudaProfilerStart and cudaProfilerStop count: kpd's driver calls these around what it measures.
    """

    kernel: str = ""
    marked: bool = True
    most: int = 64


class Bench(Protocol):
    """A task made ready on a host. The caller chooses the ids in `job`: the host runs each id at most once."""

    @property
    def work(self) -> Mapping[str, CaseWork]:
        """The least that each case must move and compute."""

    @property
    def peaks(self) -> tuple[float | None, float | None]:
        """The measured peaks of the device: bandwidth past all caches in GB/s, and arithmetic in GFLOP/s."""

    async def remeasure(self) -> None:
        """Measure the limits of the device again; `work` and `peaks` then use the better figures.

        The device may have been slowed down during the first measurement. Only the first call measures.
        """

    @property
    def device(self) -> Device:
        """The device that candidates are measured on."""

    @property
    def checks_alone(self) -> bool:
        """Whether a check needs the device for itself: true on a GPU; on a CPU a check runs beside what is timed."""

    @property
    def launches(self) -> LaunchFilter:
        """The kernel launches of a candidate that are profiled on a GPU."""

    async def stage(self, files: Mapping[str, bytes]) -> str:
        """Put the pristine task, with `files` in place of its own, on the host as a tree. Return its digest.

        Nothing is sent again for what this bench has staged or built before, here and in `build`.
        """

    async def build(self, tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        """Build the staged `tree` with the editable `files`. Raises BuildError when the candidate is at fault."""

    async def check(
        self, built: str, job: str, say: Say, incumbent: FindObject | None = None, quick: int = 0
    ) -> CheckPassed:
        """Compare the outputs with the oracle on fresh secret seeds. `built` is a build job. Raises CheckFailed.

        Where `incumbent` is given, the contest against it may begin in the same job, and go on after the check has
        passed; `time` reads that. Its first processes are `quick` ones as there.
        """

    def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say, quick: int = 0,
        leave: Leave = never,
    ) -> AsyncGenerator[ProcessSample]:  # fmt: skip
        """Yield a sample from each of at most `processes` fresh processes, numbered from `first`, as they end.

        Each process times both objects. Those with numbers below `quick` may be quick ones (see ProcessSample). Closing
        the generator ends the job, unless `leave` says that the candidate is audited next, and a `repeat` of both can
        read that from the same job; it raises HostError (busy) where the device was not the job's own until then. Else
        samples that were yielded stay valid, and the same job yields them again; if it was ended early, there are
        fewer. Raises CheckFailed.
        """

    @property
    def inspects_beside(self) -> bool:
        """Whether `inspect` keeps nobody from measuring meanwhile: there are other CPUs for it."""

    async def inspect(self, built: str, say: Say) -> tuple[Flag, ...]:
        """Return what looks wrong with the object of build job `built`, and not with the task's own kernel."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that look at winners beside the run, if the task wants that and the host has them.

        The first one decides: it has to see every case.
        """

    async def sanitize(self, built: str, tool: Tool, job: str, limit_s: float, say: Say) -> ToolReport:
        """Run the checked cases once with the object of build job `built`, under one tool of compute-sanitizer.

        Or, as `overflow`, call it at sizes that no case has: far larger ones.

        It takes at most `limit_s` seconds, and holds the lease of the device.
        """

    @property
    def repeats_beside(self) -> bool:
        """Whether `repeat` may run while an `audit` times each kernel alone: in a job of its own, on other CPUs."""

    async def repeat(self, built: str, job: str, say: Say, incumbent: str | None = None) -> dict[str, int] | None:
        """Call a candidate that is about to be accepted on inputs that do not change, in a process of its own.

        Where `incumbent` is given, the audits against it may begin in the same job, and go on after that; the next
        `audit` of both reads them.

        Return the number of calls of each case, and of those on new inputs; None where that cannot be done.
        Raises CheckFailed when a result is wrong, or differs from the first where the task wants the same bits.
        """

    async def audit(
        self, incumbent: str, candidate: str, job: str, say: Say, alone: int = 1, fresh: Fresh | None = None,
        times: int = 1, rows: bool = False,
    ) -> AuditSamples | None:  # fmt: skip
        """Time a candidate that is about to be accepted as the audits want it; None where that cannot be done.

        There are as many `times` processes for calls on fresh inputs, where one job can take several, and after them
        `alone` times those that time one kernel only. `fresh` is called in between. With `rows` calls of objects on
        fresh inputs follow one another on a GPU, besides those that are timed one by one. Raises CheckFailed.
        """

    async def final(self, incumbent: str | None, candidate: str, job: str, say: Say) -> HeldOutResult | None:
        """Measure the cases that the task holds out: None when it holds none out. Raises CheckFailed.

        This is for the baseline (`incumbent` is None) and for a candidate that is about to be accepted.
        """

    async def forget(self, job: str) -> None:
        """End a check or timing job and let it run again when it is next asked for, if the host can be reached."""

    async def listing(self, built: str) -> CompilerListing:
        """Return what the compiler wrote in build job `built`."""

    async def counted(self, built: str, job: str, script: Counted, say: Say) -> JobResult:
        """Run a script that a profiler needs, on the device where candidates are timed."""

    async def output(self, job: str, name: str, limit: int) -> bytes:
        """Read a file that a job left in its `out/` folder. Raises HostError."""
