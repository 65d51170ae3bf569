"""What to look for in a C kernel on a CPU. Each rule has a skill file of its name in `skills/`."""

from kpd.profile.rules import Rule, RuleList
from kpd.workspace.shipped import shipped

NEAR_PCT = 80.0
"""From this share of the roofline on there is more to lose than to win."""

CPU_RULES: tuple[Rule, ...] = (
    Rule(
        "not_vectorised",
        "high",
        ("hot_vector_pct", "hot_scalar_fp", "hot_vector_fp"),
        lambda m: m["hot_scalar_fp"] > 0 and m["hot_vector_pct"] < 50,
        "the hot loop computes value by value: {hot_scalar_fp:.0f} scalar FP instructions, {hot_vector_fp:.0f} packed",
        "make it vectorise: independent iterations, unit stride, no calls; or write it with vector types",
    ),
    Rule(
        "call_in_loop",
        "high",
        ("hot_calls", "hot_instructions"),
        lambda m: m["hot_calls"] > 0,
        "function calls in the hot loop: {hot_calls:.0f} in {hot_instructions:.0f} instructions",
        "replace the call by inline code: a polynomial for a math function, a static inline for one of your own",
    ),
    Rule(
        "reduction_order",
        "high",
        ("missed_reduction",),
        lambda m: m["missed_reduction"] > 0,
        "loops kept scalar because the order of floating-point additions must be kept: {missed_reduction:.0f}",
        "sum into several independent partial sums, or allow reordering with -ffast-math where the check permits",
    ),
    Rule(
        "far_below_bandwidth",
        "high",
        ("memory_roofline_pct", "gbs"),
        lambda m: m["memory_roofline_pct"] < 50,
        "memory-limited cases reach {memory_roofline_pct:.0f} % of the measured bandwidth ({gbs:.1f} GB/s over all)",
        "memory is not what holds it back yet: find the latency, the arithmetic or the wasted traffic that does",
    ),
    Rule(
        "scalar_moves",
        "medium",
        ("hot_vector_bits", "hot_scalar_fp", "hot_calls", "hot_instructions", "roofline_pct"),
        lambda m: m["hot_vector_bits"] + m["hot_scalar_fp"] + m["hot_calls"] == 0 and m["roofline_pct"] < NEAR_PCT,
        "the hot loop of {hot_instructions:.0f} instructions only moves data, one element at a time",
        "move whole vectors: transpose or permute small squares in registers, and store full cache lines",
    ),
    Rule(
        "possible_aliasing",
        "medium",
        ("missed_alias",),
        lambda m: m["missed_alias"] > 0,
        "loops kept scalar because the compiler must assume that pointers overlap: {missed_alias:.0f}",
        "qualify the pointers with restrict, and copy what is loop-invariant into locals",
    ),
    Rule(
        "narrow_vectors",
        "medium",
        ("hot_vector_bits", "machine_vector_bits", "hot_vector_pct"),
        lambda m: 0 < m["hot_vector_bits"] < min(256.0, m["machine_vector_bits"]) and m["hot_vector_pct"] >= 50,
        "the hot loop uses {hot_vector_bits:.0f}-bit vectors on a CPU that has {machine_vector_bits:.0f}-bit ones",
        "compile with -march=native, or use wider vector types",
    ),
    Rule(
        "division_in_loop",
        "medium",
        ("hot_divisions", "hot_instructions"),
        lambda m: m["hot_divisions"] > 0,
        "divisions and square roots in the hot loop: {hot_divisions:.0f} in {hot_instructions:.0f} instructions",
        "hoist the reciprocal out of the loop, or use an estimate with one Newton step where the check permits",
    ),
    Rule(
        "gather_in_loop",
        "medium",
        ("hot_element_loads", "hot_instructions"),
        lambda m: m["hot_element_loads"] > 0,
        "the hot loop fills vectors lane by lane: {hot_element_loads:.0f} gathers or single-lane loads",
        "change the loop order or the layout so that neighbouring lanes are neighbours in memory",
    ),
    Rule(
        "spills_in_loop",
        "medium",
        ("hot_stack", "hot_instructions"),
        lambda m: m["hot_stack"] >= 4 and m["hot_stack"] >= 0.1 * m["hot_instructions"],
        "{hot_stack:.0f} of the hot loop's {hot_instructions:.0f} instructions load from or store to the stack",
        "keep fewer values alive at once: a smaller unroll or register tile, or split the loop",
    ),
    Rule(
        "core_waits",
        "medium",
        ("ipc", "roofline_pct"),
        lambda m: m["ipc"] < 1.0 and m["roofline_pct"] < NEAR_PCT,
        "{ipc:.2f} instructions a cycle at {roofline_pct:.0f} % of the roofline: the core mostly waits",
        "break chains of dependent operations with several accumulators, and start loads earlier",
    ),
    Rule(
        "high_branch_misses",
        "medium",
        ("branch_mpki", "branch_miss_pct"),
        lambda m: m["branch_mpki"] > 3 and m["branch_miss_pct"] > 1,
        "{branch_mpki:.1f} mispredicted branches a 1000 instructions ({branch_miss_pct:.1f} % of the branches)",
        "replace branches that depend on data by selects, masks or min and max",
    ),
    Rule(
        "cache_misses",
        "medium",
        ("cache_mpki", "cache_miss_pct", "roofline_pct"),
        lambda m: m["cache_mpki"] > 10 and m["cache_miss_pct"] > 20 and m["roofline_pct"] < NEAR_PCT,
        "{cache_mpki:.0f} last-level cache misses a 1000 instructions ({cache_miss_pct:.0f} % of the references)",
        "block the loops so that what is used again is still in cache, and stream what is not",
    ),
    Rule(
        "uneven_cases",
        "low",
        ("worst_roofline_pct", "best_roofline_pct"),
        lambda m: m["worst_roofline_pct"] < 0.5 * m["best_roofline_pct"] and m["worst_roofline_pct"] < NEAR_PCT,
        "the worst case reaches {worst_roofline_pct:.0f} % of its roofline, the best {best_roofline_pct:.0f} %",
        "look at the worst case's shape by itself: its overhead a row, its remainder loop, or its footprint",
    ),
    Rule(
        "near_roofline",
        "low",
        ("roofline_pct",),
        lambda m: m["roofline_pct"] >= NEAR_PCT,
        "{roofline_pct:.0f} % of the roofline: the machine has little more to give",
        "stop here, or do less: fewer bytes, fewer passes, fused with what comes before or after",
    ),
)

RULES = RuleList("cpu", CPU_RULES, shipped("skills"))
