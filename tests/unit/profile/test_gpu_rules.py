"""The rules for GPUs fire on what they are for, keep quiet on kernels that are as they should be, and have skills."""

import math
import string

import pytest
from hypothesis import given, strategies as st

from kpd.knowledge.skills import SECTIONS, load_skills
from kpd.model.metrics import METRICS
from kpd.model.profiles import Finding
from kpd.profile.gpu_rules import GPU_RULES
from kpd.profile.rules import MOST_NAMED, ORDER, Rule, apply, apply_cases

KERNELKING = [
    "severe_memory_bound", "near_peak_compute", "huge_dram_traffic", "low_occupancy", "register_limited",
    "low_waves_per_sm", "high_waves_per_sm", "poor_coalescing", "low_l1_hit", "low_l2_hit", "smem_bank_conflicts",
    "stall_long_scoreboard", "stall_short_scoreboard", "stall_mio_throttle", "stall_math_pipe", "stall_barrier",
    "stall_wait", "stall_membar", "low_ipc",
]  # fmt: skip
OURS = ["launch_bound", "tail_effect", "register_spill", "uncoalesced_store", "low_tensor_use", "local_memory"]

# A transposition of 4096 × 4096 floats as an H100 runs it, by rows of a tile[32][33], and the same without a tile.
TILED: dict[str, float] = {
    "event_us": 52, "device_us": 49.8, "launch_overhead_pct": 4.2, "call_us": 52, "gbs": 2581,
    "sm_pct": 39.9, "dram_pct": 77.3, "dram_read_mb": 67.1, "dram_write_mb": 48.2, "l1_hit_pct": 0, "l2_hit_pct": 51.5,
    "sectors_per_load": 4, "sectors_per_store": 4, "coalescing_load_pct": 100, "coalescing_store_pct": 100,
    "shared_conflicts_load": 60745, "shared_conflicts_store": 15789, "shared_conflict_pct": 5.45, "local_requests": 0,
    "occupancy_pct": 95.6, "occupancy_limit_pct": 100, "limit_registers": 8, "limit_shared": 19, "limit_warps": 8,
    "limit_blocks": 32, "waves": 15.5, "registers": 30, "grid": 16384, "block_threads": 256, "ipc": 1.73,
    "issue_pct": 42.3, "instructions": 18_350_080, "tensor_pct": 0, "tensor_instructions": 0, "fma_pct": 16.6,
    "stall_long_scoreboard": 0.605, "stall_short_scoreboard": 0.008, "stall_mio_throttle": 0.004,
    "stall_math_pipe": 0.023, "stall_barrier": 0.209, "stall_wait": 0.039, "stall_membar": 0,
    "spill_store_bytes": 0, "spill_load_bytes": 0, "ptxas_registers": 30,
}  # fmt: skip
NAIVE = TILED | {
    "event_us": 290, "device_us": 288, "launch_overhead_pct": 0.7, "call_us": 290, "gbs": 463,
    "sm_pct": 5.5, "dram_pct": 13.1, "dram_read_mb": 71.4, "dram_write_mb": 54.8, "l1_hit_pct": 64.2,
    "l2_hit_pct": 89.5, "sectors_per_store": 32, "coalescing_store_pct": 12.5, "shared_conflicts_load": 0,
    "shared_conflicts_store": 0, "shared_conflict_pct": 0, "occupancy_pct": 78.2, "limit_registers": 16,
    "limit_shared": 32, "waves": 62.1, "registers": 16, "grid": 65536, "ipc": 0.18, "issue_pct": 4.4,
    "instructions": 13_107_200, "fma_pct": 1.1, "stall_long_scoreboard": 0.339, "stall_short_scoreboard": 0.145,
    "stall_mio_throttle": 0.058, "stall_math_pipe": 0.0, "stall_barrier": 0, "stall_wait": 0.008,
}  # fmt: skip
# Kernels that are as they should be: the only thing to say of the first two is what sets their time.
STREAM = TILED | {  # a sum over a large array: each byte once, no reuse anywhere
    "sm_pct": 22, "dram_pct": 91, "l1_hit_pct": 0, "l2_hit_pct": 1, "dram_read_mb": 1074, "dram_write_mb": 0.1,
    "gbs": 3050, "call_us": 352, "sectors_per_store": 1, "coalescing_store_pct": 12.5, "stall_long_scoreboard": 0.9,
    "stall_barrier": 0.02, "waves": 1, "grid": 1056, "ipc": 0.4, "issue_pct": 10,
}  # fmt: skip
ARITHMETIC = TILED | {  # few warps, all of them always ready: little waits, so what waits is a large share
    "sm_pct": 93, "dram_pct": 4, "issue_pct": 92, "fma_pct": 55, "ipc": 3.7, "stall_wait": 0.36, "stall_math_pipe": 0.3,
    "stall_long_scoreboard": 0.02, "stall_barrier": 0, "occupancy_pct": 25, "occupancy_limit_pct": 25, "registers": 128,
    "limit_registers": 2, "waves": 8.9, "l1_hit_pct": 95, "l2_hit_pct": 80,
}  # fmt: skip
PRODUCT = TILED | {  # a matrix product by wgmma and TMA: persistent, few warps, few instructions, all loads in bulk
    "sm_pct": 82, "dram_pct": 28, "tensor_pct": 82, "tensor_instructions": 4e6, "fma_pct": 2, "ipc": 0.35,
    "issue_pct": 9, "occupancy_pct": 18.5, "occupancy_limit_pct": 18.75, "registers": 168, "limit_registers": 1,
    "limit_shared": 1, "limit_warps": 5, "waves": 1, "grid": 132, "block_threads": 384, "l1_hit_pct": 0,
    "l2_hit_pct": 82, "coalescing_load_pct": 0, "sectors_per_load": 0, "stall_long_scoreboard": 0.35,
    "stall_barrier": 0.05, "stall_wait": 0.1, "dram_read_mb": 260, "dram_write_mb": 120, "gbs": 190, "call_us": 700,
}  # fmt: skip

