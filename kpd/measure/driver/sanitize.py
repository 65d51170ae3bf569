"""Runs checked cases under the tools of NVIDIA's compute-sanitizer, and reads what these say."""

import re

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.run_context import RunContext
from kpd.model.sanitizer import Tool, ToolReport
from kpd.text.foreign import plain

SANITIZER = "compute-sanitizer"
NO_TOOL = 91
ANSWER_S = 10.0
"""How long the tool may take to say its version, in seconds."""
GRACE_S = 5.0
"""How much longer than its tool a job may take, in seconds."""
MOST_LINES = 4
MOST_SAID = 600
"""The most characters of a tool's words that are kept."""
PADDING = 1 << 20
"""Unused bytes behind each buffer: without them the next buffer could begin where one ends."""
OPTIONS: dict[Tool, str] = {
    "memcheck": f"--padding {PADDING} --report-api-errors no",
    "initcheck": "",
    "racecheck": "--racecheck-report analysis",
}
"""CUDA's own errors do not count: a check sees them, and a candidate may provoke some on purpose."""
_OVER = (124, 137)
"""Exit statuses of timeout(1): the program was ended, or had to be killed. A program may end with them by itself."""
_ERRORS = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+)|RACECHECK SUMMARY: (\d+)) (?:error|hazard)", re.MULTILINE)
"""Of racecheck warnings count, too: those are of races within a warp. No honest kernel of tests/cheats has one."""
_SAID = re.compile(r"^=+ +(?!COMPUTE-SANITIZER|\w+ SUMMARY|Saved host backtrace|Host Frame)(\S.*)$", re.MULTILINE)


async def present(host: Host, path: str) -> str:
    """Return the path of compute-sanitizer on the host, `path` or one on the PATH; empty if none says its version."""
    given = jobs.words([path])
    script = f"tool={given}\n[ -x {given} ] || tool=$(command -v {SANITIZER}) || exit 1\n"
    found = await host.run(f'{script}"$tool" --version >/dev/null 2>&1 && echo "$tool"', ANSWER_S)
    return found.stdout.decode(errors="replace").strip() if found.rc == 0 else ""


async def sanitize(
    host: Host,
    harness: Harness,
    built: str,
    job: str,
    program: str,
    tool: Tool,
    where: RunContext,
    limit_s: float,
    say: Say | None = None,
) -> ToolReport:
    """Run the checked cases once under `tool`, for at most `limit_s` seconds; `program` is compute-sanitizer's path.

    Each buffer is there an allocation of exactly its size, so that an access one element past its end is seen: see
    engine_memcheck in native/cuda/device.cu. Raises HostError when the job cannot run.
    """
    limit_s = round(limit_s, 1)
    path = jobs.out(host, built, OBJECT)
    run = jobs.words([harness.program, "memcheck", path])
    script = (
        f"[ -e {jobs.words([path])} ] || exit {jobs.GONE}\n"
        f"[ -x {jobs.words([program])} ] || {{ echo {SANITIZER} is gone >&2; exit {NO_TOOL}; }}\n"
        f"timeout -k 2 {limit_s:.1f} {jobs.words([program])} --tool {tool} {OPTIONS[tool]} "
        f"--log-file out/said.txt {run} >out/seen.txt\n"
        "status=$?\ngrep -c '^seen ' out/seen.txt\n[ ! -f out/said.txt ] || cat out/said.txt\nexit $status\n"
    )
    result = await jobs.run(host, where.spec(job, script, limit_s + GRACE_S), say)
    count, _, said = result.stdout.decode(errors="replace").partition("\n")
    of = sum(case.checked for case in harness.cases)
    cases = min(of, int(count)) if count.isdecimal() else 0
    errors = sum(int(found or races) for found, races in _ERRORS.findall(said))
    if errors:
        first = plain(" · ".join(_SAID.findall(said)[:MOST_LINES]), MOST_SAID)
        return ToolReport(tool, cases, of, result.seconds, errors, first)
    over = result.reason == "timeout" or (result.rc in _OVER and result.seconds >= limit_s)
    whole = result.rc == 0 and cases == of and _ERRORS.search(said) is not None
    trouble = "" if whole or over else plain(jobs.tail(result.stderr), MOST_SAID) or f"it ended with {result.rc}"
    return ToolReport(tool, cases, of, result.seconds, trouble=trouble)
