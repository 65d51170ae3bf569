"""Defines short names of metrics with their units, for narrow panes."""

from kpd.model.metrics import Metric

LONGEST = 20

SHORT = {
    "roofline_pct": "of the roofline, %",
    "memory_roofline_pct": "roofline, memory, %",
    "compute_roofline_pct": "roofline, compute, %",
    "worst_roofline_pct": "roofline, worst, %",
    "best_roofline_pct": "roofline, best, %",
    "intensity": "FLOP a byte",
    "branch_miss_pct": "mispredicted, %",
    "branch_mpki": "mispredicted a 1000",
    "cache_miss_pct": "LLC misses, %",
    "cache_mpki": "LLC misses a 1000",
    "hot_instructions": "instructions",
    "hot_vector_fp": "packed FP",
    "hot_scalar_fp": "scalar FP",
    "hot_vector_pct": "packed FP, %",
    "machine_vector_bits": "machine vectors, bit",
    "hot_stack": "stack loads, stores",
    "hot_element_loads": "gathers, lane loads",
    "hot_divisions": "divisions, roots",
    "missed_call": "missed: a call",
    "missed_reduction": "missed: add order",
    "missed_alias": "missed: overlap",
    "missed_control": "missed: control flow",
    "missed_access": "missed: access",
    "missed_other": "missed: other",
    "event_us": "as launched, µs",
    "device_us": "on the device, µs",
    "host_us": "keeps the host, µs",
    "warm_us": "with data in L2, µs",
    "launch_overhead_pct": "launching, % of call",
    "duration_us": "under ncu, µs",
    "sm_ghz": "SM clock, GHz",
    "sm_pct": "SMs, % of peak",
    "memory_pct": "memory, % of peak",
    "l1_hit_pct": "L1 hits, %",
    "l2_hit_pct": "L2 hits, %",
    "sectors_per_load": "sectors a load",
    "sectors_per_store": "sectors a store",
    "coalescing_load_pct": "useful of loads, %",
    "coalescing_store_pct": "useful of stores, %",
    "shared_conflicts_load": "conflicts, loads",
    "shared_conflicts_store": "conflicts, stores",
    "shared_conflict_pct": "bank conflicts, %",
    "local_requests": "local requests",
    "stall_long_scoreboard": "global, local memory",
    "stall_short_scoreboard": "shared or SFU",
    "stall_mio_throttle": "shared, SFU queue",
    "stall_lg_throttle": "global, local queue",
    "stall_tex_throttle": "texture queue",
    "stall_wait": "own fixed latency",
    "stall_not_selected": "another was chosen",
    "stall_no_instruction": "instruction fetch",
    "stall_drain": "last stores",
    "stall_imc_miss": "uncached constant",
    "stall_gmma": "warpgroup matrices",
    "occupancy_pct": "warps held, %",
    "occupancy_limit_pct": "warps allowed, %",
    "limit_registers": "blocks by registers",
    "limit_shared": "blocks by shared",
    "limit_warps": "blocks by warps",
    "limit_blocks": "blocks at most",
    "shared_bytes": "shared a block, byte",
    "issue_pct": "schedulers issue, %",
    "fma_pct": "FMA, % of peak",
    "tensor_pct": "tensor, % of peak",
    "ptxas_registers": "registers, compiled",
    "spill_store_bytes": "spills stored, byte",
    "spill_load_bytes": "spills loaded, byte",
    "static_shared_bytes": "static shared, byte",
    "local_bytes": "local memory, byte",
    "triton_shared_bytes": "shared memory, byte",
    "triton_warps": "warps a block",
    "triton_stages": "pipeline stages",
}


def long(metric: Metric) -> str:
    """Return the catalogue's label and unit.

    For a stall that is only what the warps wait for: the heading above it says that they wait.
    """
    label = metric.brief or metric.label
    return f"{label}, {metric.unit}" if metric.unit else label


def short(metric: Metric) -> str:
    """Return a name of at most `LONGEST` cells, where the table has one; else the long one."""
    return SHORT.get(metric.name) or long(metric)
