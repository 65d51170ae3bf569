"""Times candidate against incumbent, A B B A, in fresh processes of one job."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec
from kpd.measure import jobs, samples
from kpd.measure.bench import CheckFailed, Say
from kpd.measure.driver.check import (
    CheckFailure,
    refuse_device_trouble,
    refuse_driver_trouble,
    seeded,
    wrong,
)
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.reports import reports
from kpd.measure.run_context import RunContext
from kpd.measure.samples import Batches, CaseSample, ClockReadings, DriverClock, ProcessSample
from kpd.measure.seals import UNCHANGED
from kpd.measure.seeds import Draws
from kpd.model.codec import CodecError, decode
from kpd.model.defects import LeftThreads, WrongResult
from kpd.text.numbers import counted
from kpd.workspace.specs import BenchSpec, CheckSpec

CASE_LIMIT_MS = 20_000
"""The most that one case may take in one process; usually it takes 50 to 100 ms."""
LOST_SHARE = 0.1
"""A process that lost the CPU for more than this share of a case's time is tainted: medians tolerate less."""
STEAL_SHARE = 0.1
"""A process is also tainted when the hypervisor took more than this share of its time."""
MOST_PAD = 4096
"""Bytes, a page: the environment of a process is up to so much longer, so that its stack begins elsewhere."""
FRESH = "fresh"
"""The word in the line of a process that times calls on fresh inputs."""
PLACING = 92
"""The exit status of a script that could not make the objects of a process."""
READY_AHEAD = 2
"""Processes that get ready on a GPU while one is timed: that takes longer than to time it."""
TICK_NS = 10_000_000
"""A tick of /proc/stat in nanoseconds: 1/100 s on all common Linux systems."""


@dataclass(frozen=True, slots=True)
class CaseReport:
    """A case as the driver reports it: its batches (see CaseSample), and what may have disturbed them.

    `lost_ns` is the time of these batches in which other work had the CPU, `steal_ticks` are the ticks that the
    hypervisor took, `threads` those of the process (0: not known). `layouts` is as in CaseSample. The other fields are
    for a GPU: a side that `synchronises` waits for it, so its time on the device alone cannot be told (None), and a
    GPU was `gpu_busy` that did other work after most batches of both. `quick` is as in ProcessSample.
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

    def sample(self) -> CaseSample:
        """Return the part of the report that is kept."""
        incumbent, candidate = self.device_ns or (None, None)
        device_ns = None if incumbent is None or candidate is None else (incumbent, candidate)
        return CaseSample(
            self.reps, self.a_ns, self.b_ns, device_ns, self.warm, self.telemetry, self.layouts, clock=self.clock,
            host_ns=self.host_ns,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Report:
    cases: dict[str, CaseReport]
    problem: CheckFailure | None
    compared: bool | None = None
    spent: dict[str, float] = field(default_factory=dict)


PlaceObject = Callable[[str, str, str], str]
"""A function that returns shell which makes a file of a built job's object, for one process.

