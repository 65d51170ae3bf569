"""What to look for in a kernel on a GPU. Each rule has a skill file of its name in `skills/`.

The rules are for the metrics of one case: `rules.apply_cases` merges what they find. Those that Kernelking names keep
its names, and its thresholds but for two, `poor_coalescing` and `smem_bank_conflicts`, where its own would also fire on
kernels that are as they should be. Where a threshold alone would do that, a second condition stands beside it. A
comment says why, each time. Within a severity, causes come before symptoms: who reads only the first few should read
those.
"""

import math
from collections.abc import Mapping

from kpd.profile.rules import Rule, RuleList
from kpd.workspace.shipped import shipped

BUSY_PCT = 80.0
"""A unit that is busy for this share of its peak sets the time: what else waits then waits for that unit."""

HALF_BUSY_PCT = 60.0
"""Nsight Compute calls a kernel latency bound when neither arithmetic nor memory comes this far."""

SECTORS_OF_A_FEW = 2.0
"""With no more 32-byte sectors a request than this, a warp reads or writes a few values, not a scattered 32."""

WELL_USED_PCT = 75.0
"""Kernelking says 80, but 32 floats that no sector begins with lie in five sectors, and use 80 % of them at the best:
with rows of odd length, and half-empty warps at their ends, a good kernel has some percent less."""

_ROOM = ("sm_pct", "dram_pct")
_IDLE = ("issue_pct", *_ROOM)
ROOM = f"sm_pct < {BUSY_PCT:g}, dram_pct < {BUSY_PCT:g}"
IDLE = f"issue_pct < {BUSY_PCT:g}, {ROOM}"
"""What `_room` and `_idle` ask, as a condition says it."""


def _room(m: Mapping[str, float]) -> bool:
    """Neither the SMs nor DRAM set the time. L2 does not count: scattered accesses keep it busy with waste."""
    return max(m["sm_pct"], m["dram_pct"]) < BUSY_PCT


def _idle(m: Mapping[str, float]) -> bool:
    """There is room, and schedulers lack work: a warp that waits costs nothing while another one issues."""
    return m["issue_pct"] < BUSY_PCT and _room(m)


