"""Calls a winner on a CPU at sizes far beyond those of the cases, and reads what came of it."""

from dataclasses import dataclass

from msgspec import structs

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import CheckFailed, Say
from kpd.measure.driver.check import Report, call_limit_ms, report_of, seed, seeded
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.driver.sanitize import GRACE_S, MOST_SAID
from kpd.measure.run_context import RunContext
from kpd.model.sanitizer import ToolReport
from kpd.text.faults import wrong
from kpd.text.foreign import plain
from kpd.workspace.specs import CheckSpec

CALL_MS = 500
"""Milliseconds that a call at such a size may take, with its inputs and the truth: all take some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FarReport(Report):
    """The report of calls at so many sizes."""

    sizes: int


async def far(
    host: Host, harness: Harness, built: str, own: str, job: str, spec: CheckSpec, where: RunContext, limit_s: float,
    say: Say | None = None, reference: str = "",
) -> ToolReport:  # fmt: skip
    """Call the candidate of build job `built` where the task's own kernel, whose object is at `own`, is right.

    `reference` is as in Harness.command. It takes at most `limit_s` seconds. The report has no case where the harness
    allows no such size, or calls take too long there. Raises HostError when the job cannot run.
    """
    path = jobs.out(host, built, OBJECT)
    words = (*harness.command(spec, reference, own), "far", path, str(CALL_MS), str(call_limit_ms(spec)))
    script = seeded(words, path, reference, own)
    result = await jobs.run(host, where.spec(job, script, limit_s + GRACE_S, seed("far")), say)
    try:
        report = await report_of(host, harness, result, FarReport, "calls at other sizes", limit_s)
    except CheckFailed as err:
        said = wrong(structs.replace(err.wrong, moment=""))
        return ToolReport("overflow", 1, 1, result.seconds, 1, plain(said, MOST_SAID))
    return ToolReport("overflow", report.sizes, report.sizes, result.seconds)
