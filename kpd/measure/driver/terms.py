"""Finds what a program that judges a candidate uses: the task's own kernel, the truth or its errors, their seals."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import PurePosixPath

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.build_cache import BuildCache
from kpd.measure.driver import tolerance
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.run_context import RunContext
from kpd.measure.seals import Seals
from kpd.workspace.run_files import digest
from kpd.workspace.specs import CheckSpec

BOUNDS_LIMIT = 16 << 20  # bytes of the errors of the task's own kernel at most
KEPT, GIVEN = "compiled.zip", "KPD_COMPILED"
"""What a check leaves of what was compiled while it ran, and the variable that gives it to later jobs."""


class CheckTerms:
    """What the programs of a task use on a host, beside the candidate. `own` builds the task's own kernel."""

    def __init__(
        self,
        host: Host,
        harness: Harness,
        spec: CheckSpec,
        made: BuildCache,
        checking: RunContext,
        own: Callable[[Say], Awaitable[BuiltObject]],
    ) -> None:
        self._host = host
        self._harness = harness
        self._spec = spec
        self._made = made
        self._checking = checking
        self._own = own
        self._bounds: Seals = {}
        self._kept: dict[str, tuple[str, str]] = {}  # by build: its check, and the sha256 of what that keeps

    async def of_check(self, say: Say) -> tuple[str, str, Seals]:
        """Return the `reference` and the `baseline` that Harness.command takes for a check, and their seals."""
        return await self._with_baseline(self._spec.sizes == "any", say)

    async def of_repeats(self, say: Say) -> tuple[str, str, Seals]:
        """Return the same for calls on unchanged inputs."""
        return await self._with_baseline(True, say)

    async def _with_baseline(self, wanted: bool, say: Say) -> tuple[str, str, Seals]:
        reference, seals = await self.reference(say)
        baseline, own = await self._baseline(say) if wanted else ("", {})
        self._made.may_be_touched()
        return reference, baseline, {**seals, **own}

    async def _baseline(self, say: Say) -> tuple[str, Seals]:
        """Return the path of the task's own kernel on the host, and its seals."""
        own = await self._own(say)
        return jobs.out(self._host, own.job, OBJECT), self._seals(own.job)

    async def reference(self, say: Say) -> tuple[str, Seals]:
        """Return the `reference` that Harness.command takes, after measuring it, if it has to be; and its seals."""
        if not self._spec.is_native and self._spec.truth == "oracle":
            return "", {}
        if self._spec.truth == "baseline":
            return await self._baseline(say)
        own = await self._own(say)
        where = self.sealed(self._checking, {}, own.job)
        async with self._made.again_if_gone(own.job, seals=where.seals):
            bounds = await tolerance.measure_bounds(self._host, self._harness, own.job, self._spec, where, say)
        if not self._bounds:
            found = await self._host.read(bounds, BOUNDS_LIMIT)
            self._bounds = {str(PurePosixPath(bounds).parent): {tolerance.BOUNDS: digest(found)}}
        return bounds, self._bounds

    def _seals(self, *built: str) -> Seals:
        return {jobs.out(self._host, job, "").rstrip("/"): self._made.hashes(job) for job in built}

    def sealed(self, where: RunContext, own: Seals, *built: str) -> RunContext:
        """Return the context for a program that uses what these jobs built, and what `own` names."""
        kept = {one: self._kept[one] for one in built if one in self._kept}
        archives = {jobs.out(self._host, job, "").rstrip("/"): {KEPT: digest} for job, digest in kept.values()}
        env = {**where.env, GIVEN: ":".join(f"{folder}/{KEPT}" for folder in archives)} if archives else where.env
        folder = str(PurePosixPath(self._harness.program).parent)
        seals = {folder: self._harness.hashes, **self._seals(*built), **archives, **own}
        return replace(where, env=env, seals=seals)

    def keep(self, built: str, job: str, digest: str) -> None:
        """Give later programs that use this build what its check, a job, has kept."""
        self._kept[built] = job, digest

    def forget(self, job: str) -> None:
        """Give nobody what this job has kept."""
        self._kept = {built: kept for built, kept in self._kept.items() if kept[0] != job}