FIRING: dict[str, dict[str, float]] = {
    "launch_bound": {"launch_overhead_pct": 62, "event_us": 8.1, "device_us": 3.1},
    "poor_coalescing": {"coalescing_load_pct": 12.5, "sectors_per_load": 32},
    "uncoalesced_store": {"coalescing_store_pct": 50, "sectors_per_store": 8},
    "smem_bank_conflicts": {
        "shared_conflict_pct": 94, "shared_conflicts_load": 16e6, "shared_conflicts_store": 0, "instructions": 18e6,
    },
    "low_tensor_use": {"tensor_pct": 21, "fma_pct": 5, "dram_pct": 20},
    "register_spill": {"spill_store_bytes": 48, "spill_load_bytes": 64, "ptxas_registers": 128},
    "local_memory": {"local_requests": 2e6, "instructions": 18e6},
    "low_waves_per_sm": {"waves": 0.48, "grid": 64, "sm_pct": 12, "dram_pct": 20},
    "tail_effect": {"waves": 2.1, "sm_pct": 50, "dram_pct": 20},
    "stall_long_scoreboard": {"stall_long_scoreboard": 0.3, "issue_pct": 20, "sm_pct": 30, "dram_pct": 40},
    "low_occupancy": {"occupancy_pct": 24, "occupancy_limit_pct": 25, "waves": 9, "sm_pct": 30, "dram_pct": 40},
    "register_limited": {
        "limit_registers": 2, "limit_warps": 8, "limit_shared": 8, "limit_blocks": 32, "registers": 128,
        "occupancy_limit_pct": 25, "sm_pct": 30, "dram_pct": 40,
    },
    "low_l1_hit": {
        "l1_hit_pct": 4, "l2_hit_pct": 93, "stall_long_scoreboard": 0.6, "sm_pct": 20, "dram_pct": 10,
    },
    "low_l2_hit": {"l2_hit_pct": 31, "dram_read_mb": 900, "dram_write_mb": 64, "gbs": 480, "call_us": 400},
    "stall_mio_throttle": {"stall_mio_throttle": 0.41, "issue_pct": 30, "sm_pct": 60, "dram_pct": 10},
    "stall_short_scoreboard": {"stall_short_scoreboard": 0.38, "issue_pct": 30, "sm_pct": 40, "dram_pct": 10},
    "stall_barrier": {"stall_barrier": 0.2, "block_threads": 1024, "issue_pct": 30, "sm_pct": 40, "dram_pct": 50},
    "stall_math_pipe": {"stall_math_pipe": 0.5, "fma_pct": 12, "issue_pct": 26},
    "stall_membar": {"stall_membar": 0.15, "issue_pct": 8, "sm_pct": 10, "dram_pct": 12},
    "severe_memory_bound": {"sm_pct": 38, "dram_pct": 83},
    "near_peak_compute": {"sm_pct": 91, "dram_pct": 30},
    "huge_dram_traffic": {"dram_read_mb": 8000, "dram_write_mb": 2000},
    "stall_wait": {"stall_wait": 0.7, "issue_pct": 25, "sm_pct": 25, "dram_pct": 5},
    "low_ipc": {"ipc": 0.18, "sm_pct": 5.5, "dram_pct": 13.1},
    "high_waves_per_sm": {
        "waves": 62, "instructions": 13e6, "grid": 65536, "block_threads": 256, "sm_pct": 5.5, "dram_pct": 13.1,
    },
}  # fmt: skip
# What differs from FIRING where the situation is only nearly the rule's; one entry for each condition of a rule.
NEARLY: dict[str, list[dict[str, float]]] = {
    "launch_bound": [{"launch_overhead_pct": 19.9}],
    "poor_coalescing": [{"coalescing_load_pct": 75}, {"coalescing_load_pct": 0}, {"sectors_per_load": 1}],
    "uncoalesced_store": [{"coalescing_store_pct": 75}, {"coalescing_store_pct": 0}, {"sectors_per_store": 1}],
    "smem_bank_conflicts": [{"shared_conflict_pct": 5.5}, {"shared_conflicts_load": 1e5}],
    "low_tensor_use": [{"tensor_pct": 50}, {"tensor_pct": 4.9}, {"tensor_pct": 0, "fma_pct": 59}, {"dram_pct": 80}],
    "register_spill": [{"spill_store_bytes": 0, "spill_load_bytes": 0}],
    "local_memory": [{"local_requests": 0}, {"local_requests": 1000}],
    "low_waves_per_sm": [{"waves": 2}, {"dram_pct": 85}],
    "tail_effect": [{"waves": 0.5}, {"waves": 1}, {"waves": 1.95}, {"waves": 4.1}, {"sm_pct": 85}],
    "stall_long_scoreboard": [{"stall_long_scoreboard": 0.29}, {"issue_pct": 80}, {"dram_pct": 80}],
    "low_occupancy": [{"occupancy_pct": 50}, {"waves": 0.5, "occupancy_limit_pct": 100}, {"sm_pct": 85}],
    "register_limited": [{"limit_warps": 2}, {"limit_shared": 1}, {"occupancy_limit_pct": 62.5}, {"sm_pct": 85}],
    "low_l1_hit": [{"l1_hit_pct": 30}, {"l2_hit_pct": 51}, {"stall_long_scoreboard": 0.1}, {"sm_pct": 85}],
    "low_l2_hit": [{"l2_hit_pct": 50}, {"dram_read_mb": 140}],
    "stall_mio_throttle": [{"stall_mio_throttle": 0.29}, {"issue_pct": 80}, {"sm_pct": 80}],
    "stall_short_scoreboard": [{"stall_short_scoreboard": 0.29}, {"issue_pct": 80}, {"sm_pct": 80}],
    "stall_barrier": [{"stall_barrier": 0.19}, {"issue_pct": 80}, {"dram_pct": 83}],
    "stall_math_pipe": [{"stall_math_pipe": 0.29}, {"issue_pct": 90}],
    "stall_membar": [{"stall_membar": 0.14}, {"issue_pct": 80}, {"sm_pct": 80}],
    "severe_memory_bound": [{"dram_pct": 79}, {"sm_pct": 75}],
    "near_peak_compute": [{"sm_pct": 84}, {"dram_pct": 88}],
    "huge_dram_traffic": [{"dram_write_mb": 1999}],
    "stall_wait": [{"stall_wait": 0.29}, {"issue_pct": 92}, {"sm_pct": 85}],
    "low_ipc": [{"ipc": 0.5}, {"sm_pct": 60}, {"dram_pct": 70}],
    "high_waves_per_sm": [{"waves": 39}, {"instructions": 60e6}, {"dram_pct": 83}],
}  # fmt: skip
# What differs from FIRING at the very edge of the rule, on its inner side, and where another way leads into it.
STILL: dict[str, list[dict[str, float]]] = {
    "launch_bound": [{"launch_overhead_pct": 20}],
    "smem_bank_conflicts": [{"shared_conflict_pct": 10}, {"shared_conflicts_load": 1e5, "shared_conflicts_store": 8e4}],
    "low_tensor_use": [{"tensor_pct": 0, "fma_pct": 60}],
    "register_spill": [{"spill_store_bytes": 0}, {"spill_load_bytes": 0}],
    "low_waves_per_sm": [{"waves": 1.99}],
    "tail_effect": [{"waves": 1.1}, {"waves": 3.2}],
    "low_occupancy": [{"waves": 0.5}, {"waves": 1, "occupancy_limit_pct": 100}],
    "register_limited": [{"occupancy_limit_pct": 50, "limit_registers": 4}, {"limit_shared": 2}],
    "low_l1_hit": [{"l2_hit_pct": 70, "stall_long_scoreboard": 0.3}],
    "stall_mio_throttle": [{"stall_mio_throttle": 0.3}],
    "stall_short_scoreboard": [{"stall_short_scoreboard": 0.3}],
    "stall_math_pipe": [{"stall_math_pipe": 0.3}],
    "severe_memory_bound": [{"sm_pct": 70, "dram_pct": 80}],
    "near_peak_compute": [{"sm_pct": 85, "dram_pct": 80}],
    "stall_wait": [{"stall_wait": 0.3}],
    "high_waves_per_sm": [{"waves": 40}],
}  # fmt: skip
BY_ID = {rule.id: rule for rule in GPU_RULES}
each_rule = pytest.mark.parametrize("rule", GPU_RULES, ids=lambda rule: rule.id)
no_number = st.sampled_from([None, math.nan, math.inf, -math.inf])


