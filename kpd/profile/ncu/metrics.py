"""Lists what kpd asks of Nsight Compute: its metrics in kpd's names and units.

ncu's names have changed between versions and differ between architectures, and its sections hold some values in another
form than the curated list. So each metric lists the ways to compute it, the preferred one first. The names are those of
`ncu --query-metrics` and of ncu's section files, 2022 to 2025.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Join = Literal["mean", "sum", "lead"]
"""How several launches, or cases, become one value: the mean by their time, the sum, or the longest one's own."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute a metric: `scale` times the fold of `top`, over the sum of `bottom` if that is given.

    ncu's own base units go in. `given` are counts: if they are known and their sum is 0, ncu's rate is meaningless, and
    the metric has no value.
    """

    top: tuple[str, ...]
    bottom: tuple[str, ...] = ()
    scale: float = 1.0
    fold: Callable[[Iterable[float]], float] = sum
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counter:
    """One metric of kpd's catalogue, and how to compute it from ncu's metrics."""

    name: str
    join: Join
    ways: tuple[Way, ...]

    @property
    def sources(self) -> Iterator[str]:
        """All names of ncu's metrics that any of the ways reads."""
        for way in self.ways:
            yield from (*way.top, *way.bottom, *way.given)


def _mean(name: str, *sources: str, scale: float = 1.0, given: tuple[str, ...] = ()) -> Counter:
    return Counter(name, "mean", tuple(Way((source,), scale=scale, given=given) for source in sources))


def _sum(name: str, *sources: str, scale: float = 1.0) -> Counter:
    return Counter(name, "sum", tuple(Way((source,), scale=scale) for source in sources))


def _lead(name: str, *sources: str) -> Counter:
    return Counter(name, "lead", tuple(Way((source,)) for source in sources))


_PEAK = "avg.pct_of_peak_sustained_elapsed"
_PEAK_ACTIVE = "avg.pct_of_peak_sustained_active"
_GLOBAL = "pipe_lsu_mem_global_op"
_LOADS, _STORES = f"l1tex__t_requests_{_GLOBAL}_ld.sum", f"l1tex__t_requests_{_GLOBAL}_st.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
_USEFUL = "smsp__sass_average_data_bytes_per_sector_mem_global_op"
_LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
_LIFETIME = "smsp__average_warp_latency.ratio"
_SECTOR = 32
"""Bytes of a sector, the least that L2 and DRAM move."""

DURATION = "gpu__time_duration.sum"

STALLS: dict[str, tuple[str, ...]] = {
    "long_scoreboard": ("long_scoreboard",),
    "short_scoreboard": ("short_scoreboard",),
    "mio_throttle": ("mio_throttle",),
    "lg_throttle": ("lg_throttle",),
    "tex_throttle": ("tex_throttle",),
    "math_pipe": ("math_pipe_throttle",),
    "barrier": ("barrier",),
    "wait": ("wait",),
    "membar": ("membar",),
    "not_selected": ("not_selected",),
    "no_instruction": ("no_instruction", "no_instructions"),
    "dispatch": ("dispatch_stall",),
    "drain": ("drain",),
    "branch": ("branch_resolving",),
    "sleeping": ("sleeping",),
    "imc_miss": ("imc_miss",),
    "gmma": ("gmma", "warpgroup_arrive"),
    "misc": ("misc",),
    "selected": ("selected",),
}
"""The reasons for a stall between two instructions of a warp, as in `stall_<name>`, and ncu's names for each."""


def _stall(name: str, words: tuple[str, ...]) -> Counter:
    """Define the share of a warp's time between two of its instructions that it is stalled for a reason, 0 to 1.

    It is computed from warps per issue, from cycles of a warp's life, or from ncu's own percentage: three forms of one
    measurement.
    """
    ways = []
    for word in words:
        ways += [
            Way((f"smsp__average_warps_issue_stalled_{word}_per_issue_active.ratio",), (_LATENCY,)),
            Way((f"smsp__average_warp_latency_issue_stalled_{word}.ratio",), (_LIFETIME,)),
            Way((f"smsp__warp_issue_stalled_{word}_per_warp_active.pct",), scale=0.01),
        ]
    return Counter(f"stall_{name}", "mean", tuple(ways))


