"""Measures the error of a task's own kernel, which is the tolerance where the task gives none."""

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.driver.check import Report, call_limit_ms, report_of
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.run_context import RunContext
from kpd.workspace.specs import CheckSpec

BOUNDS = "bounds.txt"
"""The file in a job's `out/` folder that has the errors of the task's own kernel."""
TIMES = 4
"""How many times longer than a check the measurement of these errors may take."""


async def measure_bounds(
    host: Host, harness: Harness, built: str, spec: CheckSpec, where: RunContext, say: Say | None = None
) -> str:
    """Measure the errors of the task's own kernel, of build job `built`. Return the path of the result on the host.

    The host remembers it. Raises CheckFailed when the kernel crashes or hangs, and HostError.
    """
    path = jobs.out(host, built, OBJECT)
    command = jobs.words([*harness.command(spec), "bounds", path, f"out/{BOUNDS}", str(call_limit_ms(spec))])
    script = f"[ -e {jobs.words([path])} ] || exit {jobs.GONE}\nexec {command}\n"
    limit_s = TIMES * spec.limit_s
    id = jobs.key("bounds", script)
    result = await jobs.run(host, where.spec(id, script, limit_s), say)
    await report_of(host, harness, result, Report, "check", limit_s)
    return jobs.out(host, id, BOUNDS)
