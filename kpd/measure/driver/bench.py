"""Stages, builds, checks, times and profiles candidates that kpd's driver loads as objects."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import PurePosixPath

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec
from kpd.measure import jobs
from kpd.measure.audits import AuditSamples
from kpd.measure.bench import BuiltObject, CheckPassed, CompilerListing, Counted, FindObject, LaunchFilter, Say
from kpd.measure.build_cache import BuildCache, CompileTree
from kpd.measure.driver import audits, check, joined, timing, tolerance
from kpd.measure.driver.check import CheckEnd
from kpd.measure.driver.harness import OBJECT, Harness, refuse_mismatch
from kpd.measure.driver.repeat import repeat
from kpd.measure.driver.sanitize import sanitize
from kpd.measure.objects.inspect import Inspector
from kpd.measure.roofline import MeasureRoofline, Roofline, work
from kpd.measure.run_context import RunContext
from kpd.measure.samples import ProcessSample, weighted
from kpd.measure.score import CaseWork
from kpd.measure.seals import Seals
from kpd.model.flags import Flag, NotInspected
from kpd.model.hosts import Device
from kpd.model.sanitizer import Tool, ToolReport
from kpd.workspace.run_files import digest, read_files
from kpd.workspace.task import Task

LISTING_LIMIT = 16 << 20  # bytes of assembly or of remarks at most: a kernel has about ten thousand
KEPT, GIVEN = "compiled.zip", "KPD_COMPILED"
"""What a check leaves of what was compiled while it ran, and the variable that gives it to later jobs."""


class DriverBench:
    """A `bench.Bench` for languages whose kernels become shared objects.

    `cached` says whether a timed case may find its data in a cache. `listings` are the names of the files in a build's
    `out/` folder with its assembly, if there is any, and the compiler's remarks. `lay` turns a candidate's files into
    those that are staged over the protected files. `sanitizer` is the path of compute-sanitizer, if winners are to be
    seen by it. `place` makes the objects of a timed process (None: they are copied). `inspector` looks at built
    objects (None: nobody does). Raises TaskError where task.toml asks for what the harness lacks.
    """

    def __init__(
        self,
        host: Host,
        task: Task,
        device: Device,
        harness: Harness,
        roofline: Roofline,
        measure: MeasureRoofline,
        compile: CompileTree,
        listings: tuple[str, str],
        checking: RunContext,
        measuring: RunContext,
        cached: bool = True,
        lay: Callable[[Mapping[str, bytes]], Mapping[str, bytes]] = dict,
        sanitizer: str = "",
        place: timing.PlaceObject | None = None,
        inspector: Inspector | None = None,
    ) -> None:
        refuse_mismatch(task, harness)
        self.harness = harness
        self.host = host
        self.task = task
        self.device = device
        self.launches = LaunchFilter(task.profile.kernel or "")
        self._measure = measure
        self._remeasured = False
        self._cached = cached
        self._use(roofline)
        self._compile = compile
        self._listings = listings
        self._checking = checking
        self._measuring = measuring
        self._lay = lay
        self._sanitizer = sanitizer
        self._place = place
        self._inspector = inspector
        self._protected = read_files(task.folder, task.protected)
        self._pristine = read_files(task.folder, task.editable)
        self._folder = PurePosixPath(harness.program).parent
        self._made = BuildCache(host)
        self._bounds: Seals = {}
        self._begun: dict[tuple[str, str], JobSpec] = {}  # by incumbent and candidate: a check whose job goes on
        self._part_of: dict[str, str] = {}  # by the job of a contest: that of the check which began it
        self._kept: dict[str, tuple[str, str]] = {}  # by build: its check, and the sha256 of what that keeps

    def _use(self, roofline: Roofline) -> None:
        self._roofline = roofline
        self._work = {case.name: work(self.task, roofline, case.dims, self._cached) for case in self.harness.cases}

    @property
    def work(self) -> Mapping[str, CaseWork]:
        return self._work

    @property
    def peaks(self) -> tuple[float | None, float | None]:
        return self._roofline.memory_gbs, self._roofline.peak_gflops

    async def remeasure(self) -> None:
        if not self._remeasured:
            self._use(self._roofline.better(await self._measure(again=True)))
            self._remeasured = True

    @property
    def checks_alone(self) -> bool:
        return self._checking.lease is not None

    async def stage(self, files: Mapping[str, bytes]) -> str:
        return await self._made.stage(files, {**self._protected, **self._lay(files)})

    async def build(self, tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        return await self._made.build(tree, files, lambda: self._compile(tree, files, say))

    async def check(self, built: str, job: str, say: Say, incumbent: FindObject | None = None) -> CheckPassed:
        reference, baseline, own = await self._terms(say)
        if incumbent is not None and self.harness.forks:
            passed = await self._check_and_begin((await incumbent()).job, built, job, say, reference, baseline, own)
        else:
            where = self._sealed(self._checking, own, built)
            async with self._made.again_if_gone(built, seals=where.seals):
                passed = await check.check(
                    self.host, self.harness, built, job, self.task.check, where, say, reference, baseline
                )
        if passed.kept:
            self._kept[built] = job, passed.kept
        return passed

    async def check_each(self, built: Sequence[str], job: str, say: Say) -> list[CheckEnd]:
        """Check candidates in one job of a driver that `chains`. Raises CheckFailed and HostError as a whole."""
        reference, baseline, own = await self._terms(say)
        where = self._sealed(self._checking, own, *built)
        async with self._made.again_if_gone(*built, seals=where.seals):
            return await check.check_each(
                self.host, self.harness, built, job, self.task.check, where, say, reference, baseline
            )

    async def _check_and_begin(
        self, incumbent: str, built: str, job: str, say: Say, reference: str, baseline: str, own: Seals
    ) -> CheckPassed:
        """Check a candidate in a job that goes on with its contest, which `time` then reads."""
        spec, bench = self.task.check, self.task.bench
        where = self._sealed(self._measuring, own, incumbent, built)
        objects = [jobs.out(self.host, one, OBJECT) for one in (incumbent, built)]
        both = joined.joined(
            where, job, self.harness.command(spec, reference, baseline), check.words(objects[1], spec), spec.limit_s,
            timing.times(objects, bench, joined.AHEAD), joined.AHEAD * bench.limit_s,
            check.seed("check") + joined.following(), *objects, reference, baseline,
        )  # fmt: skip
        async with self._made.again_if_gone(incumbent, built, seals=where.seals):
            report = await joined.first_report(
                self.host, self.harness, both, check.PassedReport, "check", spec.limit_s, say
            )
        self._begun[incumbent, built] = both
        return report.passed(spec)

    async def _terms(self, say: Say) -> tuple[str, str, Seals]:
        """Return the `reference` and the `baseline` that Harness.command takes for a check, and their seals."""
        reference, seals = await self._reference(say)
        baseline, own = await self._baseline(say) if self.task.check.sizes == "any" else ("", {})
        self._made.may_be_touched()
        return reference, baseline, {**seals, **own}

    async def _own(self, say: Say) -> BuiltObject:
        """Build the task's own kernel."""
        return await self.build(await self.stage(self._pristine), self._pristine, say)

    async def _baseline(self, say: Say) -> tuple[str, Seals]:
        """Return the path of the task's own kernel on the host, and its seals."""
        own = await self._own(say)
        return jobs.out(self.host, own.job, OBJECT), self._seals(own.job)

    async def _reference(self, say: Say) -> tuple[str, Seals]:
        """Return the `reference` that Harness.command takes, after measuring it, if it has to be; and its seals."""
        spec = self.task.check
        if not spec.is_native and spec.truth == "oracle":
            return "", {}
        if spec.truth == "baseline":
            return await self._baseline(say)
        own = await self._own(say)
        where = self._sealed(self._checking, {}, own.job)
        async with self._made.again_if_gone(own.job, seals=where.seals):
            bounds = await tolerance.measure_bounds(self.host, self.harness, own.job, self.task.check, where, say)
        if not self._bounds:
            found = await self.host.read(bounds, LISTING_LIMIT)
            self._bounds = {str(PurePosixPath(bounds).parent): {tolerance.BOUNDS: digest(found)}}
        return bounds, self._bounds

    def _seals(self, *built: str) -> Seals:
        return {jobs.out(self.host, job, "").rstrip("/"): self._made.hashes(job) for job in built}

    def _sealed(self, where: RunContext, own: Seals, *built: str) -> RunContext:
        """Return the context for a program that uses what these jobs built, and what `own` names."""
        kept = {one: self._kept[one] for one in built if one in self._kept}
        archives = {jobs.out(self.host, job, "").rstrip("/"): {KEPT: digest} for job, digest in kept.values()}
        env = {**where.env, GIVEN: ":".join(f"{folder}/{KEPT}" for folder in archives)} if archives else where.env
        seals = {str(self._folder): self.harness.hashes, **self._seals(*built), **archives, **own}
        return replace(where, env=env, seals=seals)

    async def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say, quick: int = 0
    ) -> AsyncGenerator[ProcessSample]:
        begun = self._begun.pop((incumbent, candidate), None)
        if begun is not None and first == 0:
            self._part_of[job] = begun.id
            samples = timing.samples_of(self.host, self.harness, begun, 0, joined.AHEAD, say, skipped=1)
            async with aclosing(samples):
                async for sample in samples:
                    yield weighted(sample, self.task.weights)
            return
        reference, own = await self._reference(say)
        self._made.may_be_touched()
        where = self._sealed(self._measuring, own, incumbent, candidate)
        async with self._made.again_if_gone(incumbent, candidate, seals=where.seals):
            samples = timing.time_pair(
                self.host, self.harness, incumbent, candidate, job, first, processes,
                self.task.bench, self.task.check, where, say, self._place, reference, quick,
            )  # fmt: skip
            async with aclosing(samples):
                async for sample in samples:
                    yield weighted(sample, self.task.weights)

    async def inspect(self, built: str, say: Say) -> tuple[Flag, ...]:
        if self._inspector is None:
            return ()
        own = await self._own(say)
        async with self._made.again_if_gone(built, own.job):
            usual = await self._inspector.flags(self.host, own.job, say)
            found = await self._inspector.flags(self.host, built, say)
        return tuple(flag for flag in found if flag not in usual or isinstance(flag, NotInspected))

    async def repeat(self, built: str, job: str, say: Say) -> dict[str, int]:
        reference, seals = await self._reference(say)
        baseline, own = await self._baseline(say) if self.task.check.deterministic == "auto" else ("", {})
        self._made.may_be_touched()
        where = self._sealed(self._checking, {**seals, **own}, built)
        async with self._made.again_if_gone(built, seals=where.seals):
            return await repeat(self.host, self.harness, built, job, self.task.check, where, say, reference, baseline)

    async def audit(
        self, incumbent: str, candidate: str, job: Callable[[str], str], say: Say, alone: bool = True
    ) -> AuditSamples:
        reference, own = await self._reference(say)
        where = self._sealed(self._measuring, own, incumbent, candidate)
        what = audits.Audited(
            self.host, self.harness, incumbent, candidate, self.task.bench, self.task.check, where, self._place,
            reference, alone,
        )  # fmt: skip
        self._made.may_be_touched()
        async with self._made.again_if_gone(incumbent, candidate, seals=where.seals):
            found = await audits.audit(what, job("audit"), say)
        return replace(found, alone=tuple(weighted(sample, self.task.weights) for sample in found.alone))

    @property
    def sanitizes(self) -> bool:
        return bool(self._sanitizer)

    async def sanitize(self, built: str, tool: Tool, job: str, limit_s: float, say: Say) -> ToolReport:
        self._made.may_be_touched()
        where = replace(self._sealed(self._checking, {}, built), capable=True)
        async with self._made.again_if_gone(built, seals=where.seals):
            return await sanitize(self.host, self.harness, built, job, self._sanitizer, tool, where, limit_s, say)

    async def final(self, incumbent: str | None, candidate: str, job: str, say: Say) -> None:
        """Return None: a harness holds no cases out, as its seeds are secret, and fresh for each candidate."""

    async def forget(self, job: str) -> None:
        job = self._part_of.pop(job, job)
        self._kept = {built: kept for built, kept in self._kept.items() if kept[0] != job}
        await jobs.forget(self.host, job)

    async def listing(self, built: str) -> CompilerListing:
        async def text(name: str) -> str:
            try:
                return (await self.output(built, name, LISTING_LIMIT)).decode(errors="replace") if name else ""
            except HostError as err:
                if err.kind != "too_large":  # nobody reads so much, and a huge candidate must not stop a run
                    raise
                return ""

        async with self._made.again_if_gone(built):
            return CompilerListing(*await asyncio.gather(*map(text, self._listings)))

    async def counted(self, built: str, job: str, script: Counted, say: Say) -> JobResult:
        path = jobs.out(self.host, built, OBJECT)

        def calls(number: int) -> str:
            return jobs.words([self.harness.program, "run", path, str(number)])

        where = replace(self._sealed(self._measuring, {}, built), capable=True)
        self._made.may_be_touched()
        async with self._made.again_if_gone(built, seals=where.seals):
            return await jobs.run(self.host, where.spec(job, script(calls), self.task.profile.limit_s), say)

    async def output(self, job: str, name: str, limit: int) -> bytes:
        return await self.host.read(jobs.out(self.host, job, name), limit)
