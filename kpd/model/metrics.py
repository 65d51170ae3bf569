"""Lists every metric of profiles: name, label, unit, and which direction is better."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Group = Literal[
    "speed", "counters", "hot loop", "speed of light", "memory", "warp stalls", "occupancy", "instructions", "compiler"
]
GROUPS: tuple[Group, ...] = (
    "speed", "counters", "hot loop", "speed of light", "memory", "warp stalls", "occupancy", "instructions", "compiler",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of profiles: its label, unit and group.

    `better` is None where neither direction is better. `ceiling` is the highest possible value, where there is one.
    `told` is False where another metric says the same better in an account of what changed. `brief` is the label under
    the heading of its group, where that differs from `label`.
    """

    name: str
    label: str
    unit: str
    group: Group
    better: Literal["up", "down"] | None
    ceiling: float | None = None
    told: bool = True
    brief: str = ""


_BOTH = (
    Metric("call_us", "time of a call", "µs", "speed", "down"),
    Metric("roofline_pct", "share of roofline", "%", "speed", "up", 100),
    Metric("memory_roofline_pct", "share of roofline, cases that memory limits", "%", "speed", "up", 100, told=False),
    Metric(
        "compute_roofline_pct", "share of roofline, cases that arithmetic limits", "%", "speed", "up", 100, told=False
    ),
    Metric("worst_roofline_pct", "share of roofline, worst case", "%", "speed", "up", 100, told=False),
    Metric("best_roofline_pct", "share of roofline, best case", "%", "speed", "up", 100, told=False),
    Metric("gbs", "memory traffic", "GB/s", "speed", "up"),
    Metric("gflops", "arithmetic", "GFLOP/s", "speed", "up"),
    Metric("intensity", "arithmetic intensity", "FLOP/byte", "speed", None),
)
_CPU = (
    Metric("ipc", "instructions a cycle", "", "counters", "up"),
    Metric("clock_ghz", "clock", "GHz", "counters", None),
    Metric("branch_miss_pct", "branches mispredicted", "%", "counters", "down", 100),
    Metric("branch_mpki", "mispredictions a 1000 instructions", "", "counters", "down"),
    Metric("cache_miss_pct", "last-level cache references missed", "%", "counters", "down", 100),
    Metric("cache_mpki", "last-level cache misses a 1000 instructions", "", "counters", "down"),
    Metric("hot_instructions", "instructions", "", "hot loop", None),
    Metric("hot_vector_fp", "packed FP instructions", "", "hot loop", None),
    Metric("hot_scalar_fp", "scalar FP instructions", "", "hot loop", "down"),
    Metric("hot_vector_pct", "FP instructions that are packed", "%", "hot loop", "up", 100),
    Metric("hot_vector_bits", "widest vector", "bit", "hot loop", "up"),
    Metric("machine_vector_bits", "widest vector of the machine", "bit", "hot loop", None),
    Metric("hot_stack", "loads and stores of the stack", "", "hot loop", "down"),
    Metric("hot_calls", "calls", "", "hot loop", "down"),
    Metric("hot_element_loads", "gathers and single-lane loads", "", "hot loop", "down"),
    Metric("hot_divisions", "divisions and square roots", "", "hot loop", "down"),
    Metric("loops_vectorised", "loops vectorised", "", "compiler", "up"),
    Metric("loops_missed", "loops not vectorised", "", "compiler", "down"),
    Metric("missed_call", "not vectorised: a call", "", "compiler", "down"),
    Metric("missed_reduction", "not vectorised: order of additions", "", "compiler", "down"),
    Metric("missed_alias", "not vectorised: possible overlap", "", "compiler", "down"),
    Metric("missed_control", "not vectorised: branches or loop count", "", "compiler", "down"),
    Metric("missed_access", "not vectorised: access pattern", "", "compiler", "down"),
    Metric("missed_other", "not vectorised: other reasons", "", "compiler", "down"),
)
_GPU = (
    Metric("event_us", "time of a call as launched", "µs", "speed", "down", told=False),
    Metric("device_us", "time of a call on the device", "µs", "speed", "down"),
    Metric("host_us", "time that a call keeps the host", "µs", "speed", "down"),
    Metric("warm_us", "time of a call with its data in L2", "µs", "speed", "down", told=False),
    Metric("launch_overhead_pct", "share of a call that is launching", "%", "speed", "down", 100),
    Metric("duration_us", "kernel time under ncu, at its clocks", "µs", "speed of light", None, told=False),
    Metric("sm_ghz", "SM clock under ncu", "GHz", "speed of light", None, told=False),
    Metric("sm_pct", "SMs, busiest unit", "% of peak", "speed of light", "up", 100),
    Metric("memory_pct", "memory system, busiest part", "% of peak", "speed of light", "up", 100),
    Metric("dram_pct", "DRAM", "% of peak", "speed of light", "up", 100),
    Metric("l2_pct", "L2", "% of peak", "speed of light", None, 100),
    Metric("l1_pct", "L1", "% of peak", "speed of light", None, 100),
    Metric("dram_read_mb", "read from DRAM", "MB", "memory", "down"),
    Metric("dram_write_mb", "written to DRAM", "MB", "memory", "down"),
    Metric("l1_hit_pct", "sectors that hit in L1", "%", "memory", "up", 100),
    Metric("l2_hit_pct", "sectors that hit in L2", "%", "memory", "up", 100),
    Metric("sectors_per_load", "L2 sectors a load request", "", "memory", "down", 32),
    Metric("sectors_per_store", "L2 sectors a store request", "", "memory", "down", 32),
    Metric("coalescing_load_pct", "useful bytes of loaded sectors", "%", "memory", "up", 100),
    Metric("coalescing_store_pct", "useful bytes of stored sectors", "%", "memory", "up", 100),
    Metric("shared_conflicts_load", "bank conflicts of shared loads", "", "memory", "down", told=False),
    Metric("shared_conflicts_store", "bank conflicts of shared stores", "", "memory", "down", told=False),
    Metric("shared_conflict_pct", "shared-memory accesses that are bank conflicts", "%", "memory", "down", 100),
    Metric("local_requests", "requests to local memory", "", "memory", "down"),
    *(
        Metric(f"stall_{name}", f"warps waiting: {words}", "", "warp stalls", "down", 1, brief=words)
        for name, words in (
            ("long_scoreboard", "global or local memory"),
            ("short_scoreboard", "shared memory or a special function"),
            ("mio_throttle", "queue of shared-memory and special instructions"),
            ("lg_throttle", "queue of global and local accesses"),
            ("tex_throttle", "queue of texture accesses"),
            ("math_pipe", "an arithmetic pipe"),
            ("barrier", "a barrier"),
            ("wait", "fixed latency of their own instruction"),
            ("membar", "a memory fence"),
            ("not_selected", "another warp was chosen"),
            ("no_instruction", "next instruction to be fetched"),
            ("dispatch", "the dispatcher"),
            ("drain", "last stores before they end"),
            ("branch", "target of a branch"),
            ("sleeping", "asleep"),
            ("imc_miss", "a constant that is not cached"),
            ("gmma", "warpgroup matrix instructions"),
            ("misc", "other reasons"),
        )
    ),
    Metric("stall_selected", "warps issuing", "", "warp stalls", "up", 1),
    Metric("occupancy_pct", "warps on an SM, of what it can hold", "%", "occupancy", "up", 100),
    Metric("occupancy_limit_pct", "warps on an SM that resources allow", "%", "occupancy", "up", 100),
    Metric("limit_registers", "blocks an SM by registers", "", "occupancy", "up", told=False),
    Metric("limit_shared", "blocks an SM by shared memory", "", "occupancy", "up", told=False),
    Metric("limit_warps", "blocks an SM by warps", "", "occupancy", "up", told=False),
    Metric("limit_blocks", "blocks an SM at most", "", "occupancy", None, told=False),
    Metric("waves", "waves of blocks", "", "occupancy", None),
    Metric("registers", "registers a thread", "", "occupancy", None),
    Metric("shared_bytes", "shared memory a block", "byte", "occupancy", None),
    Metric("grid", "blocks of the grid", "", "occupancy", None, told=False),
    Metric("block_threads", "threads a block", "", "occupancy", None, told=False),
    Metric("issue_pct", "cycles in which a scheduler issues", "%", "instructions", "up", 100),
    Metric("instructions", "warp instructions", "", "instructions", "down"),
    Metric("fma_pct", "FMA pipes", "% of peak", "instructions", None, 100),
    Metric("tensor_pct", "tensor pipes", "% of peak", "instructions", "up", 100),
    Metric("tensor_instructions", "tensor instructions", "", "instructions", None, told=False),
    Metric("ptxas_registers", "registers a thread, as compiled", "", "compiler", None, told=False),
    Metric("spill_store_bytes", "register spills stored a thread", "byte", "compiler", "down"),
    Metric("spill_load_bytes", "register spills loaded a thread", "byte", "compiler", "down"),
    Metric("stack_bytes", "stack a thread", "byte", "compiler", "down"),
    Metric("static_shared_bytes", "static shared memory a block, as compiled", "byte", "compiler", None, told=False),
    Metric("local_bytes", "local memory a thread, by Triton", "byte", "compiler", "down"),
    Metric("triton_shared_bytes", "shared memory a block, by Triton", "byte", "compiler", None, told=False),
    Metric("triton_warps", "warps a block, by Triton", "", "compiler", None),
    Metric("triton_stages", "pipeline stages, by Triton", "", "compiler", None),
)
_CATALOGUE = (*_BOTH, *_CPU, *_GPU)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _CATALOGUE}
CPU_METRICS = frozenset(metric.name for metric in (*_BOTH, *_CPU))
GPU_METRICS = frozenset(metric.name for metric in (*_BOTH, *_GPU)) | {"ipc"}
"""What a profile on each kind of device may hold."""

