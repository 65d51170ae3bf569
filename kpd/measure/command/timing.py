"""Times incumbent and candidate with the task's own benchmark, back to back: a pair of processes is one observation."""

import contextlib
from collections.abc import AsyncGenerator, Callable

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec
from kpd.measure import jobs
from kpd.measure.bench import CheckFailed, Say
from kpd.measure.command.result import CaseResult, Result
from kpd.measure.command.runs import CommandRun, report
from kpd.measure.reports import reports
from kpd.measure.samples import CaseSample, ClockReadings, ProcessSample, both, lowered
from kpd.model.codec import CodecError
from kpd.model.defects import OtherCases, WrongResult
from kpd.model.scores import Direction
from kpd.text.numbers import counted

Blamed = Callable[[CommandRun], Result]
"""A function that reads a run's result. Raises CheckFailed for a failed candidate, HostError for a failed incumbent."""


def order(first: int, processes: int) -> str:
    """Return the sides of `processes` pairs in turn. Who goes first alternates: the first may find a cooler device."""
    return "".join("ba" if number % 2 else "ab" for number in range(first, first + processes))


async def time_pairs(
    host: Host, spec: JobSpec, first: int, processes: int, direction: Direction, read: Blamed, say: Say | None = None
) -> AsyncGenerator[ProcessSample]:
    """Yield `processes` pairs of runs of the job `spec`, numbered from `first`, as samples.

    The job's runs come in the order that `order` gives. A job that was ended early is read as far as it got, so there
    may be fewer pairs. Raises CheckFailed and HostError.
    """
    sides = order(first, processes)
    taken = 0
    pair: dict[str, Result] = {}
    taint = ""
    seen: list[ClockReadings | None] = []
    try:
        async with contextlib.aclosing(reports(host, spec, say)) as lines:
            async for line in lines:
                if isinstance(line, JobResult):
                    await _refuse_end(host, line, len(sides) - taken)
                    return
                run = report(line.text)
                if taken == len(sides) or run.side != sides[taken]:
                    raise CodecError("a run that was not asked for")
                pair[run.side] = read(run)
                seen.append(run.telemetry)
                taint = taint or line.taint or _slowed(run)
                taken += 1
                if taken % 2 == 0:
                    taken_pair = sample(first + taken // 2 - 1, pair["a"], pair["b"], direction, taint, both(*seen))
                    pair, taint, seen = {}, "", []
                    yield taken_pair
    except CodecError as err:
        raise HostError("host", f"{host.name}: job {spec.id} did not report: {err}") from err


async def _refuse_end(host: Host, result: JobResult, missing: int) -> None:
    if result.cached and jobs.cut_short(result):
        return
    await jobs.refuse_unfinished(host, result)
    if result.rc != 0 or missing:
        raise await jobs.unreported(host, result, f"{counted(missing, 'run')} missing")


def _slowed(run: CommandRun) -> str:
    """Return why the GPU's clock was lowered during a run, if that is a problem.

    A clock that only moves is no problem here: it may fall in the pauses that a task's own benchmark makes.
    """
    return "" if run.telemetry is None else lowered(f"a run of side {run.side}", run.telemetry)


def sample(
    process: int, incumbent: Result, candidate: Result, direction: Direction, taint: str = "",
    telemetry: ClockReadings | None = None,
) -> ProcessSample:  # fmt: skip
    """Combine two runs into one observation. Raises CheckFailed when they did not time the same cases."""
    if incumbent.cases.keys() != candidate.cases.keys():
        raise CheckFailed(WrongResult(OtherCases(tuple(sorted(incumbent.cases.keys() ^ candidate.cases.keys())))))
    score = CaseSample(1, (cost(incumbent.score, direction),), (cost(candidate.score, direction),), telemetry=telemetry)
    cases = {name: _case(case, candidate.cases[name]) for name, case in incumbent.cases.items()}
    return ProcessSample(process, cases, taint, score)


def cost(score: float, direction: Direction) -> float:
    """Convert a score to a time in nanoseconds, so that lower is always better: see `kpd.measure.score`."""
    return 1000 * score if direction == "lower" else 1000 / score


def _case(a: CaseResult, b: CaseResult) -> CaseSample:
    device = None if a.device_us is None or b.device_us is None else (1000 * a.device_us, 1000 * b.device_us)
    return CaseSample(1, (1000 * a.us,), (1000 * b.us,), device)
