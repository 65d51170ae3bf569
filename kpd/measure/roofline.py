"""Computes lower bounds of a case's time from the measured limits of a device."""

from bisect import bisect_left
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Protocol

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobSpec
from kpd.measure import jobs
from kpd.measure.score import CaseWork
from kpd.model.codec import CodecError, decode
from kpd.workspace.expr import ExprError
from kpd.workspace.task import TASK_FILE, Task, TaskError

CACHED_MARGIN = 2.0
"""How many times better than measured a CPU's caches and arithmetic may be: a faster clock, or hand-written code."""
MEMORY_MARGIN = 1.25
"""How many times better than measured a GPU's memory may be: it comes within some percent of the data sheet."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """`bandwidth` pairs a footprint in bytes with the best GB/s (1e9 bytes a second) found there, smallest first.

    The roofline model is that of Williams, Waterman and Patterson (2009).
    """

    bandwidth: tuple[tuple[int, float], ...]
    peak_gflops: float

    def gbs(self, footprint: float) -> float:
        """Interpolate the bandwidth in GB/s for a working set of `footprint` bytes, linearly in its logarithm."""
        footprints = [point for point, _ in self.bandwidth]
        at = bisect_left(footprints, footprint)
        if at == 0 or at == len(footprints):
            return self.bandwidth[min(at, len(footprints) - 1)][1]
        (below, low), (above, high) = self.bandwidth[at - 1 : at + 1]
        return low + (high - low) * log(footprint / below) / log(above / below)

    def better(self, other: "Roofline") -> "Roofline":
        """Combine two rooflines by the larger of each two figures: the device may have been slowed in one of them."""
        bandwidth = tuple((footprint, max(gbs, other.gbs(footprint))) for footprint, gbs in self.bandwidth)
        return Roofline(bandwidth, max(self.peak_gflops, other.peak_gflops))

    @property
    def memory_gbs(self) -> float:
        """The bandwidth past all caches."""
        return self.bandwidth[-1][1]

    def compute_us(self, flops: float) -> float:
        """Compute the microseconds that the arithmetic alone takes at the peak."""
        return flops / self.peak_gflops / 1e3

    def time_floor(self, bytes: float | None, flops: float | None, cached: bool = True) -> float | None:
        """Compute the least microseconds for a call that moves `bytes` and does `flops`; None when neither is known.

        With `cached`, the buffers of a timed case are used again and again, and a cache may hold them: the footprint is
        taken to be the bytes that a call moves. Otherwise all bytes come from memory.
        """
        floors = [bytes / (self.gbs(bytes) if cached else self.memory_gbs) / 1e3] if bytes else []
        floors += [self.compute_us(flops)] if flops else []
        return max(floors, default=None)

    def least_cached(self, bytes: float | None, flops: float | None) -> float | None:
        """Compute the microseconds that no call can undercut if any cache may hold its data; None if unknown."""
        fastest = max(gbs for _, gbs in self.bandwidth)
        least = [bytes / fastest / 1e3] if bytes else []
        least += [self.compute_us(flops)] if flops else []
        return max(least) / CACHED_MARGIN if least else None

    def least_streamed(self, bytes: float | None, flops: float | None) -> float | None:
        """Compute the microseconds that no call can undercut when it reads its data from memory; None if unknown.

        The bandwidths were measured with the data in the L2 as far as it fits, so this is generous. Operations are not
        counted: tensor cores do many times as many as the peak that was measured.
        """
        if not bytes:
            return None
        fastest = max([self.gbs(bytes), *(gbs for footprint, gbs in self.bandwidth if footprint >= bytes)])
        return bytes / fastest / 1e3 / MEMORY_MARGIN


class MeasureRoofline(Protocol):
    """A function that returns the roofline of the device; with `again` it measures anew. Raises HostError."""

    def __call__(self, again: bool) -> Awaitable[Roofline]: ...


def roofline_of(said: bytes) -> Roofline:
    """Parse the roofline that a program printed. Raises CodecError, also for figures that make no sense."""
    found = decode(said, Roofline)
    rising = all(smaller[0] < larger[0] for smaller, larger in pairwise(found.bandwidth))
    speeds = [gbs for _, gbs in found.bandwidth] + [found.peak_gflops]
    if not found.bandwidth or not rising or not all(0 < speed < 1e6 for speed in speeds):
        raise CodecError("its figures make no sense")
    return found


async def measured(host: Host, spec: JobSpec, what: str, again: bool) -> Roofline:
    """Run the job that measures `what` and return its roofline; an earlier result is used unless `again` is set.

    Raises HostError.
    """
    if again:
        await host.forget(spec.id)
    result = await jobs.run(host, spec)
    try:
        if result.rc != 0:
            raise CodecError(jobs.tail(result.stderr))
        return roofline_of(result.stdout)
    except CodecError as err:
        await host.forget(spec.id)
        raise HostError("host", f"{host.name}: the roofline of {what} could not be measured: {err}") from err


def work(task: Task, roofline: Roofline, dims: Mapping[str, int], cached: bool = True) -> CaseWork:
    """Evaluate the task's [roofline] for a case with these `dims`; `cached` is as in `time_floor`.

    Raises TaskError when [roofline] names a dim that the harness does not have.
    """
    sides = (task.roofline.bytes, task.roofline.flops)
    try:
        moved, computed = (None if side is None else side.evaluate(dims) for side in sides)
    except ExprError as err:
        raise TaskError(
            task.folder / TASK_FILE, 0, f"[roofline]: {err}", "use the dims that the harness names"
        ) from err
    compute_us = None if computed is None else roofline.compute_us(computed)
    least = roofline.least_cached if cached else roofline.least_streamed
    return CaseWork(moved, computed, roofline.time_floor(moved, computed, cached), compute_us, least(moved, computed))
