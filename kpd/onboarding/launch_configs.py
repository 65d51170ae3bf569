"""Chooses representative launches: one or two per geometry, with slow and fast ones apart."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kpd.onboarding.observed import LaunchTable, Observed
from kpd.source.values import Dim3

TOP = 5
SPREAD = 2.5
"""Usual ratio of p95 to p25 of a geometry's durations above which its fast and slow launches are separated."""
LEAST_TO_SPLIT = 4


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """A launch that represents `count` launches of its geometry, with their `share` of the whole time, or of launches.

    Its scalars are those of one real launch, never a mixture. `target_us` is the median duration of these launches.
    """

    name: str
    grid: Dim3
    block: Dim3
    scalars: Mapping[str, int | float]
    counters: Mapping[str, float]
    count: int
    share: float
    target_us: float | None
    varies: tuple[str, ...]


def representative(
    table: LaunchTable,
    shape: Callable[[Observed], tuple[Dim3, Dim3]] = lambda one: (one.grid, one.block),
    top: int = TOP,
    spread: float = SPREAD,
) -> tuple[LaunchConfig, ...]:
    """Return the `top` groups of launches with the largest shares; `shape` returns a launch's whole grid and block.

    Fast and slow launches of one geometry are apart where the ratio of p95 to p25 of their durations is above `spread`.
    """
    groups: defaultdict[tuple[Dim3, Dim3], list[Observed]] = defaultdict(list)
    for launch in table.launches:
        groups[shape(launch)].append(launch)
    parts = [(sizes, name, part) for sizes, group in groups.items() for name, part in _apart(group, spread)]
    whole = sum(_weight(part) for _, _, part in parts)
    chosen = sorted(parts, key=lambda part: (-_weight(part[2]), part[0], part[1]))[:top]
    return tuple(
        _config(f"top{number}{name and f'_{name}'}", *sizes, part, _weight(part) / whole)
        for number, (sizes, name, part) in enumerate(chosen, 1)
    )


def percentile(ordered: Sequence[float], part: float) -> float:
    """Interpolate between the two nearest of the values, which are in ascending order."""
    at = (len(ordered) - 1) * part
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _apart(group: list[Observed], spread: float) -> list[tuple[str, list[Observed]]]:
    """Split the launches of one geometry into fast and slow ones, where they differ much."""
    times = sorted(launch.duration_us for launch in group if launch.duration_us is not None)
    if len(times) < LEAST_TO_SPLIT:
        return [("", group)]
    fast, slow = percentile(times, 0.25), percentile(times, 0.95)
    if slow / fast <= spread:
        return [("", group)]
    middle = (fast * slow) ** 0.5
    parts = {
        "fast": [launch for launch in group if (launch.duration_us or 0) <= middle],
        "slow": [launch for launch in group if (launch.duration_us or 0) > middle],
    }
    return [(name, part) for name, part in parts.items() if part]


def _weight(part: Sequence[Observed]) -> float:
    return sum(1.0 if launch.duration_us is None else launch.duration_us for launch in part)


def _config(name: str, grid: Dim3, block: Dim3, part: list[Observed], share: float) -> LaunchConfig:
    one = _typical(part)
    varies = [key for key in one.scalars if len({launch.scalars[key] for launch in part}) > 1]
    times = sorted(launch.duration_us for launch in part if launch.duration_us is not None)
    target = percentile(times, 0.5) if times else None
    return LaunchConfig(name, grid, block, one.scalars, one.counters, len(part), share, target, tuple(varies))


def _typical(part: list[Observed]) -> Observed:
    """Return the launch with the median duration; without durations, the first one with the most common scalars."""
    times = sorted(launch.duration_us for launch in part if launch.duration_us is not None)
    if times:
        middle = percentile(times, 0.5)
        return min(part, key=lambda launch: abs((launch.duration_us or 0) - middle))
    common = Counter(tuple(launch.scalars.items()) for launch in part).most_common(1)[0][0]
    return next(launch for launch in part if tuple(launch.scalars.items()) == common)


# Nsight Compute's names. An instruction of a warp is one of each of its 32 threads.
_BYTES = ("dram__bytes.sum",)
_READ_AND_WRITTEN = ("dram__bytes_read.sum", "dram__bytes_write.sum")
_OF_THREADS = ("smsp__thread_inst_executed.sum", "sm__thread_inst_executed.sum")
_OF_WARPS = ("smsp__inst_executed.sum", "sm__inst_executed.sum")
WARP = 32


@dataclass(frozen=True, slots=True)
class Workload:
    """The bytes of device memory and the instructions of each thread of a launch; None without a counter for them."""

    threads: int
    bytes: float | None
    instructions: float | None


def workload(config: LaunchConfig) -> Workload:
    """Compute the workload of the configuration's launch. Instructions of warps are spread over full warps."""
    blocks = config.grid.x * config.grid.y * config.grid.z
    in_block = config.block.x * config.block.y * config.block.z
    threads = blocks * in_block
    moved = _first(config.counters, _BYTES)
    if moved is None and all(name in config.counters for name in _READ_AND_WRITTEN):
        moved = sum(config.counters[name] for name in _READ_AND_WRITTEN)
    executed = _first(config.counters, _OF_THREADS)
    if executed is not None:
        return Workload(threads, _each(moved, threads), executed / threads)
    warps = blocks * -(-in_block // WARP)
    return Workload(threads, _each(moved, threads), _each(_first(config.counters, _OF_WARPS), warps))


def _first(counters: Mapping[str, float], names: tuple[str, ...]) -> float | None:
    return next((counters[name] for name in names if name in counters), None)


def _each(amount: float | None, of: int) -> float | None:
    return None if amount is None else amount / of
