"""Combines the work that a task declares with the measured peaks of its device, if the host has a compiler for it."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.preflight.probe import command_cpus
from kpd.measure.bench import Say
from kpd.measure.c import bench as c_bench, toolchain as c_toolchain
from kpd.measure.cuda import bench as cuda_bench, nvcc
from kpd.measure.roofline import MeasureRoofline, Roofline, work
from kpd.measure.run_context import RunContext, timed_context
from kpd.measure.score import CaseWork
from kpd.model.hosts import Device
from kpd.workspace.expr import ExprError, Expression
from kpd.workspace.task import Task, TaskError


class CommandRoofline:
    """The work of cases whose dims the task's benchmark prints, and the roofline of its device.

    A CPU's roofline is that of one CPU. A command that may use several is at most so many times as fast: that gives the
    time which no program can undercut, but no share of a roofline, as CPUs share their memory.
    """

    def __init__(self, host: Host, task: Task, device: Device, where: RunContext) -> None:
        self._host = host
        self._task = task
        self._device = device
        self._where = where
        self._cpus = 1
        self._measure: MeasureRoofline | None = None
        self._roofline: Roofline | None = None
        self._remeasured = False

    async def measure(self, say: Say) -> None:
        """Measure the roofline if the task has a [roofline].

        A host without a compiler is not refused: `say` is told why there is no roofline. Raises HostError for a lost
        link, a device that others use, and the like.
        """
        if self._task.roofline.bytes is None and self._task.roofline.flops is None:
            return
        try:
            self._measure = await self._way()
            self._roofline = await self._measure(again=False)
        except HostError as err:
            if err.kind not in ("no_compiler", "host"):
                raise
            say(f"no roofline was measured, so no share of it is shown: {err}\n")

    async def _way(self) -> MeasureRoofline:
        """Return how the roofline is measured. Raises HostError."""
        host, facts = self._host, await self._host.probe()
        if self._device.kind == "gpu":
            tools = nvcc.choose(host.name, facts, self._device)
            return partial(cuda_bench.measure_roofline, host, tools, self._device, self._where)
        self._cpus = len(command_cpus(facts, self._task.need.cpus) or facts["cpus"])
        where = timed_context(facts, self._device)
        return partial(c_bench.measure_roofline, host, c_toolchain.choose(host.name, facts), where)

    async def remeasure(self) -> None:
        """Measure the roofline again and keep the better figures: see `bench.Bench`."""
        if self._measure is not None and self._roofline is not None and not self._remeasured:
            self._roofline = self._roofline.better(await self._measure(again=True))
            self._remeasured = True

    @property
    def peaks(self) -> tuple[float | None, float | None]:
        if self._roofline is None or self._cpus != 1:
            return None, None
        return self._roofline.memory_gbs, self._roofline.peak_gflops

    def work(self, dims: Mapping[str, int]) -> CaseWork:
        """Compute the work of a case from its dims; where a dim is missing, compute the parts that do not need it."""
        if self._roofline is not None:
            with contextlib.suppress(TaskError):
                return _shared(work(self._task, self._roofline, dims, self._device.kind == "cpu"), self._cpus)
        return CaseWork(_count(self._task.roofline.bytes, dims), _count(self._task.roofline.flops, dims))


def _shared(alone: CaseWork, cpus: int) -> CaseWork:
    """Return the work of a case that `cpus` CPUs may share, from its work on one; 0: how many is unknown."""
    if cpus == 1:
        return alone
    least = alone.least_us / cpus if alone.least_us is not None and cpus else None
    return replace(alone, roofline_us=None, compute_us=None, least_us=least)


def _count(of: Expression | None, dims: Mapping[str, int]) -> float | None:
    try:
        return None if of is None else of.evaluate(dims)
    except ExprError:
        return None
