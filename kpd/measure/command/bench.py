"""Prepares a task that has its own benchmark."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from statistics import median

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, LeaseRequest
from kpd.hosts.job import Leave, never
from kpd.measure import jobs
from kpd.measure.bench import (
    BuiltObject,
    CheckFailed,
    CheckPassed,
    CompilerListing,
    Counted,
    FindObject,
    Fresh,
    LaunchFilter,
    Say,
)
from kpd.measure.build_cache import BuildCache
from kpd.measure.command.build import build
from kpd.measure.command.result import Result
from kpd.measure.command.roofline import CommandRoofline
from kpd.measure.command.runner import CACHES
from kpd.measure.command.runs import (
    CommandRun,
    RunFailed,
    TaskCommand,
    confirmed,
    read,
    reported,
    script,
    sources,
    tree_of,
)
from kpd.measure.command.shape import shape_of, words
from kpd.measure.command.timing import cost, order, time_pairs
from kpd.measure.judge import HeldOutResult, log_ratio, percent
from kpd.measure.run_context import RunContext, command_context, untimed_context
from kpd.measure.samples import CaseSample, ProcessSample, weighted
from kpd.measure.score import CaseWork
from kpd.model.defects import Complaint, WrongResult
from kpd.model.flags import Flag
from kpd.model.hosts import Device
from kpd.model.sanitizer import Tool, ToolReport
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task

HELD_OUT = "abba"
"""The order of the sides on the held-out cases: it tells a difference between the sides from a drift."""


async def prepare(host: Host, task: Task, device: Device, say: Say) -> "CommandBench":
    """Put the programs that run the task's commands on the host, and measure its roofline. Raises HostError."""
    runner = await host.stage(sources())
    facts = await host.probe()
    env: dict[str, str] = {}
    if device.kind == "gpu":
        ncu = {"KPD_NCU": facts["ncu"]} if facts["ncu"] else {}
        env = {"CUDA_VISIBLE_DEVICES": device.id, **ncu}
    # The task's own programs may need anything of the user's: environments of Python, data, caches.
    measuring = replace(command_context(facts, device, task.need.cpus, env), confined=False)
    building = replace(untimed_context(facts, device), confined=False)
    ceiling = CommandRoofline(host, task, device, measuring)
    await ceiling.measure(say)
    return CommandBench(host, task, device, runner, measuring, building, ceiling)


