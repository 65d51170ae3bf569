"""A C task made ready on a host: its harness built, its machine's roofline known, its candidates built and measured."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobResult, JobSpec, Lease
from kpd.hosts.probe import measuring_cpu
from kpd.measure import build, check, jobs, timing
from kpd.measure.bench import Correct, Listing, Object, Say
from kpd.measure.harness import Harness, harness
from kpd.measure.made import Made
from kpd.measure.roofline import Roofline, measure_roofline
from kpd.measure.samples import ProcessSample
from kpd.measure.score import Work
from kpd.measure.toolchain import Toolchain, choose
from kpd.model.nouns import Device
from kpd.workspace.expr import ExprError
from kpd.workspace.runfolder import read_files
from kpd.workspace.task import TASK_FILE, Task, TaskError

FLAGS = "build.json"
LISTING_LIMIT = 16 << 20
"""Bytes of assembly, or of remarks; a kernel has some ten thousand."""
FEW_CALLS, MANY_CALLS = 10, 310
"""Of every case, by the two processes whose counters are compared: milliseconds, and some tens of them more."""
LIMIT_MS = "20000"


class CBench:
    """See `bench.Bench`, which this is for language "c"."""

    def __init__(
        self, host: Host, task: Task, tools: Toolchain, harness: Harness, roofline: Roofline, cpu: int | None,
        lease: Lease,
    ) -> None:  # fmt: skip
        self.host = host
        self.task = task
        self.tools = tools
        self.harness = harness
        self.roofline = roofline
        self.cpu = cpu
        self.lease = lease
        self.protected = read_files(task.folder, task.protected)
        self._work = {case.name: work(task, roofline, case.dims) for case in harness.cases}
        self._made = Made(host)

    @property
    def work(self) -> Mapping[str, Work]:
        return self._work

    @property
    def peaks(self) -> tuple[float | None, float | None]:
        return self.roofline.memory_gbs, self.roofline.peak_gflops

    async def stage(self, files: Mapping[str, bytes]) -> str:
        if (known := self._made.tree(files)) is not None:
            return known
        tree = await self.host.stage({**self.protected, **files})
        self._made.staged(files, tree)
        return tree

    async def build(self, tree: str, files: Mapping[str, bytes], say: Say) -> Object:
        if (known := self._made.object(files)) is not None:
            return replace(known, cached=True)
        own = build.candidate_flags(files[FLAGS]) if FLAGS in files else ()
        spec = self.task.build
        async with self._made_again_if_gone():
            built = await build.build(self.host, self.tools, tree, (*own, *spec.flags), spec.limit_s, say)
        self._made.built(files, tree, built)
        return built

    async def check(self, built: str, job: str, say: Say) -> Correct:
        self._made.may_be_touched()
        async with self._made_again_if_gone(built):
            return await check.check(self.host, self.harness, built, job, self.task.check, self.cpu, say)

    async def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say
    ) -> AsyncGenerator[ProcessSample]:
        self._made.may_be_touched()
        async with self._made_again_if_gone(incumbent, candidate):
            samples = timing.time_pair(
                self.host, self.harness, incumbent, candidate, job, first, processes,
                self.task.bench, self.task.check, self.cpu, self.lease, say,
            )  # fmt: skip
            async with aclosing(samples):
                async for sample in samples:
                    yield sample

    @asynccontextmanager
    async def _made_again_if_gone(self, *built: str) -> AsyncIterator[None]:
        """Somebody has removed files on the host: what is asked for the next time is staged and built again."""
        try:
            yield
        except HostError as err:
            if err.kind == "not_found":
                self._made.forget()
                for job in built:
                    await self.host.forget(job)
            raise

    async def forget(self, job: str) -> None:
        if self.host.up:
            await self.host.kill(job)
            await self.host.forget(job)

    async def listing(self, built: str) -> Listing:
        """What the compiler wrote in build job `built`. Raises HostError."""
        paths = (jobs.out(self.host, built, name) for name in (build.ASSEMBLY, build.REMARKS))
        async with self._made_again_if_gone(built):
            raw = await asyncio.gather(*(self.host.read(path, LISTING_LIMIT) for path in paths))
        assembly, remarks = (text.decode(errors="replace") for text in raw)
        return Listing(assembly, remarks)

    async def counted(self, built: str, job: str, script: Callable[[str, str], str], say: Say) -> JobResult:
        """Run `script(short, long)`: command lines that differ only in how often they call the kernel."""
        short, long = (
            jobs.words([self.harness.program, "run", jobs.out(self.host, built, build.OBJECT), str(calls), LIMIT_MS])
            for calls in (FEW_CALLS, MANY_CALLS)
        )
        cpus = () if self.cpu is None else (self.cpu,)
        spec = JobSpec(job, script(short, long), self.task.bench.limit_s, cpus=cpus, lease=self.lease)
        self._made.may_be_touched()
        return await jobs.run(self.host, spec, say)


async def prepare(host: Host, task: Task, device: Device, say: Say) -> CBench:
    """Build the task's harness and measure the machine's roofline; the host remembers both.

    Raises BuildError and TaskError, the task's fault, and HostError.
    """
    facts = await host.probe()
    tools = choose(host.name, facts)
    cpu = measuring_cpu(facts)
    protected = read_files(task.folder, task.protected)
    program = await harness(host, tools, protected, task.build.limit_s, say)
    lease = Lease(device.id)
    return CBench(host, task, tools, program, await measure_roofline(host, tools, cpu, lease), cpu, lease)


def work(task: Task, roofline: Roofline, dims: Mapping[str, int]) -> Work:
    """What the task's [roofline] says of a case. Raises TaskError when it names a dim that the harness has not."""
    sides = (task.roofline.bytes, task.roofline.flops)
    try:
        moved, computed = (None if side is None else side.evaluate(dims) for side in sides)
    except ExprError as err:
        raise TaskError(task.folder / TASK_FILE, 0, f"[roofline]: {err}", "use the dims that harness.c names") from err
    compute_us = None if computed is None else roofline.compute_us(computed)
    return Work(moved, computed, roofline.time_floor(moved, computed), compute_us)