GPU_RULES: tuple[Rule, ...] = (
    Rule(
        "launch_bound",
        "high",
        ("launch_overhead_pct", "event_us", "device_us"),
        lambda m: m["launch_overhead_pct"] >= 20,
        "a call takes {event_us:.1f} µs as launched, of which the device works {device_us:.1f} µs:"
        " {launch_overhead_pct:.0f} % is launching",
        "launch less: fuse the kernels of a call, drop copies and allocations from it, or replay a CUDA graph",
        "launch_overhead_pct ≥ 20",
    ),
    Rule(
        "poor_coalescing",
        "high",
        ("coalescing_load_pct", "sectors_per_load"),
        # A value that all lanes share uses 4 bytes of one sector, as it must. 0 means that nothing was loaded this way.
        lambda m: 0 < m["coalescing_load_pct"] < WELL_USED_PCT and m["sectors_per_load"] > SECTORS_OF_A_FEW,
        "loads use {coalescing_load_pct:.0f} % of the bytes they fetch: {sectors_per_load:.1f} sectors a request",
        "let neighbouring lanes load neighbouring addresses: reorder the indices, or stage a tile in shared memory",
        f"0 < coalescing_load_pct < {WELL_USED_PCT:g}, sectors_per_load > {SECTORS_OF_A_FEW:g}",
    ),
    Rule(
        "uncoalesced_store",
        "high",
        ("coalescing_store_pct", "sectors_per_store"),
        # One lane that stores its warp's or its block's result uses 4 bytes of one sector, as it must.
        lambda m: 0 < m["coalescing_store_pct"] < WELL_USED_PCT and m["sectors_per_store"] > SECTORS_OF_A_FEW,
        "stores use {coalescing_store_pct:.0f} % of the bytes they write: {sectors_per_store:.1f} sectors a request",
        "let neighbouring lanes store neighbouring addresses: turn the tile around in shared memory before storing",
        f"0 < coalescing_store_pct < {WELL_USED_PCT:g}, sectors_per_store > {SECTORS_OF_A_FEW:g}",
    ),
    Rule(
        "smem_bank_conflicts",
        "high",
        ("shared_conflict_pct", "shared_conflicts_load", "shared_conflicts_store", "instructions"),
        # Kernelking: any at all. But a padded tile still counts some, 5 % of the wavefronts, where global accesses
        # contend for the same pipe. And a conflict costs a cycle, in which an SM can issue four instructions: fewer
        # than one in a hundred instructions are not felt.
        lambda m: (
            m["shared_conflict_pct"] >= 10
            and m["shared_conflicts_load"] + m["shared_conflicts_store"] >= 0.01 * m["instructions"]
        ),
        "{shared_conflict_pct:.0f} % of the shared-memory wavefronts are bank conflicts:"
        " {shared_conflicts_load:.0f} in loads, {shared_conflicts_store:.0f} in stores",
        "pad the rows of the tile by one element, or swizzle the column with the row",
        "shared_conflict_pct ≥ 10, shared_conflicts_load + shared_conflicts_store ≥ 0.01 · instructions",
    ),
    Rule(
        "low_tensor_use",
        "medium",
        ("tensor_pct", "fma_pct", "dram_pct"),
        # Only where tensor cores are used (their pipe also runs some integer multiplications: 3 % of the time in a
        # transpose on an H100), or where the FMA pipes do so much that they should perhaps be.
        lambda m: m["tensor_pct"] < 50 and (m["tensor_pct"] >= 5 or m["fma_pct"] >= 60) and m["dram_pct"] < BUSY_PCT,
        "the tensor pipes work {tensor_pct:.0f} % of the time, the FMA pipes {fma_pct:.0f} %",
        "give matrix products to the tensor cores (mma, wgmma, tcgen05), and feed them with copies that run ahead",
        f"tensor_pct < 50, (tensor_pct ≥ 5 or fma_pct ≥ 60), dram_pct < {BUSY_PCT:g}",
    ),
    Rule(
        "register_spill",
        "medium",
        ("spill_store_bytes", "spill_load_bytes", "ptxas_registers"),
        lambda m: m["spill_store_bytes"] + m["spill_load_bytes"] > 0,
        "the compiler spills: {spill_store_bytes:.0f} bytes stored and {spill_load_bytes:.0f} loaded a thread,"
        " at {ptxas_registers:.0f} registers",
        "keep fewer values alive: a smaller tile a thread, less unrolling, or a looser __launch_bounds__",
        "spill_store_bytes + spill_load_bytes > 0",
    ),
    Rule(
        "local_memory",
        "medium",
        ("local_requests", "instructions"),
        # A few, outside the loops, are not felt.
        lambda m: m["local_requests"] > 0.01 * m["instructions"],
        "{local_requests:.0f} requests to local memory in {instructions:.0f} warp instructions",
        "index per-thread arrays with constants only, by full unrolling, so that they stay in registers",
        "local_requests > 0.01 · instructions",
    ),
    Rule(
        "low_waves_per_sm",
        "medium",
        ("waves", "grid", *_ROOM),
        # A persistent kernel is one wave on purpose; when it keeps a unit busy, it is right.
        lambda m: m["waves"] < 2 and _room(m),
        "a grid of {grid:.0f} blocks makes {waves:.2f} waves: SMs stay empty, or idle while the last blocks end",
        "cut the work into more and smaller blocks: smaller tiles, or split the reduced dimension",
        f"waves < 2, {ROOM}",
    ),
    Rule(
        "tail_effect",
        "medium",
        ("waves", *_ROOM),
        # Below one wave, it is low_waves_per_sm alone: no wave is last.
        lambda m: m["waves"] > 1 and m["waves"] <= 0.8 * math.ceil(m["waves"]) and _room(m),
        "{waves:.2f} waves: a fifth of the time or more is lost to a last wave that is far from full",
        "size the grid to whole waves: a persistent grid with a stride loop, or another tile size",
        f"waves > 1, waves ≤ 0.8 · ⌈waves⌉, {ROOM}",
    ),
    Rule(
        "stall_long_scoreboard",
        "medium",
        ("stall_long_scoreboard", *_IDLE),
        # When DRAM or the SMs are busy, waiting is the queue in front of them: more loads in flight only lengthen it.
        lambda m: m["stall_long_scoreboard"] >= 0.3 and _idle(m),
        "{stall_long_scoreboard:.2f} of a warp's time is waiting for global or local memory,"
        " at {dram_pct:.0f} % of DRAM's peak",
        "keep more bytes in flight: several independent 16-byte loads a thread, issued before the first is used",
        f"stall_long_scoreboard ≥ 0.3, {IDLE}",
    ),
    Rule(
        "low_occupancy",
        "medium",
        ("occupancy_pct", "occupancy_limit_pct", "waves", *_ROOM),
        # Kernels that feed tensor cores run at 10 to 25 % by design, with their units busy. And with less than a wave
        # it is the grid that lacks warps, unless the resources would not allow more of them either.
        lambda m: m["occupancy_pct"] < 50 and (m["waves"] >= 1 or m["occupancy_limit_pct"] < 50) and _room(m),
        "{occupancy_pct:.0f} % of the warps an SM can hold are there; resources allow {occupancy_limit_pct:.0f} %",
        "cut registers or shared memory a block, or change its size; else give each thread more independent work",
        f"occupancy_pct < 50, (waves ≥ 1 or occupancy_limit_pct < 50), {ROOM}",
    ),
    Rule(
        "register_limited",
        "medium",
        ("limit_registers", "limit_warps", "limit_shared", "limit_blocks", "registers", "occupancy_limit_pct", *_ROOM),
        # Kernelking: whenever registers allow fewer blocks than warps do. So they do from 33 registers on, harmlessly
        # down to about half of the warps, and cutting them is in vain where something else allows even fewer.
        lambda m: (
            m["limit_registers"] < m["limit_warps"]
            and m["limit_registers"] <= min(m["limit_shared"], m["limit_blocks"])
            and m["occupancy_limit_pct"] <= 50
            and _room(m)
        ),
        "{registers:.0f} registers a thread allow {limit_registers:.0f} blocks an SM where warps would allow"
        " {limit_warps:.0f}: occupancy ends at {occupancy_limit_pct:.0f} %",
        "cap the registers with __launch_bounds__(threads, blocks) as long as nothing spills, or shorten live ranges",
        "limit_registers < limit_warps, limit_registers ≤ limit_shared, limit_registers ≤ limit_blocks,"
        f" occupancy_limit_pct ≤ 50, {ROOM}",
    ),
    Rule(
        "low_l1_hit",
        "medium",
        ("l1_hit_pct", "l2_hit_pct", "stall_long_scoreboard", *_ROOM),
        # A stream hits nothing in L1 and need not. Hits in L2 are what L1 could have had (stores hit there, too, which
        # makes 50 % for a copy); tiles that are copied ahead of their use miss L1, but nobody waits for them.
        lambda m: m["l1_hit_pct"] < 30 and m["l2_hit_pct"] >= 70 and m["stall_long_scoreboard"] >= 0.3 and _room(m),
        "{l1_hit_pct:.0f} % of the sectors hit in L1, {l2_hit_pct:.0f} % in L2: the same data is fetched from L2 again",
        "keep what is used again near: a tile in shared memory, values in registers, neighbours in one block",
        f"l1_hit_pct < 30, l2_hit_pct ≥ 70, stall_long_scoreboard ≥ 0.3, {ROOM}",
    ),
    Rule(
        "low_l2_hit",
        "medium",
        ("l2_hit_pct", "dram_read_mb", "dram_write_mb", "gbs", "call_us"),
        # A stream misses each sector once, rightly. It is a loss where DRAM moves more than the task's own bytes, which
        # are gbs × call_us.
        lambda m: m["l2_hit_pct"] < 50 and m["dram_read_mb"] + m["dram_write_mb"] > 1.25e-3 * m["gbs"] * m["call_us"],
        "{l2_hit_pct:.0f} % of the sectors hit in L2, and DRAM moves more than the task needs:"
        " {dram_read_mb:.0f} MB read, {dram_write_mb:.0f} MB written",
        "order the blocks so that those that share data run together, and let streams leave L2 first",
        "l2_hit_pct < 50, dram_read_mb + dram_write_mb > 0.00125 · gbs · call_us",
    ),
    Rule(
        "stall_mio_throttle",
        "medium",
        ("stall_mio_throttle", *_IDLE),
        lambda m: m["stall_mio_throttle"] >= 0.3 and _idle(m),
        "{stall_mio_throttle:.2f} of a warp's time is waiting for room in the queue of shared-memory and special"
        " instructions",
        "issue fewer and wider shared-memory instructions, and keep what is reused in registers",
        f"stall_mio_throttle ≥ 0.3, {IDLE}",
    ),
    Rule(
        "stall_short_scoreboard",
        "medium",
        ("stall_short_scoreboard", *_IDLE),
        lambda m: m["stall_short_scoreboard"] >= 0.3 and _idle(m),
        "{stall_short_scoreboard:.2f} of a warp's time is waiting for shared memory or a special function",
        "remove bank conflicts, then load from shared memory a step ahead of its use",
        f"stall_short_scoreboard ≥ 0.3, {IDLE}",
    ),
    Rule(
        "stall_barrier",
        "medium",
        ("stall_barrier", "block_threads", *_IDLE),
        lambda m: m["stall_barrier"] >= 0.2 and _idle(m),
        "{stall_barrier:.2f} of a warp's time is waiting at a barrier for the rest of {block_threads:.0f} threads",
        "use fewer barriers and smaller blocks: warp shuffles within a warp, two buffers instead of two barriers",
        f"stall_barrier ≥ 0.2, {IDLE}",
    ),
    Rule(
        "stall_math_pipe",
        "medium",
        ("stall_math_pipe", "fma_pct", "issue_pct"),
        # At the full issue rate the FMA pipes do all they can; that is near_peak_compute.
        lambda m: m["stall_math_pipe"] >= 0.3 and m["issue_pct"] < BUSY_PCT,
        "{stall_math_pipe:.2f} of a warp's time is waiting for an arithmetic pipe, while schedulers issue in"
        " {issue_pct:.0f} % of the cycles (FMA pipes: {fma_pct:.0f} %)",
        "take work off the narrow pipe: fewer divisions, exponentials, conversions or doubles a value",
        f"stall_math_pipe ≥ 0.3, issue_pct < {BUSY_PCT:g}",
    ),
    Rule(
        "stall_membar",
        "medium",
        ("stall_membar", *_IDLE),
        lambda m: m["stall_membar"] >= 0.15 and _idle(m),
        "{stall_membar:.2f} of a warp's time is waiting for memory fences",
        "fence once a block instead of once a thread, at the narrowest scope that is right",
        f"stall_membar ≥ 0.15, {IDLE}",
    ),
    Rule(
        "severe_memory_bound",
        "medium",
        _ROOM,
        lambda m: m["dram_pct"] >= BUSY_PCT and m["sm_pct"] <= m["dram_pct"] - 10,
        "DRAM works at {dram_pct:.0f} % of its peak, the SMs at {sm_pct:.0f} %: the bytes set the time",
        "move fewer bytes: fuse passes, keep intermediates on chip, store narrower types",
        f"dram_pct ≥ {BUSY_PCT:g}, sm_pct ≤ dram_pct - 10",
    ),
    Rule(
        "near_peak_compute",
        "medium",
        _ROOM,
        lambda m: m["sm_pct"] >= 85 and m["dram_pct"] <= m["sm_pct"] - 5,
        "the busiest unit of the SMs works at {sm_pct:.0f} % of its peak, DRAM at {dram_pct:.0f} %",
        "do less arithmetic, or move it to a pipe with a higher peak: packed types, tensor cores",
        "sm_pct ≥ 85, dram_pct ≤ sm_pct - 5",
    ),
    Rule(
        "huge_dram_traffic",
        "medium",
        ("dram_read_mb", "dram_write_mb"),
        lambda m: m["dram_read_mb"] + m["dram_write_mb"] >= 10_000,
        "a call moves {dram_read_mb:.0f} MB from DRAM and {dram_write_mb:.0f} MB to it",
        "find which bytes are needed twice, or not at all: fuse kernels, drop intermediates and padding",
        "dram_read_mb + dram_write_mb ≥ 10000",
    ),
    Rule(
        "stall_wait",
        "low",
        ("stall_wait", *_IDLE),
        # One to two cycles an instruction are always there; where little else stalls they are a large share of little.
        lambda m: m["stall_wait"] >= 0.3 and _idle(m),
        "{stall_wait:.2f} of a warp's time is waiting for the fixed latency of its own last instruction",
        "give each warp independent instructions: several accumulators, several elements a thread",
        f"stall_wait ≥ 0.3, {IDLE}",
    ),
    Rule(
        "low_ipc",
        "low",
        ("ipc", *_ROOM),
        # Tensor instructions and bulk copies do much work with few instructions.
        lambda m: m["ipc"] < 0.5 and max(m["sm_pct"], m["dram_pct"]) < HALF_BUSY_PCT,
        "{ipc:.2f} instructions a cycle and SM, with the SMs at {sm_pct:.0f} % and DRAM at {dram_pct:.0f} %",
        "find what the warps wait for: the largest stall names it",
        f"ipc < 0.5, sm_pct < {HALF_BUSY_PCT:g}, dram_pct < {HALF_BUSY_PCT:g}",
    ),
    Rule(
        "high_waves_per_sm",
        "low",
        ("waves", "instructions", "grid", "block_threads", *_ROOM),
        # Many waves are how large inputs look. Only blocks that do next to nothing pay for their own starting.
        lambda m: m["waves"] >= 40 and m["instructions"] * 32 < 100 * m["grid"] * m["block_threads"] and _room(m),
        "{waves:.0f} waves of short blocks: {instructions:.0f} warp instructions in {grid:.0f} blocks of"
        " {block_threads:.0f} threads",
        "give each thread several elements, so that a block's start and index arithmetic serve more work",
        f"waves ≥ 40, 32 · instructions < 100 · grid · block_threads, {ROOM}",
    ),
)

RULES = RuleList("gpu", GPU_RULES, shipped("skills"))
