"""Calls a kernel at other sizes, one with more elements than a number of 32 bits counts, and reads what came of it."""

import re

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.driver.sanitize import GRACE_S, MOST_SAID
from kpd.measure.run_context import RunContext
from kpd.model.sanitizer import ToolReport
from kpd.text.foreign import plain

MOST, LEAST = 1 << 32, 1 << 31
"""Elements that a buffer has more than, where the device has the room: as an unsigned number counts, or an int."""
_WRONG = re.compile(r"^wrong (\d+) (.+)$", re.MULTILINE)
_ASKED, _SEEN = re.compile(r"^asked (.+)$", re.MULTILINE), re.compile(r"^seen ", re.MULTILINE)


async def overflow(
    host: Host, harness: Harness, built: str, own: str, job: str, where: RunContext, limit_s: float,
    say: Say | None = None, elements: tuple[int, int] = (MOST, LEAST),
) -> ToolReport:  # fmt: skip
    """Compare a candidate with the task's own kernel, whose object is at `own`, for at most `limit_s` seconds.

    The report has no case where the task promises no such size, or the device, or the task's own kernel, is not up to
    it. Raises HostError when the job cannot run.
    """
    limit_s = round(limit_s, 1)
    path = jobs.out(host, built, OBJECT)
    run = jobs.words([harness.program, "overflow", path, own, *map(str, elements)])
    script = f"[ -e {jobs.words([path])} ] || exit {jobs.GONE}\ntimeout -k 2 {limit_s:.1f} {run}\n"
    result = await jobs.run(host, where.spec(job, script, limit_s + GRACE_S), say)
    said = result.stdout.decode(errors="replace")
    asked, seen = _ASKED.findall(said), len(_SEEN.findall(said))
    if (wrong := _WRONG.search(said)) is not None:
        return ToolReport("overflow", len(asked), len(asked), result.seconds, int(wrong[1]), plain(wrong[2], MOST_SAID))
    if asked and seen == len(asked):
        return ToolReport("overflow", seen, seen, result.seconds)
    if not asked:
        trouble = plain(jobs.tail(result.stderr), MOST_SAID) if result.rc else ""
        return ToolReport("overflow", 0, 0, result.seconds, trouble=trouble)
    if result.reason == "timeout" or result.seconds >= limit_s:
        return ToolReport("overflow", seen, len(asked), result.seconds)
    why = f"{plain(asked[-1], MOST_SAID)}: its process ended with {result.rc}"
    return ToolReport("overflow", len(asked), len(asked), result.seconds, 1, why)