def ids(findings: tuple[Finding, ...]) -> set[str]:
    return {found.rule for found in findings}


def test_the_rules_are_those_of_kernelking_and_ours() -> None:
    assert sorted(BY_ID) == sorted(KERNELKING + OURS)
    assert len(GPU_RULES) == len(BY_ID) == len(FIRING) == len(NEARLY) == 25


@each_rule
def test_a_rule_fires_on_its_evidence(rule: Rule) -> None:
    found = rule.fire(FIRING[rule.id])
    assert found is not None
    assert found.evidence == FIRING[rule.id]
    assert any(char.isdigit() for char in found.message)
    assert "\n" not in found.message + found.action


@each_rule
def test_a_rule_keeps_quiet_when_one_of_its_conditions_does_not_hold(rule: Rule) -> None:
    for other in NEARLY[rule.id]:
        assert set(other) <= set(rule.needs)
        assert rule.fire(FIRING[rule.id] | other) is None, other


@pytest.mark.parametrize("id", sorted(STILL))
def test_a_threshold_itself_counts(id: str) -> None:
    for other in STILL[id]:
        assert BY_ID[id].fire(FIRING[id] | other) is not None, other


@given(st.sampled_from(GPU_RULES), st.data())
def test_a_metric_that_is_missing_or_no_number_silences_the_rules_that_need_it(rule: Rule, data: st.DataObject) -> None:
    lost = data.draw(st.sets(st.sampled_from(rule.needs), min_size=1))
    known: dict[str, float] = dict(FIRING[rule.id])
    for name in sorted(lost):
        bad = data.draw(no_number)
        if bad is None:
            del known[name]
        else:
            known[name] = bad
    assert rule.fire(known) is None