def _pipe(name: str) -> Counter:
    """Define the use of the tensor pipe, whose name depends on the architecture.

    Blackwell's data-centre chips have a new pipe beside the old one; Ada's has another name.
    """
    old, ada, new = (
        f"sm__pipe_{pipe}.{_PEAK_ACTIVE}"
        for pipe in ("tensor_cycles_active", "tensor_cycles_active_v2", "tc_cycles_active")
    )
    return Counter(name, "mean", (Way((new, old), fold=max), Way((old,)), Way((ada,)), Way((new,))))


CURATED: tuple[Counter, ...] = (
    _sum("duration_us", DURATION, "gpu__time_duration.avg", scale=1e-3),
    _mean("sm_ghz", "sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second", scale=1e-9),
    # speed of light
    _mean("sm_pct", f"sm__throughput.{_PEAK}"),
    _mean("memory_pct", f"gpu__compute_memory_throughput.{_PEAK}"),
    _mean("dram_pct", f"gpu__dram_throughput.{_PEAK}", f"dram__throughput.{_PEAK}"),
    _mean("l2_pct", f"lts__throughput.{_PEAK}"),
    _mean("l1_pct", f"l1tex__throughput.{_PEAK_ACTIVE}", f"l1tex__throughput.{_PEAK}"),
    # memory
    Counter(
        "dram_read_mb",
        "sum",
        (Way(("dram__bytes_read.sum",), scale=1e-6), Way(("dram__sectors_read.sum",), scale=_SECTOR * 1e-6)),
    ),
    Counter(
        "dram_write_mb",
        "sum",
        (Way(("dram__bytes_write.sum",), scale=1e-6), Way(("dram__sectors_write.sum",), scale=_SECTOR * 1e-6)),
    ),
    _mean("l1_hit_pct", "l1tex__t_sector_hit_rate.pct", given=(_LOADS, _STORES)),
    _mean("l2_hit_pct", "lts__t_sector_hit_rate.pct"),
    Counter("sectors_per_load", "mean", (Way((f"l1tex__t_sectors_{_GLOBAL}_ld.sum",), (_LOADS,)),)),
    Counter("sectors_per_store", "mean", (Way((f"l1tex__t_sectors_{_GLOBAL}_st.sum",), (_STORES,)),)),
    Counter(
        "coalescing_load_pct",
        "mean",
        (
            Way((f"{_USEFUL}_ld.pct",), given=(_LOADS,)),
            Way((f"{_USEFUL}_ld.ratio",), scale=100 / _SECTOR, given=(_LOADS,)),
        ),
    ),
    Counter(
        "coalescing_store_pct",
        "mean",
        (
            Way((f"{_USEFUL}_st.pct",), given=(_STORES,)),
            Way((f"{_USEFUL}_st.ratio",), scale=100 / _SECTOR, given=(_STORES,)),
        ),
    ),
    _sum("shared_conflicts_load", f"{_CONFLICTS}_ld.sum"),
    _sum("shared_conflicts_store", f"{_CONFLICTS}_st.sum"),
    Counter(
        "shared_conflict_pct",
        "mean",
        (Way((f"{_CONFLICTS}_ld.sum", f"{_CONFLICTS}_st.sum"), (_WAVEFRONTS,), scale=100),),
    ),
    Counter(
        "local_requests",
        "sum",
        (
            Way(("l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum")),
            Way(("smsp__inst_executed_op_local_ld.sum", "smsp__inst_executed_op_local_st.sum")),
            Way(("smsp__sass_inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_st.sum")),
        ),
    ),
    # occupancy
    _mean("occupancy_pct", f"sm__warps_active.{_PEAK_ACTIVE}"),
    _mean("occupancy_limit_pct", "sm__maximum_warps_per_active_cycle_pct"),
    _lead("limit_registers", "launch__occupancy_limit_registers"),
    _lead("limit_shared", "launch__occupancy_limit_shared_mem"),
    _lead("limit_warps", "launch__occupancy_limit_warps"),
    _lead("limit_blocks", "launch__occupancy_limit_blocks"),
    _mean("waves", "launch__waves_per_multiprocessor"),
    _lead("registers", "launch__registers_per_thread"),
    _lead("shared_bytes", "launch__shared_mem_per_block"),
    _lead("grid", "launch__grid_size"),
    _lead("block_threads", "launch__block_size"),
    # instructions
    _mean("ipc", "sm__inst_executed.avg.per_cycle_active"),
    Counter(
        "issue_pct",
        "mean",
        (Way((f"smsp__issue_active.{_PEAK_ACTIVE}",)), Way(("smsp__issue_active.avg.per_cycle_active",), scale=100)),
    ),
    _sum("instructions", "smsp__inst_executed.sum", "sm__inst_executed.sum"),
    _pipe("tensor_pct"),
    _mean("fma_pct", f"sm__pipe_fma_cycles_active.{_PEAK_ACTIVE}", f"sm__pipe_fmaheavy_cycles_active.{_PEAK_ACTIVE}"),
    Counter(
        "tensor_instructions",
        "sum",
        (
            Way(("sm__inst_executed_pipe_tensor.sum", "sm__inst_executed_pipe_tc.sum")),
            Way(("sm__inst_executed_pipe_tensor.sum",)),
            Way(("smsp__inst_executed_pipe_tensor.sum",)),
        ),
    ),
    *(_stall(name, words) for name, words in STALLS.items()),
)  # fmt: skip

