"""Measures whether a candidate gives the same results each time, on inputs that do not change."""

from dataclasses import dataclass

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Say
from kpd.measure.driver.check import Report, call_limit_ms, report_of, seed, seeded
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.run_context import RunContext
from kpd.workspace.specs import CheckSpec

REPEAT_MS = 300, 250
"""Milliseconds of calls on unchanged inputs, all cases together, on a CPU and on a GPU. The quickest case has as many
besides, on a CPU four thirds as many, and a quarter more with inputs that are almost the same."""
NEW_INPUTS = "new inputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatsReport(Report):
    """The number of calls of each case, and on how many new inputs it was called besides."""

    calls: dict[str, int]
    inputs: int = 0

    @property
    def counted(self) -> dict[str, int]:
        """The calls of each case, and as one more those on new inputs, if there were any."""
        return {**self.calls, NEW_INPUTS: self.inputs} if self.inputs else self.calls


async def repeat(
    host: Host, harness: Harness, built: str, job: str, spec: CheckSpec, where: RunContext, say: Say | None = None,
    reference: str = "", baseline: str = "",
) -> dict[str, int]:  # fmt: skip
    """Call the candidate of build job `built` on unchanged inputs. Return the number of calls as `counted`.

    `reference` and `baseline` are as in Harness.command. Raises CheckFailed when a call's results are wrong, or differ
    from the first one's where [check] asks for the same bits; and HostError.
    """
    path = jobs.out(host, built, OBJECT)
    program, *settings = harness.command(spec, reference, baseline)
    script = seeded((program, *settings, *words(path, spec, where)), path, reference, baseline)
    result = await jobs.run(host, where.spec(job, script, spec.limit_s, seed("repeat")), say)
    return (await report_of(host, harness, result, RepeatsReport, "repeats", spec.limit_s)).counted


def words(path: str, spec: CheckSpec, where: RunContext) -> tuple[str, ...]:
    """Return the driver's command that calls the kernel at this path."""
    return ("repeat", path, spec.deterministic, str(REPEAT_MS[where.gpu]), str(call_limit_ms(spec)))
