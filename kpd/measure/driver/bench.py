"""Stages, builds, checks, times and profiles candidates that kpd's driver loads as objects."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult
from kpd.hosts.job import Leave, never
from kpd.measure import jobs
from kpd.measure.audits import AuditSamples
from kpd.measure.bench import BuiltObject, CheckPassed, CompilerListing, Counted, FindObject, Fresh, LaunchFilter, Say
from kpd.measure.build_cache import BuildCache, CompileTree
from kpd.measure.driver import audits, check, joined, timing
from kpd.measure.driver.check import CheckEnd
from kpd.measure.driver.harness import OBJECT, Harness, refuse_mismatch
from kpd.measure.driver.last_checks import LastChecks
from kpd.measure.driver.pairs import PlaceObject
from kpd.measure.driver.repeat import repeat
from kpd.measure.driver.terms import CheckTerms
from kpd.measure.judge import CLEAR
from kpd.measure.objects.inspect import Inspector
from kpd.measure.roofline import MeasureRoofline, Roofline, work
from kpd.measure.run_context import RunContext
from kpd.measure.samples import ProcessSample, weighted
from kpd.measure.score import CaseWork
from kpd.measure.seals import Seals
from kpd.measure.seeds import numbers_of
from kpd.model.flags import Flag, NotInspected
from kpd.model.hosts import Device
from kpd.model.sanitizer import Tool, ToolReport
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task

LISTING_LIMIT = 16 << 20  # bytes of assembly or of remarks at most: a kernel has about ten thousand


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
        place: PlaceObject | None = None,
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
        self._place = place
        self._inspector = inspector
        self._protected = read_files(task.folder, task.protected)
        self._pristine = read_files(task.folder, task.editable)
        self._made = BuildCache(host)
        self._terms = CheckTerms(host, harness, task.check, self._made, checking, self._own)
        far, alone = harness.far and device.kind == "cpu", replace(checking, lease=checking.lease or measuring.lease)
        self._last_checks = LastChecks(host, harness, task.check, self._terms, self._made, alone, far, sanitizer)
        self._begun: dict[tuple[str, str], audits.AuditJob] = {}  # by incumbent and candidate: a check that goes on
        self._part_of: dict[str, str] = {}  # by the job of a contest: that of the check which began it
        self._followed: dict[tuple[str, str], audits.AuditJob] = {}  # by both: a contest whose job goes on with audits
        self._repeated: dict[tuple[str, str], audits.AuditJob] = {}  # by both: repeats whose job goes on

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

    async def check(
        self, built: str, job: str, say: Say, incumbent: FindObject | None = None, quick: int = 0
    ) -> CheckPassed:
        reference, baseline, own = await self._terms.of_check(say)
        if incumbent is not None and self.harness.forks:
            found = (await incumbent()).job
            passed = await self._check_and_begin(found, built, job, say, reference, baseline, own, quick)
        else:
            where = self._terms.sealed(self._checking, own, built)
            async with self._made.again_if_gone(built, seals=where.seals):
                passed = await check.check(
                    self.host, self.harness, built, job, self.task.check, where, say, reference, baseline
                )
        if passed.kept:
            self._terms.keep(built, job, passed.kept)
        return passed

    async def check_each(self, built: Sequence[str], job: str, say: Say) -> list[CheckEnd]:
        """Check candidates in one job of a driver that `chains`. Raises CheckFailed and HostError as a whole."""
        reference, baseline, own = await self._terms.of_check(say)
        where = self._terms.sealed(self._checking, own, *built)
        async with self._made.again_if_gone(*built, seals=where.seals):
            return await check.check_each(
                self.host, self.harness, built, job, self.task.check, where, say, reference, baseline
            )

    async def _check_and_begin(
        self, incumbent: str, built: str, job: str, say: Say, reference: str, baseline: str, own: Seals, quick: int
    ) -> CheckPassed:
        """Check a candidate in a job that goes on with its contest, which `time` then reads, and with audits.

        Audits of another one that nobody has read are ended: it came to none, for another reason.
        """
        spec, bench = self.task.check, self.task.bench
        while self._followed:
            await jobs.forget(self.host, self._followed.popitem()[1].spec.id)
        _, steady, more = await self._terms.of_repeats(say)
        where = self._terms.sealed(self._measuring, {**own, **more}, incumbent, built)
        objects = [jobs.out(self.host, one, OBJECT) for one in (incumbent, built)]
        what = self._audited(incumbent, built, where, reference, baseline)
        with numbers_of("audit"):
            audit, told = audits.among(what, quick + CLEAR)
        command = (*self.harness.command(spec, reference, baseline), *([f"own={steady}"] if steady else []))
        both = joined.joined(
            where, job, command, check.words(objects[1], spec), spec.limit_s,
            timing.times(objects, bench, joined.AHEAD + 2 + what.processes, *told),
            (joined.AHEAD + 2 + what.processes) * bench.limit_s + spec.limit_s,
            check.seed("check") + joined.following(quick, audit), *objects, reference, baseline,
        )  # fmt: skip
        async with self._made.again_if_gone(incumbent, built, seals=where.seals):
            report = await joined.first_report(
                self.host, self.harness, both, check.PassedReport, "check", spec.limit_s, say
            )
        self._begun[incumbent, built] = audits.AuditJob(what, both, repeats=True, first=1 + quick + CLEAR)
        return report.passed(spec)

    async def _own(self, say: Say) -> BuiltObject:
        """Build the task's own kernel."""
        return await self.build(await self.stage(self._pristine), self._pristine, say)

    async def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say, quick: int = 0,
        leave: Leave = never,
    ) -> AsyncGenerator[ProcessSample]:  # fmt: skip
        begun = self._begun.pop((incumbent, candidate), None)
        if begun is not None and first == 0:
            self._part_of[job] = begun.spec.id

            def goes_on() -> bool:
                if on := leave():
                    self._followed[incumbent, candidate] = begun
                return on

            samples = timing.samples_of(
                self.host, self.harness, begun.spec, 0, joined.AHEAD, say, {0, *begun.reports}, goes_on
            )
            async with aclosing(samples):
                async for sample in samples:
                    yield weighted(sample, self.task.weights)
            return
        reference, own = await self._terms.reference(say)
        self._made.may_be_touched()
        where = self._terms.sealed(self._measuring, own, incumbent, candidate)
        async with self._made.again_if_gone(incumbent, candidate, seals=where.seals):
            samples = timing.time_pair(
                self.host, self.harness, incumbent, candidate, job, first, processes,
                self.task.bench, self.task.check, where, say, self._place, reference, quick,
            )  # fmt: skip
            async with aclosing(samples):
                async for sample in samples:
                    yield weighted(sample, self.task.weights)

    @property
    def inspects_beside(self) -> bool:
        return self._inspector is None or self._inspector.where.lease is None

    async def inspect(self, built: str, say: Say) -> tuple[Flag, ...]:
        if self._inspector is None:
            return ()
        own = await self._own(say)
        async with self._made.again_if_gone(built, own.job):
            usual = await self._inspector.flags(self.host, own.job, say)
            found = await self._inspector.flags(self.host, built, say)
        return tuple(flag for flag in found if flag not in usual or isinstance(flag, NotInspected))

    @property
    def repeats_beside(self) -> bool:
        return not self._joins and not self.checks_alone

    async def repeat(self, built: str, job: str, say: Say, incumbent: str | None = None) -> dict[str, int]:
        if incumbent is not None and (followed := self._followed.pop((incumbent, built), None)) is not None:
            calls = await audits.repeated(followed, say)
            self._repeated[incumbent, built] = followed
            return calls
        reference, baseline, own = await self._terms.of_repeats(say)
        if incumbent is None or not self._joins:
            where = self._terms.sealed(self._checking, own, built)
            async with self._made.again_if_gone(built, seals=where.seals):
                return await repeat(
                    self.host, self.harness, built, job, self.task.check, where, say, reference, baseline
                )
        where = self._terms.sealed(self._measuring, own, incumbent, built)
        begun = audits.begun(self._audited(incumbent, built, where, reference, baseline), job, repeats=True)
        async with self._made.again_if_gone(incumbent, built, seals=where.seals):
            calls = await audits.repeated(begun, say)
        self._repeated[incumbent, built] = begun
        return calls

    @property
    def _joins(self) -> bool:
        """Whether repeats and the first audit are one job: where its processes get ready while another one measures."""
        return self.harness.forks or self.device.kind == "gpu"

    def _audited(
        self, incumbent: str, candidate: str, where: RunContext, reference: str, baseline: str = "", alone: int = 1,
        times: int = 1, rows: bool = False,
    ) -> audits.Audited:  # fmt: skip
        if self._joins:
            alone, times = min(alone, 1), 1
        return audits.Audited(
            self.host, self.harness, incumbent, candidate, self.task.bench, self.task.check, where, self._place,
            reference, baseline, alone, times, rows and self.device.kind == "gpu" and not self.harness.forks,
        )  # fmt: skip

    async def audit(
        self, incumbent: str, candidate: str, job: str, say: Say, alone: int = 1, fresh: Fresh | None = None,
        times: int = 1, rows: bool = False,
    ) -> AuditSamples:  # fmt: skip
        begun = self._repeated.pop((incumbent, candidate), None)
        if begun is None:
            reference, own = await self._terms.reference(say)
            where = self._terms.sealed(self._measuring, own, incumbent, candidate)
            begun = audits.begun(self._audited(incumbent, candidate, where, reference, "", alone, times, rows), job)
        self._made.may_be_touched()
        async with self._made.again_if_gone(incumbent, candidate, seals=begun.what.where.seals):
            found = await audits.audit(begun, say, fresh)
        return replace(found, alone=tuple(weighted(sample, self.task.weights) for sample in found.alone))

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self._last_checks.tools

    async def sanitize(self, built: str, tool: Tool, job: str, limit_s: float, say: Say) -> ToolReport:
        return await self._last_checks.run(built, tool, job, limit_s, say)

    async def final(self, incumbent: str | None, candidate: str, job: str, say: Say) -> None:
        """Return None: a harness holds no cases out, as its seeds are secret, and fresh for each candidate."""

    async def forget(self, job: str) -> None:
        job = self._part_of.pop(job, job)
        self._followed = {both: begun for both, begun in self._followed.items() if begun.spec.id != job}
        self._terms.forget(job)
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

        where = replace(self._terms.sealed(self._measuring, {}, built), capable=True)
        self._made.may_be_touched()
        async with self._made.again_if_gone(built, seals=where.seals):
            return await jobs.run(self.host, where.spec(job, script(calls), self.task.profile.limit_s), say)

    async def output(self, job: str, name: str, limit: int) -> bytes:
        return await self.host.read(jobs.out(self.host, job, name), limit)