PER_CASE = (
    "call_us", "roofline_pct", "gbs", "gflops", "ipc",
    *(metric.name for metric in _GPU if metric.group != "compiler"),
)  # fmt: skip
"""These also exist for each case of a task, as `gbs[case]`: on a CPU the first four, on a GPU all."""

_OF_CASE = re.compile(r"(\w+)\[(.+)\]", re.DOTALL)


def of_case(name: str, case: str) -> str:
    """Return the name of metric `name` for one case, as in `gbs[small]`."""
    return f"{name}[{case}]"


def parted(name: str) -> tuple[str, str]:
    """Split a metric's name into the plain name and the case; the case is empty for a metric over all cases."""
    found = _OF_CASE.fullmatch(name)
    return (found[1], found[2]) if found else (name, "")


def describe(name: str) -> Metric | None:
    """Return the catalogue's entry for `name`, or None. For a metric of one case, the label also names the case."""
    plain, case = parted(name)
    if not case:
        return METRICS.get(name)
    base = METRICS[plain] if plain in PER_CASE else None
    brief = f"{base.brief}, {case}" if base and base.brief else ""
    return base and replace(base, name=name, label=f"{base.label}, {case}", brief=brief)


def grouped(names: Iterable[str]) -> dict[Group, list[Metric]]:
    """Group the metrics among `names`, in the catalogue's order; unknown names are left out."""
    order = {name: at for at, name in enumerate(METRICS)}
    found = [metric for name in names if (metric := describe(name)) is not None]
    found.sort(key=lambda metric: (order[parted(metric.name)[0]], metric.name))
    return {group: [metric for metric in found if metric.group == group] for group in GROUPS}