@given(st.dictionaries(st.sampled_from(sorted(TILED)), st.floats(allow_nan=True, allow_infinity=True)))
def test_any_values_at_all_are_read_without_a_fault(metrics: dict[str, float]) -> None:
    for found in apply(GPU_RULES, metrics):
        assert all(math.isfinite(value) for value in found.evidence.values())
        assert "nan" not in found.message


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (NAIVE, {"uncoalesced_store", "stall_long_scoreboard", "low_ipc", "high_waves_per_sm"}),
        (TILED, {"stall_long_scoreboard", "stall_barrier"}),
        (TILED | {"dram_pct": 86}, {"severe_memory_bound"}),
        (STREAM, {"severe_memory_bound"}),
        (ARITHMETIC, {"near_peak_compute"}),
        (PRODUCT, set()),
    ],
    ids=["naive", "tiled", "tiled, at the peak", "stream", "arithmetic", "product"],
)
def test_whole_kernels(metrics: dict[str, float], expected: set[str]) -> None:
    assert ids(apply(GPU_RULES, metrics)) == expected


def test_rows_of_odd_length_are_not_scattered_ones() -> None:
    """A copy whose warps have 32 neighbours, which begin anywhere in a sector, and some warps only some of them."""
    misaligned = TILED | {
        "coalescing_load_pct": 79.2, "sectors_per_load": 4.95, "coalescing_store_pct": 78.6, "sectors_per_store": 4.9,
    }  # fmt: skip
    assert ids(apply(GPU_RULES, misaligned)) == ids(apply(GPU_RULES, TILED))
    halves = misaligned | {"coalescing_load_pct": 50.0, "sectors_per_load": 8.0}
    assert "poor_coalescing" in ids(apply(GPU_RULES, halves))


