"""Candidate against incumbent, A B B A, in fresh processes. One job runs a batch of them in turn on one CPU."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from kpd.hosts.host import Host, JobSpec
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.build import OBJECT
from kpd.measure.check import Incorrect, Problem, describe, refuse_driver_trouble, unreadable
from kpd.measure.harness import Harness
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.codec import CodecError, decode
from kpd.workspace.task import BenchSpec, CheckSpec

CASE_LIMIT_MS = 20_000
"""What one case may take in one process; the usual is 50 to 100 ms."""
DISTURBED_SHARE = 0.25
"""A process is tainted when it lost the CPU during more than this share of a case's batches: a median can take less."""
STEAL_SHARE = 0.1
"""… or when the hypervisor took more than this share of its time."""
TICK_NS = 10_000_000
"""A tick of /proc/stat: 1/100 s on every Linux that counts."""


@dataclass(frozen=True, slots=True)
class CaseReport:
    """A case as the driver reports it: its batches (see CaseSample), and what may have disturbed them.

    `disturbed` counts batches, `steal_ticks` the hypervisor's, `threads` those of the process (0: not known).
    """

    reps: int
    a_ns: tuple[int, ...]
    b_ns: tuple[int, ...]
    disturbed: int
    steal_ticks: int
    threads: int


@dataclass(frozen=True, slots=True)
class _Report:
    cases: dict[str, CaseReport]
    problem: Problem | None


async def time_pair(
    host: Host, harness: Harness, incumbent: str, candidate: str, job: str, first: int, processes: int,
    bench: BenchSpec, tolerance: CheckSpec, cpu: int | None = None, say: Say | None = None,
) -> tuple[ProcessSample, ...]:  # fmt: skip
    """`processes` fresh processes, numbered from `first`. `incumbent` and `candidate` are Objects' jobs, or one job.

    Which object is loaded first alternates with the process number. Raises Incorrect when an output is wrong after it
    was timed, and HostError.
    """
    arguments = (bench.quads, tolerance.rtol, tolerance.atol, CASE_LIMIT_MS)
    program = jobs.words([harness.program, "time", "a.so", "b.so"])
    a, b = (jobs.words([jobs.out(host, built, OBJECT)]) for built in (incumbent, candidate))
    # Copies, because one path would be loaded once only, and because both then come from the same folder and the page
    # cache alike. A seed goes through a pipe: `printf` is the shell's own, so no process shows it among its arguments.
    script = (
        f"cp {a} a.so && cp {b} b.so || exit {jobs.GONE}\n"
        "while read -r seed order; do\n"
        f'  printf \'%s\\n\' "$seed" | {program} "$order" {jobs.words(map(str, arguments))} || exit $?\n'
        "done\n"
    )
    numbers = range(first, first + processes)
    secret = "".join(f"{secrets.token_hex(8)} {'ab'[number % 2]}\n" for number in numbers).encode()
    limit_s = bench.limit_s * processes
    cpus = () if cpu is None else (cpu,)
    result = await jobs.run(host, JobSpec(job, script, limit_s, secret, cpus=cpus), say)
    await refuse_driver_trouble(host, result, "timing", limit_s)
    try:
        reports = [decode(line, _Report) for line in result.stdout.splitlines()]
        if not reports or (len(reports) < processes and reports[-1].problem is None):
            raise CodecError(f"{len(reports)} of {processes} processes reported")
    except CodecError as err:
        raise await unreadable(host, result, err) from err
    for report in reports:
        if report.problem is not None:
            raise Incorrect(describe(report.problem, stderr=result.stderr))
        _refuse_threads(report)
    return tuple(_sample(number, report) for number, report in zip(numbers, reports, strict=True))


def _sample(process: int, report: _Report) -> ProcessSample:
    cases = {name: CaseSample(case.reps, case.a_ns, case.b_ns) for name, case in report.cases.items()}
    return ProcessSample(process, cases, taint(report.cases))


def taint(cases: Mapping[str, CaseReport]) -> str:
    """Why the times should not be believed, in words; empty when they should."""
    for name, case in cases.items():
        batches = len(case.a_ns) + len(case.b_ns)
        if case.disturbed > DISTURBED_SHARE * batches:
            return f"other work took the CPU during {case.disturbed} of {batches} batches of {name}"
    spent = sum(sum(case.a_ns) + sum(case.b_ns) for case in cases.values())
    stolen = TICK_NS * sum(case.steal_ticks for case in cases.values())
    if stolen > STEAL_SHARE * spent:
        return f"the hypervisor took the CPU for {stolen // 1_000_000} of {spent // 1_000_000} ms"
    return ""


def _refuse_threads(report: _Report) -> None:
    """A thread that outlives the call could compute while the clock does not run."""
    for name, case in report.cases.items():
        if case.threads > 1:
            raise Incorrect(f"{name}: left {case.threads - 1} threads running after its calls")
