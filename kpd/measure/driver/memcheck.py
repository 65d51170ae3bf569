"""Accesses out of bounds on a GPU that guard bands cannot see: NVIDIA's compute-sanitizer around a run of a kernel."""

import re

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Incorrect, Say
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.run_context import RunContext
from kpd.model.faults import BadAccess, Wrong

NO_TOOL = 91
MOST_LINES = 4
PADDING = 1 << 20
"""Bytes behind each buffer that belong to nothing: without them the next buffer can begin where one ends."""
LEFT_OUT = "take sanitizer out of [check] in task.toml"
_SUMMARY = re.compile(r"^=+ ERROR SUMMARY: (\d+) error", re.MULTILINE)
_SAID = re.compile(r"^=+ +(?!COMPUTE-SANITIZER|ERROR SUMMARY|Saved host backtrace|Host Frame)(\S.*)$", re.MULTILINE)


async def memcheck(
    host: Host,
    harness: Harness,
    built: str,
    job: str,
    tool: str,
    where: RunContext,
    limit_s: float,
    say: Say | None = None,
) -> None:
    """Every checked case under `tool`, the path of compute-sanitizer, or under the one on the PATH.

    Each buffer is an allocation of exactly its size there, so that an access one element past its end is seen: see
    engine_memcheck in native/cuda/device.cu. CUDA's own errors do not count: a check sees them, and some a candidate
    may have looked for.

    Raises Incorrect for what it reports, and HostError when it cannot, or not for every case.
    """
    path = jobs.out(host, built, OBJECT)
    run = jobs.words([harness.program, "memcheck", path])
    given = jobs.words([tool])
    script = (
        f"[ -e {jobs.words([path])} ] || exit {jobs.GONE}\n"
        f"tool={given}\n[ -x {given} ] || tool=$(command -v compute-sanitizer) || exit {NO_TOOL}\n"
        f'"$tool" --tool memcheck --padding {PADDING} --report-api-errors no --log-file out/memcheck.txt {run} >&2\n'
        "status=$?\ncat out/memcheck.txt\nexit $status\n"
    )
    result = await jobs.run(host, where.spec(job, script, limit_s), say)
    said = result.stdout.decode(errors="replace")
    if result.rc == NO_TOOL:
        await host.forget(job)
        raise HostError("no_compiler", f"{host.name} has no compute-sanitizer", f"install it, or {LEFT_OUT}")
    errors = sum(int(count) for count in _SUMMARY.findall(said))
    if errors:
        first = " · ".join(_SAID.findall(said)[:MOST_LINES])
        raise Incorrect(Wrong(BadAccess(first, errors)))
    if result.rc != 0 or not _SUMMARY.search(said):
        await host.forget(job)
        told = "did not come to an end" if result.reason else f"did not see every case: {jobs.tail(result.stderr)}"
        raise HostError("host", f"{host.name}: compute-sanitizer {told}", LEFT_OUT)
