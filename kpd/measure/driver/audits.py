"""Measures for the audits of a gain: each call on fresh inputs, and each kernel in processes without the other.

The calls on unchanged inputs may come before them, in the same job.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import reduce

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobSpec
from kpd.measure import jobs
from kpd.measure.audit_time import FIRST_LONGER_S, MOST_ALONE
from kpd.measure.audits import FEWEST_ALONE, AuditSamples, joined as joined_audits
from kpd.measure.bench import Fresh, Say
from kpd.measure.driver import repeat
from kpd.measure.driver.check import Report, seed, seeded
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.driver.joined import first_report, joined
from kpd.measure.driver.pairs import FRESH, ROWS, PlaceObject, pair_spec
from kpd.measure.driver.repeat import RepeatsReport
from kpd.measure.driver.timing import APART, REPEAT, audit_line, lines, samples_of, times
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.run_context import RunContext
from kpd.measure.samples import ProcessSample
from kpd.workspace.specs import BenchSpec, CheckSpec

FRESH_MS = 800
"""Milliseconds of calls on fresh inputs, all cases together, in a process …"""
SEVERAL_MS = 170
"""… in each of several such processes, where either kernel has one of its own, beside a part of a contest …"""
APART_MS = SEVERAL_MS + round(1000 * FIRST_LONGER_S)
"""… and in a single one that is the first."""
ALONE = (MOST_ALONE, FEWEST_ALONE)
"""Processes that time one kernel only, half of them either: on a CPU, on a GPU. See ALONE_S."""
ALONE_QUADS, ALONE_QUADS_APART = (6, 4), 6
"""The most quads of a case in such a process, on a CPU and on a GPU; where it is a single one."""
ALONE_S = 1.5
"""Seconds that they may take, each time: of those that would take longer only FEWEST_ALONE are taken …"""
BESIDE_S = 1.2
"""… and all times together where calls on unchanged inputs run beside them: so long these take at the least."""


@dataclass(frozen=True, slots=True)
class Audited:
    """What both audits use: a harness on a host, the objects of two build jobs, and how they are timed.

    `reference` and `baseline` are as in Harness.command. So often, `alone`, some processes time one kernel only.
    `fresh` are the processes whose calls are on fresh inputs; with `rows` some of these follow one another.
    """

    host: Host
    harness: Harness
    incumbent: str
    candidate: str
    bench: BenchSpec
    tolerance: CheckSpec
    where: RunContext
    place: PlaceObject | None = None
    reference: str = ""
    baseline: str = ""
    alone: int = 1
    fresh: int = 1
    rows: bool = False

    @property
    def apart(self) -> bool:
        """Whether a single process times either kernel in one of its own, by turns: to get ready takes long.

        What the host's speed does is in the times of both.
        """
        return self.where.gpu and self.harness.forks

    @property
    def processes(self) -> int:
        """Those that time each kernel without the other one, at the most."""
        return self.alone * (1 if self.apart else ALONE[self.where.gpu])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report(Report):
    cases: dict[str, FreshCase]


@dataclass(frozen=True, slots=True)
class AuditJob:
    """The one job of both audits: on a GPU its processes get ready while another one measures.

    `repeats`: the calls on unchanged inputs are a process of it, too, and the first one. Their report has the number
    `first` in it: before are those of a contest.
    """

    what: Audited
    spec: JobSpec
    repeats: bool
    first: int = 0

    @property
    def reports(self) -> range:
        """The numbers of what the audits report in it."""
        return range(self.first, self.first + self.repeats + self.what.fresh + self.what.processes)


def begun(what: Audited, job: str, repeats: bool = False) -> AuditJob:
    """Return the job that measures for the audits, to be read by `repeated`, if it `repeats`, and then by `audit`."""
    path = jobs.out(what.host, what.candidate, OBJECT)
    stdin = _lines(what)
    first = repeat.words(path, what.tolerance, what.where) if repeats else ()
    limit_s = (what.fresh + what.processes) * what.bench.limit_s
    made = _forked if what.harness.forks else _each_its_own
    return AuditJob(what, made(what, job, first, seed("repeat") + stdin if repeats else stdin, limit_s), repeats)


def _lines(what: Audited) -> bytes:
    alone = audit_line(APART) * what.processes if what.apart else lines(0, what.processes, alone=True)
    return audit_line(ROWS if what.rows else FRESH, what.fresh) + alone


def among(what: Audited, number: int) -> tuple[bytes, tuple[object, ...]]:
    """Return the lines of the audits' processes among those of a contest, and what `times` says of them.

    The first of them has that number, and takes the calls on unchanged inputs.
    """
    stdin = audit_line(REPEAT) + _lines(what)
    quads, end = _short(what).quads, number + 2 + what.processes
    return stdin, (FRESH_MS, quads, number, end, *repeat.words("", what.tolerance, what.where)[2:])


async def repeated(job: AuditJob, say: Say | None = None) -> dict[str, int]:
    """Return the number of calls of each case on unchanged inputs, and on new ones. Raises as `repeat` does."""
    what, limit_s = job.what, job.what.tolerance.limit_s
    async with _forgotten(job):
        report = await first_report(
            what.host, what.harness, job.spec, RepeatsReport, "repeats", limit_s, say, job.first
        )
        return report.counted


async def audit(job: AuditJob, say: Say | None = None, fresh: Fresh | None = None) -> AuditSamples:
    """Measure for both audits; again where the job was ended from outside, by a crash or a shutdown, with too little.

    `fresh` is called between them, and begins what runs beside the processes that time one kernel only.

    Raises CheckFailed when an output is wrong, or the measuring process is not what it was; and HostError.
    """
    what, number = job.what, job.first + job.repeats
    start = time.monotonic()
    async with _forgotten(job):
        found = [await _on_fresh_inputs(job, number + nth, say) for nth in range(what.fresh)]
        between = time.monotonic()
        if fresh is not None:
            fresh()
        taken = samples_of(what.host, what.harness, job.spec, 0, what.processes, say, range(number + what.fresh))
        limit_s = BESIDE_S if fresh is not None else what.alone * ALONE_S
        samples = tuple(replace(one, apart=what.apart) for one in await _enough(taken, what, job.first > 0, limit_s))
    if len(samples) < min(FEWEST_ALONE, what.processes):
        await jobs.forget(what.host, job.spec.id)
        return await audit(job, say, fresh)
    first, *others = (AuditSamples(cases, (), 0.0, 0.0) for cases in found)
    seconds = between - start, time.monotonic() - between
    return replace(reduce(joined_audits, others, first), alone=samples, fresh_s=seconds[0], alone_s=seconds[1])


async def _on_fresh_inputs(job: AuditJob, number: int, say: Say | None) -> dict[str, FreshCase]:
    """Return what the report with this number says of calls on fresh inputs."""
    what, limit_s = job.what, job.what.bench.limit_s
    report = await first_report(what.host, what.harness, job.spec, _Report, "audit", limit_s, say, number=number)
    return report.cases


@asynccontextmanager
async def _forgotten(job: AuditJob) -> AsyncIterator[None]:
    """Forget the job in trouble of the host: a retry has to measure again, not to read what it was told."""
    try:
        yield
    except HostError:
        await jobs.forget(job.what.host, job.spec.id)
        raise


def _each_its_own(what: Audited, job: str, first: tuple[str, ...], stdin: bytes, limit_s: float) -> JobSpec:
    more_s = what.tolerance.limit_s if first else 0.0
    return pair_spec(
        what.host, what.harness, what.incumbent, what.candidate, job, _short(what), what.tolerance, what.where,
        what.place, what.reference, stdin, limit_s + more_s, _fresh_ms(what), first, what.baseline,
    )  # fmt: skip


def _fresh_ms(what: Audited) -> int:
    """Return the milliseconds of such a process. A single one without kernels timed alone is not the first."""
    return FRESH_MS if what.where.gpu else APART_MS if what.fresh == 1 and what.alone else SEVERAL_MS


def _forked(what: Audited, job: str, first: tuple[str, ...], stdin: bytes, limit_s: float) -> JobSpec:
    """Return the job of a driver that forks the processes from one that has imported what takes long."""
    objects = [jobs.out(what.host, built, OBJECT) for built in (what.incumbent, what.candidate)]
    command = what.harness.command(what.tolerance, what.reference, what.baseline)
    quads, processes = _short(what).quads, 1 + what.processes
    then = times(objects, what.bench, processes, FRESH_MS, quads, 0, processes)
    needed = (*objects, what.reference, what.baseline)
    if not first:
        return what.where.spec(job, seeded((*command, *then), *needed), limit_s, stdin)
    return joined(what.where, job, command, first, what.tolerance.limit_s, then, limit_s, stdin, *needed)


def _short(what: Audited) -> BenchSpec:
    most = ALONE_QUADS_APART if what.apart else ALONE_QUADS[what.where.gpu]
    return replace(what.bench, quads=min(what.bench.quads, most))


async def _enough(
    taken: AsyncGenerator[ProcessSample], what: Audited, others: bool, limit_s: float
) -> tuple[ProcessSample, ...]:
    """Take samples until they are enough, or two more would take too long: as many of either kernel.

    Where `others` of a contest follow in the job, it is ended then.
    """
    begun = time.monotonic()
    samples: list[ProcessSample] = []
    async with aclosing(taken):
        async for sample in taken:
            samples.append(sample)
            if others and len(samples) == what.processes:
                break
            even = len(samples) % 2 == 0 and len(samples) >= FEWEST_ALONE
            if even and (time.monotonic() - begun) * (len(samples) + 2) / len(samples) > limit_s:
                break
    return tuple(samples)
