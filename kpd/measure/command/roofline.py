"""Combines the work that a task declares with the GPU's measured peaks, if the host has a toolkit."""

import contextlib
from collections.abc import Mapping

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure.bench import Say
from kpd.measure.cuda.bench import measure_roofline
from kpd.measure.cuda.nvcc import CudaToolchain, choose
from kpd.measure.roofline import Roofline, work
from kpd.measure.run_context import RunContext
from kpd.measure.score import CaseWork
from kpd.model.hosts import Device
from kpd.workspace.expr import ExprError, Expression
from kpd.workspace.task import Task, TaskError


class CommandRoofline:
    """The work of cases whose dims the task's benchmark prints, and a GPU's roofline. A CPU's is not measured."""

    def __init__(self, host: Host, task: Task, device: Device, where: RunContext) -> None:
        self._host = host
        self._task = task
        self._device = device
        self._where = where
        self._tools: CudaToolchain | None = None
        self._roofline: Roofline | None = None
        self._remeasured = False

    async def measure(self, say: Say) -> None:
        """Measure the roofline if the task has a [roofline] and the device is a GPU.

        A host without a toolkit is not refused: `say` is told why there is no roofline. Raises HostError for a lost
        link, a device that others use, and the like.
        """
        if self._device.kind != "gpu" or (self._task.roofline.bytes is None and self._task.roofline.flops is None):
            return
        try:
            self._tools = choose(self._host.name, await self._host.probe(), self._device)
            self._roofline = await measure_roofline(self._host, self._tools, self._device, self._where)
        except HostError as err:
            if err.kind not in ("no_compiler", "host"):
                raise
            say(f"no roofline was measured, so no share of it is shown: {err}\n")

    async def remeasure(self) -> None:
        """Measure the roofline again and keep the better figures: see `bench.Bench`."""
        if self._tools is not None and self._roofline is not None and not self._remeasured:
            again = await measure_roofline(self._host, self._tools, self._device, self._where, again=True)
            self._roofline = self._roofline.better(again)
            self._remeasured = True

    @property
    def peaks(self) -> tuple[float | None, float | None]:
        return (None, None) if self._roofline is None else (self._roofline.memory_gbs, self._roofline.peak_gflops)

    def work(self, dims: Mapping[str, int]) -> CaseWork:
        """Compute the work of a case from its dims; where a dim is missing, compute the parts that do not need it."""
        if self._roofline is not None:
            with contextlib.suppress(TaskError):
                return work(self._task, self._roofline, dims, cached=False)
        return CaseWork(_count(self._task.roofline.bytes, dims), _count(self._task.roofline.flops, dims))


def _count(of: Expression | None, dims: Mapping[str, int]) -> float | None:
    try:
        return None if of is None else of.evaluate(dims)
    except ExprError:
        return None
