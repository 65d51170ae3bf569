"""Times candidate against incumbent, A B B A, in fresh processes of one job."""

import contextlib
from collections.abc import AsyncGenerator, Container, Iterable, Mapping
from dataclasses import dataclass, field

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec
from kpd.hosts.job import Leave, never
from kpd.measure import jobs, samples
from kpd.measure.bench import CheckFailed, Say
from kpd.measure.driver.check import (
    CheckFailure,
    Report,
    refuse_device_trouble,
    refuse_driver_trouble,
    seeded,
    wrong,
)
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.driver.pairs import CASE_LIMIT_MS, PLACING, PlaceObject, pair_spec
from kpd.measure.reports import reports
from kpd.measure.run_context import RunContext
from kpd.measure.samples import Batches, CaseSample, ClockReadings, DriverClock, ProcessSample
from kpd.measure.seeds import Draws
from kpd.model.codec import CodecError, decode
from kpd.model.defects import LeftThreads, WrongResult
from kpd.text.numbers import counted
from kpd.workspace.specs import BenchSpec, CheckSpec

LOST_SHARE = 0.1
"""A process that lost the CPU for more than this share of a case's time is tainted: medians tolerate less."""
STEAL_SHARE = 0.1
"""A process is also tainted when the hypervisor took more than this share of its time."""
APART, REPEAT = "apart", "repeat"
"""The words in the line of a process in which either callable has one of its own, and of one on unchanged inputs."""
MOST_PAD = 4096
"""Bytes, a page: the environment of a process is up to so much longer, so that its stack begins elsewhere."""
TICK_NS = 10_000_000
"""A tick of /proc/stat in nanoseconds: 1/100 s on all common Linux systems."""


