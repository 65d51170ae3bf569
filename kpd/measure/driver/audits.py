"""Measures for the audits of a gain: each call on fresh inputs, and each kernel in processes without the other."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from kpd.hosts.host import Host, JobSpec
from kpd.measure import jobs
from kpd.measure.audits import FEWEST_ALONE, AuditSamples
from kpd.measure.bench import Say
from kpd.measure.driver.check import Report
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.driver.joined import first_report, joined
from kpd.measure.driver.timing import (
    CASE_LIMIT_MS,
    FRESH,
    PlaceObject,
    fresh_line,
    lines,
    pair_spec,
    samples_of,
    times,
)
from kpd.measure.fresh_gains import FreshCase
from kpd.measure.run_context import RunContext
from kpd.measure.samples import ProcessSample
from kpd.workspace.specs import BenchSpec, CheckSpec

FRESH_MS = (800, 1000)
"""Milliseconds of calls on fresh inputs, all cases together: on a CPU, on a GPU."""
ALONE = (6, 4)
"""Processes that time one kernel only, half of them either: on a CPU, on a GPU, where four take longer than ALONE_S."""
ALONE_QUADS = 6
"""The most quads of a case in such a process."""
ALONE_S = 1.5
"""Seconds after which no more such processes are taken, once there are FEWEST_ALONE of them."""


@dataclass(frozen=True, slots=True)
class Audited:
    """What both audits use: a harness on a host, the objects of two build jobs, and how they are timed.

    `alone`: some processes time one kernel only.
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
    alone: bool = True

    @property
    def gpu(self) -> bool:
        return self.where.lease is not None and self.where.lease.gpu

    @property
    def processes(self) -> int:
        """Those that time one kernel only, at the most."""
        return ALONE[self.gpu] if self.alone else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report(Report):
    cases: dict[str, FreshCase]


async def audit(what: Audited, job: str, say: Say | None = None) -> AuditSamples:
    """Measure for both audits, in one job: on a GPU processes get ready while another one measures.

    Raises CheckFailed when an output is wrong, or the measuring process is not what it was; and HostError.
    """
    limit_s = what.bench.limit_s
    spec = _forked(what, job) if what.harness.forks else _each_its_own(what, job)
    begun = time.monotonic()
    report = await first_report(what.host, what.harness, spec, _Report, "audit", limit_s, say)
    between = time.monotonic()
    samples = await _enough(samples_of(what.host, what.harness, spec, 0, what.processes, say, skipped=1))
    return AuditSamples(report.cases, samples, between - begun, time.monotonic() - between)


def _each_its_own(what: Audited, job: str) -> JobSpec:
    return pair_spec(
        what.host, what.harness, what.incumbent, what.candidate, job, _short(what.bench), what.tolerance, what.where,
        what.place, what.reference, fresh_line() + lines(0, what.processes, alone=True),
        (1 + what.processes) * what.bench.limit_s, FRESH_MS[what.gpu],
    )  # fmt: skip


def _forked(what: Audited, job: str) -> JobSpec:
    """Return the job of a driver that forks the processes from one that has imported what takes long."""
    limit_s = what.bench.limit_s
    objects = [jobs.out(what.host, built, OBJECT) for built in (what.incumbent, what.candidate)]
    seed, order, *_ = fresh_line().decode().split()
    first = (FRESH, *objects, order, str(FRESH_MS[what.gpu]), str(CASE_LIMIT_MS))
    return joined(
        what.where, job, what.harness.command(what.tolerance, what.reference), first, limit_s,
        times(objects, _short(what.bench), what.processes), what.processes * limit_s,
        f"{seed}\n".encode() + lines(0, what.processes, alone=True),
        *objects,
    )  # fmt: skip


def _short(bench: BenchSpec) -> BenchSpec:
    return replace(bench, quads=min(bench.quads, ALONE_QUADS))


async def _enough(taken: AsyncGenerator[ProcessSample]) -> tuple[ProcessSample, ...]:
    begun = time.monotonic()
    samples: list[ProcessSample] = []
    async with aclosing(taken):
        async for sample in taken:
            samples.append(sample)
            enough = len(samples) >= FEWEST_ALONE and len(samples) % 2 == 0
            if enough and time.monotonic() - begun > ALONE_S:
                break
    return tuple(samples)
