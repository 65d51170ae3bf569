"""Measures for the audits of a gain: each call on fresh inputs, and each kernel in processes without the other."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.audits import AuditSamples, FreshCase
from kpd.measure.bench import Say
from kpd.measure.driver.check import Report, report_of
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.driver.joined import first_report, joined
from kpd.measure.driver.timing import CASE_LIMIT_MS, PlaceObject, copied, drawn, lines, samples_of, time_pair, times
from kpd.measure.run_context import RunContext
from kpd.measure.samples import ProcessSample
from kpd.measure.seeds import Draws
from kpd.workspace.specs import BenchSpec, CheckSpec

FRESH_MS = (800, 1000)
"""Milliseconds of calls on fresh inputs, all cases together: on a CPU, on a GPU."""
ALONE = 6
"""Processes that time one kernel only, half of them either."""
ALONE_QUADS = 6
"""The most quads of a case in such a process."""
ALONE_S = 1.5
"""Seconds after which no more such processes are taken, once there are FEWEST_ALONE of them."""
FEWEST_ALONE = 4


@dataclass(frozen=True, slots=True)
class Audited:
    """What both audits use: a harness on a host, the objects of two build jobs, and how they are timed."""

    host: Host
    harness: Harness
    incumbent: str
    candidate: str
    bench: BenchSpec
    tolerance: CheckSpec
    where: RunContext
    place: PlaceObject | None = None
    reference: str = ""

    @property
    def gpu(self) -> bool:
        return self.where.lease is not None and self.where.lease.gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report(Report):
    cases: dict[str, FreshCase]


async def audit(what: Audited, fresh_job: str, alone_job: str, say: Say | None = None) -> AuditSamples:
    """Measure for both audits.

    Raises CheckFailed when an output is wrong, or the measuring process is not what it was; and HostError.
    """
    if what.harness.forks:
        return await _forked(what, fresh_job, say)
    begun = time.monotonic()
    cases = await fresh(what, fresh_job, say)
    between = time.monotonic()
    samples = await alone(what, alone_job, say)
    return AuditSamples(cases, samples, between - begun, time.monotonic() - between)


async def fresh(what: Audited, job: str, say: Say | None = None) -> dict[str, FreshCase]:
    """Time both kernels in one process, each call on inputs of its own. Raises CheckFailed and HostError."""
    place = what.place or copied(what.host)
    program = jobs.words([*what.harness.command(what.tolerance, what.reference), "fresh"])
    draws = Draws("fresh")
    order = "ab"[draws.below(2)]
    arguments = jobs.words(["a.so", "b.so", order, str(FRESH_MS[what.gpu]), str(CASE_LIMIT_MS)])
    script = (
        "read -r seed pad drawn_a drawn_b\n"
        f"{place(what.incumbent, 'a.so', '$drawn_a')}\n"
        f"{place(what.candidate, 'b.so', '$drawn_b')}\n"
        'pad=$(printf "%${pad}s" "")\n'
        f'printf \'%s\\n\' "$seed" | KPD_LAYOUT="$pad" {program} {arguments}\n'
    )
    secret = f"{draws.seed()} {drawn(draws)}\n".encode()
    result = await jobs.run(what.host, what.where.spec(job, script, what.bench.limit_s, secret), say)
    return (await report_of(what.host, what.harness, result, _Report, "audit", what.bench.limit_s)).cases


async def _forked(what: Audited, job: str, say: Say | None) -> AuditSamples:
    """Take both audits in one job, whose processes are forked from one that has imported what takes long."""
    draws, bench = Draws("fresh"), replace(what.bench, quads=min(what.bench.quads, ALONE_QUADS))
    objects = [jobs.out(what.host, built, OBJECT) for built in (what.incumbent, what.candidate)]
    first = ("fresh", *objects, "ab"[draws.below(2)], str(FRESH_MS[what.gpu]), str(CASE_LIMIT_MS))
    seed = f"{draws.seed()}\n".encode()
    spec = joined(
        what.where, job, what.harness.command(what.tolerance, what.reference), first, bench.limit_s,
        times(objects, bench, ALONE), ALONE * bench.limit_s, seed + lines(0, ALONE, alone=True), *objects,
    )  # fmt: skip
    begun = time.monotonic()
    report = await first_report(what.host, what.harness, spec, _Report, "audit", bench.limit_s, say)
    between = time.monotonic()
    samples = await _enough(samples_of(what.host, what.harness, spec, 0, ALONE, say, skipped=1))
    return AuditSamples(report.cases, samples, between - begun, time.monotonic() - between)


async def alone(what: Audited, job: str, say: Say | None = None) -> tuple[ProcessSample, ...]:
    """Time either kernel in processes that load no other, as many of either. Raises CheckFailed and HostError."""
    bench = replace(what.bench, quads=min(what.bench.quads, ALONE_QUADS))
    taken = time_pair(
        what.host, what.harness, what.incumbent, what.candidate, job, 0, ALONE, bench, what.tolerance,
        what.where, say, what.place, what.reference, alone=True,
    )  # fmt: skip
    return await _enough(taken)


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