It takes the job's name, the file's, and a word of the shell that is a random number. The shell exits with `jobs.GONE`
when the job's files are gone, and with PLACING when it fails otherwise.
"""


def copied(host: Host) -> PlaceObject:
    """Return how a process gets copies of the objects, as they were built."""

    def place(built: str, to: str, seed: str) -> str:
        return f"cp {jobs.words([jobs.out(host, built, OBJECT)])} {to} || exit {jobs.GONE}"

    return place


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


def pair_spec(
    host: Host, harness: Harness, incumbent: str, candidate: str, job: str, bench: BenchSpec, tolerance: CheckSpec,
    where: RunContext, place: PlaceObject | None, reference: str, stdin: bytes, limit_s: float, fresh_ms: int = 0,
    earlier: tuple[str, ...] = (), baseline: str = "",
) -> JobSpec:  # fmt: skip
    """Return the job of a driver that does not fork: a process of its own for each line of `stdin` (see `lines`).

    One whose line says that it is FRESH takes the audit on fresh inputs, for `fresh_ms`. On a GPU a command may come
    `earlier`, whose seed is the first line. `reference` and `baseline` are as in Harness.command.
    """
    own, *settings = harness.command(tolerance, reference, baseline)
    on_cpu = where.lease is None or not where.lease.gpu
    program = jobs.words([own, *(["sizes=any"] if on_cpu and tolerance.sizes == "any" else ()), *settings])
    place = place or copied(host)

    def chosen(who: str, then: str, otherwise: str, to: str, seed: str) -> str:
        return f'if [ "$who" = {who} ]; then {place(then, to, seed)}; else {place(otherwise, to, seed)}; fi'

    # Each process has files of its own: the memory pages of a file can make a difference of some percent, and with one
    # file for all processes that would look like a gain in each. They are made before the last ones are removed: else
    # they would get the same pages. Both lie in one folder, under names of their own: a path is loaded only once. A
    # seed goes through a pipe: `printf` is built into the shell, so no process shows it among its arguments.
    timed = f'{program} "$mode" a$n.so b$n.so "$order" "$most" {CASE_LIMIT_MS}'
    one = f'printf \'%s\\n\' "$seed" | KPD_LAYOUT="$pad" KPD_TURN="$n" {timed}'
    # On a GPU the next ones start while one is timed: that keeps CPUs busy, and the driver waits for its turn. Those
    # that have not ended are the shell's arguments. Which report is whose follows from their order.
    gpu = where.lease is not None and where.lease.gpu
    before = f"$((n - {READY_AHEAD if gpu else 1}))"
    clear = f"rm -f a{before}.so b{before}.so"
    first = f'{{ wait "$1" || exit $?; shift; {clear}; }}'
    queued = f'  {one} &\n  set -- "$@" "$!"\n  [ $# -le {READY_AHEAD} ] || {first}\n'
    turn = queued if gpu else f"  {clear}\n  {one} || exit $?\n"
    guarded = UNCHANGED if where.seals else ":"
    led = (
        f"[ -e {jobs.words([jobs.out(host, candidate, OBJECT)])} ] || exit {jobs.GONE}\n"
        f'n=1\nread -r seed\nprintf \'%s\\n\' "$seed" | KPD_TURN=1 {program} {jobs.words(earlier)} &\nset -- "$!"\n'
    )
    script = (
        "n=0; rm -f turn; set --\n"
        f"{led if earlier else ''}"
        "while read -r seed order who pad drawn_a drawn_b; do\n"
        "  n=$((n + 1))\n"
        f"  {guarded}\n"
        f"  {chosen('b', candidate, incumbent, 'a$n.so', '$drawn_a')}\n"
        f"  {chosen('a', incumbent, candidate, 'b$n.so', '$drawn_b')}\n"
        f'  pad=$(printf "%${{pad}}s" "") mode=time most={bench.quads}\n'
        f'  case "$who" in a) mode=alone ;; b) mode=solo ;; {FRESH}) mode=fresh most={fresh_ms} ;; esac\n'
        f"{turn}"
        "done\n"
        'while [ $# -gt 0 ]; do wait "$1" || exit $?; shift; done\n'
    )
    return where.spec(job, script, limit_s, stdin)


def times(objects: Iterable[str], bench: BenchSpec, processes: int) -> tuple[str, ...]:
    """Return the command of a driver that forks the processes of a contest between the objects at these paths."""
    return ("times", *objects, *map(str, (bench.quads, CASE_LIMIT_MS, processes)))


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


def fresh_line() -> bytes:
    """Return the line of a process that takes the audit on fresh inputs; which side it loads first is drawn."""
    draws = Draws(FRESH)
    return _line(draws, "ab"[draws.below(2)], FRESH)


def _line(draws: Draws, order: str, what: str) -> bytes:
    """Return a line: the seed, the order, what is timed, and the layout of the process.

    That is the bytes that its environment is longer, and a number for each object.
    """
    layout = f"{1 + draws.below(MOST_PAD)} {draws.below(1 << 31)} {draws.below(1 << 31)}"
    return f"{draws.seed()} {order} {what} {layout}\n".encode()


async def samples_of(
    host: Host, harness: Harness, spec: JobSpec, first: int, processes: int, say: Say | None, skipped: int = 0
) -> AsyncGenerator[ProcessSample]:
    """Yield what the processes of a job report, of which others have read the first reports; see `time_pair`."""
    numbers = range(first, first + processes)
    problem: CheckFailure | None = None
    taken = 0
    try:
        async with contextlib.aclosing(reports(host, spec, say)) as said:
            async for line in said:
                if skipped and not isinstance(line, JobResult):
                    skipped -= 1
                elif isinstance(line, JobResult):
                    await _refuse_end(host, harness, line, problem, spec.limit_s, processes - taken)
                    return
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
