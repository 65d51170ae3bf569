"""What the host's CPU can do at best, measured: bandwidth by footprint and peak arithmetic, on one core."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from math import log

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, JobSpec, Lease
from kpd.measure import jobs
from kpd.measure.harness import native
from kpd.measure.toolchain import Toolchain
from kpd.model.codec import CodecError, decode

LIMIT_S = 60.0


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


async def measure_roofline(
    host: Host, tools: Toolchain, cpu: int | None = None, lease: Lease | None = None
) -> Roofline:
    """About two seconds the first time; then the host has it, until its compiler or CPU is another.

    Raises HostError.
    """
    tree = await host.stage({"roofline.c": native("roofline.c")})
    flags = jobs.words(tools.flags(("-std=gnu11", "-D_GNU_SOURCE", "-O3", "-march=native")))
    script = (
        f"{tools.command} {flags} {jobs.words([f'{host.root}/trees/{tree}/roofline.c'])} -o out/roofline || exit 2\n"
        "exec out/roofline\n"
    )
    cpus = () if cpu is None else (cpu,)
    id = jobs.key("roofline", tools.identity, script, str(cpus))
    result = await jobs.run(host, JobSpec(id, script, LIMIT_S, cpus=cpus, lease=lease))
    try:
        if result.rc != 0:
            raise CodecError(jobs.tail(result.stderr))
        found = decode(result.stdout, Roofline)
        _refuse_nonsense(found)
    except CodecError as err:
        await host.forget(id)
        raise HostError("host", f"{host.name}: the roofline could not be measured: {err}") from err
    return found


def _refuse_nonsense(found: Roofline) -> None:
    rising = all(smaller[0] < larger[0] for smaller, larger in pairwise(found.bandwidth))
    speeds = [gbs for _, gbs in found.bandwidth] + [found.peak_gflops]
    if not found.bandwidth or not rising or not all(0 < speed < 1e6 for speed in speeds):
        raise CodecError("its figures make no sense")
