"""Takes a check and its contest, or repeats and an audit, in one job: a driver that forks has imported all once."""

import contextlib
from collections.abc import Iterable
from dataclasses import replace

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec
from kpd.measure import jobs
from kpd.measure.bench import CheckFailed, Say
from kpd.measure.driver.check import Some, report_of, seeded
from kpd.measure.driver.harness import Harness
from kpd.measure.driver.timing import lines
from kpd.measure.judge import CLEAR, LOOKS, QUICK
from kpd.measure.reports import ReportLine, reports
from kpd.measure.run_context import RunContext
from kpd.model.codec import CodecError, decode
from kpd.model.defects import TookTooLong, WrongResult

AHEAD = QUICK + LOOKS[-1]
"""The processes of a contest that follow a check in its job: it ends the job when it has enough."""
LATE = 124
"""The exit status of a job whose first command took too long."""


def following(quick: int, audit: bytes = b"") -> bytes:
    """Return the lines of the processes that follow a check; those with numbers below `quick` are quick ones.

    The lines of an `audit` stand where a clear gain is accepted.
    """
    every = lines(0, AHEAD, quick=quick).splitlines(keepends=True)
    return b"".join([*every[: quick + CLEAR], audit, *every[quick + CLEAR :]])


def joined(
    where: RunContext, job: str, command: tuple[str, ...], first: Iterable[str], limit_s: float, then: Iterable[str],
    then_limit_s: float, stdin: bytes, *needed: str,
) -> JobSpec:  # fmt: skip
    """Return a job of two commands of a driver: `first`, for at most `limit_s`, and if that goes well, `then`."""
    program, *settings = command
    script = seeded((program, *settings, f"limit_s={limit_s}", *first, "then", *then), *needed)
    return where.spec(job, script, limit_s + then_limit_s, stdin)


async def first_report(
    host: Host, harness: Harness, spec: JobSpec, kind: type[Some], what: str, limit_s: float, say: Say | None = None,
    number: int = 0,
) -> Some:  # fmt: skip
    """Begin the job, return its first report, and leave the job running. With a `number`, so many were read before.

    Raises CheckFailed where that tells of a problem or does not come in time, and HostError: `busy` where others were
    on the device.
    """
    while True:
        try:
            found = await _first(host, spec, kind, number, say)
        except CodecError as err:
            raise HostError("host", f"{host.name}: job {spec.id} did not report: {err}") from err
        if isinstance(found, ReportLine):
            await jobs.forget(host, spec.id)
            raise HostError("busy", f"{host.name}: {found.taint}")
        if not isinstance(found, JobResult):
            return found
        if jobs.cut_short(found) and (found.cached or found.reason == "lost"):
            await host.forget(spec.id)
            continue
        await jobs.refuse_unfinished(host, found)
        if found.rc == LATE:
            raise CheckFailed(WrongResult(TookTooLong(what, limit_s)))
        own = b"".join(found.stdout.split(b"\n")[number : number + 1])
        return await report_of(host, harness, replace(found, stdout=own), kind, what, limit_s)


async def _first(
    host: Host, spec: JobSpec, kind: type[Some], number: int, say: Say | None
) -> Some | ReportLine | JobResult:
    """Return the first report; its line if that is tainted; the job's result if there is a problem, or no report.

    What follows it is of other processes, and is not looked at.
    """
    seen = 0
    async with contextlib.aclosing(reports(host, spec, say, leave=lambda: True)) as said:
        async for line in said:
            if isinstance(line, JobResult):
                return line
            if seen == number and (report := decode(line.text, kind)).problem is None:
                return line if line.taint else report
            seen += 1
    raise AssertionError("a job ends with its result or raises")