class CommandBench:
    """A `bench.Bench` for tasks with their own benchmark.

    A built object is a staged tree and a folder for what frameworks compile when its code runs.
    """

    def __init__(
        self,
        host: Host,
        task: Task,
        device: Device,
        runner: str,
        measuring: RunContext,
        building: RunContext,
        ceiling: CommandRoofline,
    ) -> None:
        assert task.bench.command is not None
        self.host = host
        self.task = task
        self._device = device
        self._runner = runner
        self._measuring = measuring
        self._building = building
        # A check need not wait until no other process uses the GPU. It takes the lock: it would disturb others' timing.
        self._checking = replace(measuring, lease=LeaseRequest(device.id))
        self._ceiling = ceiling
        self._protected = read_files(task.folder, task.protected)
        self._shape = shape_of(task.bench, frozenset(map(words, task.check.good)))
        # Where no command checks the results, each run of the benchmark has to say that its own are right.
        self._judges = task.check.command is None and not task.check.unchecked
        self._bench = self._command(task.bench.command, task.bench.limit_s)
        self._made = BuildCache(host)
        self._dims: dict[str, Mapping[str, int]] = {}

    @property
    def work(self) -> Mapping[str, CaseWork]:
        """The work of each case seen so far for which the benchmark printed dims."""
        return {name: self._ceiling.work(dims) for name, dims in self._dims.items()}

    @property
    def peaks(self) -> tuple[float | None, float | None]:
        return self._ceiling.peaks

    async def remeasure(self) -> None:
        await self._ceiling.remeasure()

    @property
    def device(self) -> Device:
        return self._device

    @property
    def checks_alone(self) -> bool:
        """Always true: a task's own commands may do anything, so each has the device for itself."""
        return True

    @property
    def launches(self) -> LaunchFilter:
        """The launches of the task's kernels. The task says whether its command marks them for a profiler."""
        return LaunchFilter(self.task.profile.kernel or "", self.task.profile.marked)

    async def stage(self, files: Mapping[str, bytes]) -> str:
        return await self._made.stage(files, {**self._protected, **files})

    async def build(self, tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        words, limit_s = self._bench.words, self.task.build.limit_s
        return await self._made.build(
            tree, files, lambda: build(self.host, tree, tuple(files), words, limit_s, say, self._building)
        )

    async def check(
        self, built: str, job: str, say: Say, incumbent: FindObject | None = None, quick: int = 0
    ) -> CheckPassed:
        spec, own = self.task.check, self.task.check.command
        command = self._bench if own is None else self._command(own, spec.limit_s)
        (run,) = await self._runs(command, "b", {"b": built}, job, self._checking, say)
        try:
            if own is not None:
                confirmed(run, command)
                return CheckPassed(1, 0.0, own)
            found = self._read(run, command)
            return CheckPassed(len(found.cases) or 1, 0.0, command.words, run_s=run.seconds, unread=found.unread)
        except RunFailed as err:
            raise CheckFailed(WrongResult(err.what)) from err

    async def result(self, built: str, job: str, say: Say) -> tuple[Result, float]:
        """Run the benchmark once, alone. Return its result, and the seconds it took. Raises CheckFailed, HostError."""
        (run,) = await self._runs(self._bench, "b", {"b": built}, job, self._checking, say)
        return self._blame(run, self._bench, True), run.seconds

    async def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say, quick: int = 0,
        leave: Leave = never,
    ) -> AsyncGenerator[ProcessSample]:  # fmt: skip
        self._made.may_be_touched()
        sides = order(first, processes)
        built = {"a": incumbent, "b": candidate}
        text = script(self.host, self._runner, self._bench, sides, built)
        spec = self._measuring.spec(job, text, self._bench.limit(len(sides)))
        async with self._made.again_if_gone(incumbent, candidate):
            pairs = time_pairs(
                self.host, spec, first, processes, self.task.bench.direction,
                lambda run: self._blame(run, self._bench, incumbent == candidate), say,
            )  # fmt: skip
            async with aclosing(pairs):
                async for sample in pairs:
                    yield sample if not self.task.weights else replace(weighted(sample, self.task.weights), score=None)

    @property
    def inspects_beside(self) -> bool:
        return True

    async def inspect(self, built: str, say: Say) -> tuple[Flag, ...]:
        """Return nothing: the task makes its objects itself, if any. Its text has been screened."""
        return ()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """None: a task's own check may look for wrong accesses."""
        return ()

    async def sanitize(self, built: str, tool: Tool, job: str, limit_s: float, say: Say) -> ToolReport:
        """Report that nothing was seen: nobody asks for this."""
        return ToolReport(tool, 0, 0, 0.0)

    @property
    def repeats_beside(self) -> bool:
        """No: there are none."""
        return False

    async def repeat(self, built: str, job: str, say: Say, incumbent: str | None = None) -> None:
        """Return None: the calls are the benchmark's own."""

    async def audit(
        self, incumbent: str, candidate: str, job: str, say: Say, alone: int = 1, fresh: Fresh | None = None,
        times: int = 1, rows: bool = False,
    ) -> None:  # fmt: skip
        """Return None: the calls, and their inputs, are the benchmark's own."""

    async def final(self, incumbent: str | None, candidate: str, job: str, say: Say) -> HeldOutResult | None:
        spec = self.task.final
        if spec.command is None:
            return None
        command = self._command(spec.command, spec.limit_s)
        built = {"b": candidate} if incumbent is None else {"a": incumbent, "b": candidate}
        sides = "b" if incumbent is None else HELD_OUT
        scores: dict[str, list[float]] = {"a": [], "b": []}
        try:
            for run in await self._runs(command, sides, built, job, self._measuring, say):
                scores[run.side].append(self._blame(run, command, False).score)
        except HostError:  # a retry has to run the command again, not to read the old results
            await self.forget(job)
            raise
        name, score = self.task.bench.score, median(scores["b"])
        if incumbent is None:
            return HeldOutResult(name, score, None, 0.0)
        a, b = (tuple(cost(score, self.task.bench.direction) for score in scores[side]) for side in "ab")
        halves = tuple(percent(log_ratio(CaseSample(1, (one,), (other,)))) for one, other in zip(a, b, strict=True))
        return HeldOutResult(name, score, median(scores["a"]), percent(log_ratio(CaseSample(1, a, b))), halves)

    async def forget(self, job: str) -> None:
        await jobs.forget(self.host, job)

    async def listing(self, built: str) -> CompilerListing:
        return CompilerListing("", "")

    async def counted(self, built: str, job: str, script: Counted, say: Say) -> JobResult:
        """Run the task's [profile] command, or else its benchmark, in a fresh copy.

        How often it calls a kernel is up to the command.
        """
        words = self.task.profile.command or self._bench.words
        tree = f"{self.host.root}/trees/{tree_of(built)}"
        begin = f"cp -R {jobs.words([tree])} run && chmod -R u+w run || exit {jobs.GONE}\n"
        for name in CACHES:
            begin += f"export {name}={jobs.words([jobs.out(self.host, built, f'cache/{name.lower()}')])}\n"

        def calls(number: int) -> str:
            return jobs.words(["sh", "-c", f"cd run && {words}"])

        spec = self._measuring.spec(job, begin + script(calls), self.task.profile.limit_s)
        self._made.may_be_touched()
        async with self._made.again_if_gone(built):
            return await jobs.run(self.host, spec, say)

    async def output(self, job: str, name: str, limit: int) -> bytes:
        return await self.host.read(jobs.out(self.host, job, name), limit)

    def _command(self, program: str, limit_s: float) -> TaskCommand:
        return TaskCommand(program, limit_s, self.task.protected, self._shape, self._judges, self.task.records)

    async def _runs(
        self, command: TaskCommand, sides: str, built: Mapping[str, str], job: str, where: RunContext, say: Say
    ) -> list[CommandRun]:
        """Run the command for each of `sides` in one job. Only the last run may have failed. Raises HostError."""
        self._made.may_be_touched()
        spec = where.spec(job, script(self.host, self._runner, command, sides, built), command.limit(len(sides)))
        async with self._made.again_if_gone(*built.values()):
            return await reported(self.host, await jobs.run(self.host, spec, say), sides)

    def _blame(self, run: CommandRun, command: TaskCommand, alone: bool) -> Result:
        """Return the run's result. Raises CheckFailed when side B failed (or any, with `alone`), else HostError."""
        try:
            return self._read(run, command)
        except RunFailed as err:
            if run.side == "b" or alone:
                raise CheckFailed(WrongResult(err.what)) from err
            raise HostError(
                "host", f"{self.host.name}: the incumbent's own run failed: {err}", "look at the task, then resume"
            ) from err

    def _read(self, run: CommandRun, command: TaskCommand) -> Result:
        found = read(run, command)
        if command is self._bench and (unknown := [name for name in self.task.weights if name not in found.cases]):
            cases = ", ".join(found.cases) or "none"
            raise RunFailed(Complaint(f"[cases.{unknown[0]}] has a weight, but the cases of its result are {cases}"))
        self._dims |= {name: case.dims for name, case in found.cases.items() if case.dims}
        return found