NAMES = tuple(counter.name for counter in CURATED)
SOURCES = frozenset(source for counter in CURATED for source in counter.sources)
"""All names of ncu's metrics that are read, of any version."""

_Arch = tuple[int, int]
_OLDEST: _Arch = (8, 0)
_SHARED_MEMORY: tuple[_Arch, ...] = ((8, 7), (11, 0), (12, 1))
"""Architectures that use the host's memory, and have no counters for it."""
_ONLY: tuple[tuple[str, Callable[[_Arch], bool]], ...] = (
    ("dram_", lambda arch: arch not in _SHARED_MEMORY),
    ("_stalled_gmma", lambda arch: arch == (9, 0)),
    ("_stalled_warpgroup_arrive", lambda arch: arch == (9, 0)),
    ("_stalled_imc_miss", lambda arch: arch <= (9, 0)),
    ("_pipe_tc", lambda arch: arch[0] in (10, 11)),
    ("_pipe_tensor_cycles_active.", lambda arch: arch != (8, 9)),
    ("_pipe_tensor_cycles_active_v2.", lambda arch: arch == (8, 9)),
)
"""Parts of metrics' names, and the architectures that have such metrics, by the filters in ncu's section files."""


def asked(arch: str) -> tuple[str, ...]:
    """Return the metrics to ask for on an architecture such as "sm_90": for each counter, the first way that it has.

    An unknown architecture is asked for what the oldest one has.
    """
    digits = arch.removeprefix("sm_").rstrip("af")
    known = (int(digits[:-1]), int(digits[-1])) if digits.isdecimal() and len(digits) > 1 else _OLDEST
    found: dict[str, None] = {}
    for counter in CURATED:
        for way in counter.ways:
            names = (*way.top, *way.bottom, *way.given)
            if all(_has(known, name) for name in names):
                found |= dict.fromkeys(names)
                break
    return tuple(found)


def _has(arch: _Arch, name: str) -> bool:
    return all(only(arch) for part, only in _ONLY if part in name)
