"""What a device can do at best, and so what a case cannot be faster than."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log

from kpd.measure.score import Work
from kpd.model.codec import CodecError, decode
from kpd.workspace.expr import ExprError
from kpd.workspace.task import TASK_FILE, Task, TaskError


@dataclass(frozen=True, slots=True)
class Roofline:
    """`bandwidth` pairs a footprint in bytes with the best GB/s (1e9 bytes a second) found there, smallest first.

    The roofline model is that of Williams, Waterman and Patterson (2009).
    """

    bandwidth: tuple[tuple[int, float], ...]
    peak_gflops: float

    def gbs(self, footprint: float) -> float:
        """GB/s for a working set of so many bytes, on straight lines over the footprint's logarithm."""
        footprints = [point for point, _ in self.bandwidth]
        at = bisect_left(footprints, footprint)
        if at == 0 or at == len(footprints):
            return self.bandwidth[min(at, len(footprints) - 1)][1]
        (below, low), (above, high) = self.bandwidth[at - 1 : at + 1]
        return low + (high - low) * log(footprint / below) / log(above / below)

    @property
    def memory_gbs(self) -> float:
        """The bandwidth past all caches."""
        return self.bandwidth[-1][1]

    def compute_us(self, flops: float) -> float:
        """Microseconds that the arithmetic alone would take."""
        return flops / self.peak_gflops / 1e3

    def time_floor(self, bytes: float | None, flops: float | None) -> float | None:
        """The least microseconds for a call that moves `bytes` and does `flops`; None when neither is known.

        The buffers of a timed case are used again and again, so its footprint is taken to be the bytes that it moves.
        """
        floors = [bytes / self.gbs(bytes) / 1e3] if bytes else []
        floors += [self.compute_us(flops)] if flops else []
        return max(floors, default=None)


def roofline_of(said: bytes) -> Roofline:
    """The roofline that a program has printed. Raises CodecError, also for figures that make no sense."""
    found = decode(said, Roofline)
    rising = all(smaller[0] < larger[0] for smaller, larger in pairwise(found.bandwidth))
    speeds = [gbs for _, gbs in found.bandwidth] + [found.peak_gflops]
    if not found.bandwidth or not rising or not all(0 < speed < 1e6 for speed in speeds):
        raise CodecError("its figures make no sense")
    return found


def work(task: Task, roofline: Roofline, dims: Mapping[str, int]) -> Work:
    """What the task's [roofline] says of a case. Raises TaskError when it names a dim that the harness has not."""
    sides = (task.roofline.bytes, task.roofline.flops)
    try:
        moved, computed = (None if side is None else side.evaluate(dims) for side in sides)
    except ExprError as err:
        raise TaskError(
            task.folder / TASK_FILE, 0, f"[roofline]: {err}", "use the dims that the harness names"
        ) from err
    compute_us = None if computed is None else roofline.compute_us(computed)
    return Work(moved, computed, roofline.time_floor(moved, computed), compute_us)
