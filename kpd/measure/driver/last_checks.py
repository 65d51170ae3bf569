"""Runs the last checks of a winner: under compute-sanitizer, and at sizes that no case has."""

from dataclasses import dataclass, replace

from kpd.hosts.host import Host
from kpd.measure.bench import Say
from kpd.measure.build_cache import BuildCache
from kpd.measure.driver.far import far
from kpd.measure.driver.harness import Harness
from kpd.measure.driver.overflow import overflow
from kpd.measure.driver.sanitize import sanitize
from kpd.measure.driver.terms import CheckTerms
from kpd.measure.run_context import RunContext
from kpd.model.sanitizer import TOOLS, Tool, ToolReport
from kpd.workspace.specs import CheckSpec


@dataclass(frozen=True, slots=True)
class LastChecks:
    """The last checks of a task's winners, which run in the context `where`: they may disturb what is timed.

    `far`: they are calls far beyond the cases. `sanitizer` is the path of compute-sanitizer on the host; empty where
    it is not there, or not wanted.
    """

    host: Host
    harness: Harness
    spec: CheckSpec
    terms: CheckTerms
    made: BuildCache
    where: RunContext
    far: bool = False
    sanitizer: str = ""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that look at a winner, as in Bench."""
        if not self.far:
            return TOOLS if self.sanitizer else ()
        return ("overflow",) if self.spec.sanitizer and self.spec.sizes == "any" else ()

    async def run(self, built: str, tool: Tool, job: str, limit_s: float, say: Say) -> ToolReport:
        """Run one tool on the object of build job `built`, for at most `limit_s` seconds. Raises HostError."""
        if tool == "overflow":
            return await self._at_other_sizes(built, job, limit_s, say)
        self.made.may_be_touched()
        where = replace(self.terms.sealed(self.where, {}, built), capable=True)
        async with self.made.again_if_gone(built, seals=where.seals):
            return await sanitize(self.host, self.harness, built, job, self.sanitizer, tool, where, limit_s, say)

    async def _at_other_sizes(self, built: str, job: str, limit_s: float, say: Say) -> ToolReport:
        if self.spec.sizes != "any":
            return ToolReport("overflow", 0, 0, 0.0)
        reference, own, seals = await self.terms.of_repeats(say)
        where = self.terms.sealed(self.where, seals, built)
        async with self.made.again_if_gone(built, seals=where.seals):
            if self.far:
                return await far(
                    self.host, self.harness, built, own, job, self.spec, where, limit_s, say, reference
                )  # fmt: skip
            return await overflow(self.host, self.harness, built, own, job, where, limit_s, say)