@dataclass(frozen=True, slots=True)
class CaseReport:
    """A case as the driver reports it: its batches (see CaseSample), and what may have disturbed them.

    `lost_ns` is the time of these batches in which other work had the CPU, `steal_ticks` are the ticks that the
    hypervisor took, `threads` those of the process (0: not known). `layouts` and `fresh` are as in CaseSample, `quick`
    as in ProcessSample. The other fields are for a GPU: a side that `synchronises` waits for it, so its time on the
    device alone cannot be told (None), and a GPU was `gpu_busy` that did other work after most batches of both.
    """

    reps: int
    a_ns: tuple[int, ...]
    b_ns: tuple[int, ...]
    steal_ticks: int
    threads: int
    lost_ns: int = 0
    layouts: int = 1
    warm: Batches | None = None
    device_ns: tuple[float | None, float | None] | None = None
    synchronises: tuple[bool, bool] = (False, False)
    telemetry: ClockReadings | None = None
    clock: DriverClock | None = None
    host_ns: tuple[float, float] | None = None
    gpu_busy: bool = False
    quick: bool = False
    fresh: Batches | None = None

    def sample(self) -> CaseSample:
        """Return the part of the report that is kept."""
        incumbent, candidate = self.device_ns or (None, None)
        device_ns = None if incumbent is None or candidate is None else (incumbent, candidate)
        return CaseSample(
            self.reps, self.a_ns, self.b_ns, device_ns, self.warm, self.telemetry, self.layouts, clock=self.clock,
            host_ns=self.host_ns, fresh=self.fresh,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Report:
    cases: dict[str, CaseReport]
    problem: CheckFailure | None
    compared: bool | None = None
    spent: dict[str, float] = field(default_factory=dict)


async def time_pair(
    host: Host, harness: Harness, incumbent: str, candidate: str, job: str, first: int, processes: int,
    bench: BenchSpec, tolerance: CheckSpec, where: RunContext | None = None, say: Say | None = None,
    place: PlaceObject | None = None, reference: str = "", quick: int = 0,
) -> AsyncGenerator[ProcessSample]:  # fmt: skip
    """Yield a sample from each of `processes` fresh processes, numbered from `first`; see `Bench.time` for `quick`.

    `incumbent` and `candidate` are build jobs, which may be the same. One job runs all processes, and each sample comes
    as soon as its process has ended; closing the generator ends the job, and may raise HostError (see `reports`). A job
    that was ended early is read as far as it got, so there may be fewer samples. Which object is loaded first
    alternates with the process number; where stack and heap begin is drawn for each process, and so is what `place`
    draws (None: nothing). Raises CheckFailed when an output is wrong after it was timed, and HostError.
    """
    where, limit_s = where or RunContext(), bench.limit_s * processes
    stdin = lines(first, processes, quick=quick if harness.forks else 0)
    if harness.forks:
        objects = [jobs.out(host, built, OBJECT) for built in (incumbent, candidate)]
        script = seeded((*harness.command(tolerance, reference), *times(objects, bench, processes)), *objects)
        spec = where.spec(job, script, limit_s, stdin)
    else:
        spec = pair_spec(
            host, harness, incumbent, candidate, job, bench, tolerance, where, place, reference, stdin, limit_s
        )
    async with contextlib.aclosing(samples_of(host, harness, spec, first, processes, say)) as found:
        async for sample in found:
            yield sample


def times(objects: Iterable[str], bench: BenchSpec, processes: int, *audit: object) -> tuple[str, ...]:
    """Return the command of a driver that forks the processes of a contest between the objects at these paths.

    What is said of an `audit` among them comes last.
    """
    return ("times", *objects, *map(str, (bench.quads, CASE_LIMIT_MS, processes, *audit)))


def lines(first: int, processes: int, alone: bool = False, quick: int = 0) -> bytes:
    """Return what the processes read: each a line with its seed, its order and what it times.

    Those with numbers below `quick` are timed by their own clock.

    With `alone`, processes of even numbers have the incumbent on both sides, and those of odd numbers the candidate.
    The results of the incumbent alone are not looked at: it was accepted before. Those of the candidate are, on a GPU
    in a third of the cases and one, drawn in secret for each process.
    """
    draws = Draws(f"time {first} {alone}")
    numbered = [(number, "ab"[number % 2]) for number in range(first, first + processes)]
    return b"".join(_line(draws, side, side if alone else "q" if at < quick else "-") for at, side in numbered)


def audit_line(what: str, processes: int = 1) -> bytes:
    """Return the lines of processes of an audit: FRESH, ROWS, APART or REPEAT. What each loads first is drawn."""
    draws = Draws(what)
    return b"".join(_line(draws, "ab"[draws.below(2)], what) for _ in range(processes))


def _line(draws: Draws, order: str, what: str) -> bytes:
    """Return a line: the seed, the order, what is timed, and the layout of the process.

    That is the bytes that its environment is longer, and a number for each object.
    """
    layout = f"{1 + draws.below(MOST_PAD)} {draws.below(1 << 31)} {draws.below(1 << 31)}"
    return f"{draws.seed()} {order} {what} {layout}\n".encode()


async def samples_of(
    host: Host, harness: Harness, spec: JobSpec, first: int, processes: int, say: Say | None,
    others: Container[int] = (), leave: Leave = never,
) -> AsyncGenerator[ProcessSample]:  # fmt: skip
    """Yield what the processes of a job report, of which the `others` are not these: see `time_pair`.

    When the generator is closed, `leave` says whether the job goes on.
    """
    numbers = range(first, first + processes)
    problem: CheckFailure | None = None
    taken, number = 0, -1
    try:
        async with contextlib.aclosing(reports(host, spec, say, leave)) as said:
            async for line in said:
                number += 1
                if isinstance(line, JobResult):
                    await _refuse_end(host, harness, line, problem, spec.limit_s, processes - taken)
                    return
                if number in others:
                    problem = problem or decode(line.text, Report).problem
                elif problem is None:  # else the driver is about to end, and its stderr may explain the problem
                    report = decode(line.text, _Report)
                    problem = report.problem
                    if taken == processes:
                        raise CodecError(f"more than {processes} processes reported")
                    if problem is None:
                        _refuse_threads(report)
                        yield _sample(numbers[taken], report, line.taint)
                        taken += 1
    except CodecError as err:
        raise HostError("host", f"{host.name}: job {spec.id} did not report: {err}") from err


async def _refuse_end(
    host: Host, harness: Harness, result: JobResult, problem: CheckFailure | None, limit_s: float, missing: int
) -> None:
    """Raise for a job that failed, or that ended with too few reports. Raises CheckFailed and HostError."""
    if problem is not None:
        await refuse_device_trouble(host, result, problem)
        raise CheckFailed(wrong(problem, stderr=result.stderr))
    if result.cached and jobs.cut_short(result):
        return
    await jobs.refuse_unfinished(host, result)
    if result.rc == PLACING:
        await host.forget(result.id)
        said = f"{host.name}: the kernels could not be linked for a timing process: {jobs.tail(result.stderr)}"
        raise HostError("host", said, "check the host's linker and disk, then resume to measure again")
    await refuse_driver_trouble(host, harness, result, "timing", limit_s)
    if missing:
        raise await jobs.unreported(host, result, f"{counted(missing, 'process')} did not")


def _sample(process: int, report: _Report, foreign: str) -> ProcessSample:
    cases = {name: case.sample() for name, case in report.cases.items()}
    return ProcessSample(
        process, cases, foreign or taint(report.cases), compared=report.compared, spent=report.spent,
        quick=any(case.quick for case in report.cases.values()),
    )  # fmt: skip


def taint(cases: Mapping[str, CaseReport]) -> str:
    """Return why the times should not be believed; empty when they should."""
    for name, case in cases.items():
        spent = sum(case.a_ns) + sum(case.b_ns)
        if case.lost_ns > LOST_SHARE * spent:
            return f"other work took the CPU for {case.lost_ns / 1e6:.1f} of {spent / 1e6:.1f} ms of {name}"
        if case.gpu_busy:
            return "the GPU was busy with other work after most batches"
        if case.telemetry is not None and (slowed := samples.taint(name, case.telemetry)):
            return slowed
    if any(case.warm or case.device_ns or case.host_ns for case in cases.values()):
        return ""  # a GPU measures the time itself, whatever the CPU does
    spent = sum(sum(case.a_ns) + sum(case.b_ns) for case in cases.values())
    stolen = TICK_NS * sum(case.steal_ticks for case in cases.values())
    if stolen > STEAL_SHARE * spent:
        return f"the hypervisor took the CPU for {stolen // 1_000_000} of {spent // 1_000_000} ms"
    return ""


def _refuse_threads(report: _Report) -> None:
    """Raise CheckFailed for a thread that outlives the call: it could compute while the clock does not run."""
    for name, case in report.cases.items():
        if case.threads > 1:
            raise CheckFailed(WrongResult(LeftThreads(case.threads - 1), name))