def test_the_largest_gain_comes_first() -> None:
    assert apply(GPU_RULES, NAIVE)[0].rule == "uncoalesced_store"
    everything = [rule.severity for rule in GPU_RULES]
    assert everything == sorted(everything, key=lambda severity: ORDER[severity])


def test_rules_speak_of_known_metrics_and_only_of_those_they_need() -> None:
    for rule in GPU_RULES:
        assert set(rule.needs) <= set(METRICS), rule.id
        assert len(rule.needs) == len(set(rule.needs)), rule.id
        fields = {name for _, name, _, _ in string.Formatter().parse(rule.finding) if name}
        assert fields <= set(rule.needs), rule.id


@each_rule
def test_a_rule_has_its_skill(rule: Rule) -> None:
    skill = load_skills().by_id[rule.id]
    assert skill.signal.endswith(".")
    parts = [part.strip().splitlines() for part in skill.body.replace(SECTIONS[0], "").split("**") if part.strip()]
    causes, _, fixes, _, against = parts
    for part, least in ((causes, 3), (fixes, 4), (against, 3)):
        assert sum(line.startswith("- ") for line in part) >= least


# ── several cases ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_finding_of_all_cases_is_told_once_with_the_evidence_of_the_longest() -> None:
    cases = {"small": NAIVE | {"dram_pct": 7.0}, "large": NAIVE, "odd": NAIVE}
    found = apply_cases(GPU_RULES, cases, {"small": 20, "large": 1170, "odd": 213})
    assert ids(found) == ids(apply(GPU_RULES, NAIVE))
    assert [each.message for each in found] == [each.message for each in apply(GPU_RULES, NAIVE)]
    longest = {each.rule: each for each in apply_cases(GPU_RULES, cases, {"small": 2000, "large": 1170})}
    assert longest["low_ipc"].evidence["dram_pct"] == 7.0


def test_a_finding_of_some_cases_names_them() -> None:
    cases = {"large {0}": TILED | {"dram_pct": 85}, "small": TILED | {"waves": 0.97}, "odd": TILED | {"waves": 1.5}}
    found = {each.rule: each for each in apply_cases(GPU_RULES, cases, {"large {0}": 187, "small": 5, "odd": 45})}
    assert found["low_waves_per_sm"].message.startswith("in 2 of 3 cases (small, odd): a grid of")
    assert found["low_waves_per_sm"].evidence["waves"] == 1.5
    assert found["severe_memory_bound"].message.startswith("in 1 of 3 cases (large {0}): DRAM works")


def test_many_cases_are_counted_rather_than_named() -> None:
    cases = {f"case{at}": NAIVE for at in range(MOST_NAMED + 4)} | {"quiet": PRODUCT}
    for found in apply_cases(GPU_RULES, cases, {}):
        assert found.message.startswith("in 7 of 8 cases (case0, case1, case2 and 4 more): ")


def test_nothing_measured_finds_nothing() -> None:
    assert apply_cases(GPU_RULES, {}, {}) == ()
    assert apply_cases(GPU_RULES, {"a": {}, "b": {"waves": math.nan}}, {"a": 1.0}) == ()


@given(st.dictionaries(st.text(max_size=5), st.sampled_from([TILED, NAIVE, STREAM, ARITHMETIC, PRODUCT]), max_size=5))
def test_cases_together_find_what_they_find_apart(cases: dict[str, dict[str, float]]) -> None:
    together = apply_cases(GPU_RULES, cases, dict.fromkeys(cases, 1.0))
    assert [found.rule for found in together] == [
        rule.id for rule in GPU_RULES if any(rule.fire(metrics) for metrics in cases.values())
    ]
