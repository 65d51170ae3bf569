"""Each condition of each rule: the rule fires just inside it, not just outside, and at the edge as the table says."""

import math
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st

from kpd.model.profiles import Severity
from kpd.profile.cpu_rules import CPU_RULES
from kpd.profile.gpu_rules import GPU_RULES
from kpd.profile.rules import Rule, apply, apply_cases
from tests.support.drawn import examples

BY_ID = {rule.id: rule for rule in (*CPU_RULES, *GPU_RULES)}
FIRES = {  # whether a rule fires just below an edge, at it, and just above it
    "<": (True, False, False), "<=": (True, True, False), "==": (False, True, False),
    ">=": (False, True, True), ">": (False, False, True),
}  # fmt: skip
Condition = str | tuple[str, dict[str, float]]
ROOM: tuple[Condition, ...] = ("sm_pct < 80", "dram_pct < 80")
IDLE: tuple[Condition, ...] = ("issue_pct < 80", *ROOM)

# By rule: metrics with which it fires (what is not named is 1), and its conditions. A condition holds for these
# metrics, or for them with some others in their places.
RULES: dict[str, tuple[dict[str, float], tuple[Condition, ...]]] = {
    # on a CPU
    "not_vectorised": ({}, ("hot_scalar_fp > 0", "hot_vector_pct < 50")),
    "call_in_loop": ({}, ("hot_calls > 0",)),
    "reduction_order": ({}, ("missed_reduction > 0",)),
    "far_below_bandwidth": ({}, ("memory_roofline_pct < 50",)),
    "scalar_moves": (
        {"hot_vector_bits": 0, "hot_scalar_fp": 0, "hot_calls": 0},
        ("hot_vector_bits == 0", "hot_scalar_fp == 0", "hot_calls == 0", "roofline_pct < 80"),
    ),
    "possible_aliasing": ({}, ("missed_alias > 0",)),
    "narrow_vectors": (
        {"hot_vector_bits": 64, "machine_vector_bits": 512, "hot_vector_pct": 90},
        (
            "hot_vector_bits > 0", "hot_vector_bits < 256", ("hot_vector_bits < 128", {"machine_vector_bits": 128}),
            "hot_vector_pct >= 50",
        ),
    ),
    "division_in_loop": ({}, ("hot_divisions > 0",)),
    "gather_in_loop": ({}, ("hot_element_loads > 0",)),
    "spills_in_loop": ({"hot_stack": 50}, ("hot_stack >= 4", ("hot_stack >= 10", {"hot_instructions": 100}))),
    "core_waits": ({"ipc": 0.5}, ("ipc < 1", "roofline_pct < 80")),
    "high_branch_misses": ({"branch_mpki": 9, "branch_miss_pct": 9}, ("branch_mpki > 3", "branch_miss_pct > 1")),
    "cache_misses": (
        {"cache_mpki": 30, "cache_miss_pct": 60},
        ("cache_mpki > 10", "cache_miss_pct > 20", "roofline_pct < 80"),
    ),
    "uneven_cases": (
        {"best_roofline_pct": 90},
        (
            ("worst_roofline_pct < 40", {"best_roofline_pct": 80}),
            ("worst_roofline_pct < 80", {"best_roofline_pct": 200}),
        ),
    ),
    "near_roofline": ({"roofline_pct": 90}, ("roofline_pct >= 80",)),
    # on a GPU
    "launch_bound": ({"launch_overhead_pct": 60}, ("launch_overhead_pct >= 20",)),
    "poor_coalescing": (
        {"sectors_per_load": 8}, ("coalescing_load_pct > 0", "coalescing_load_pct < 75", "sectors_per_load > 2"),
    ),
    "uncoalesced_store": (
        {"sectors_per_store": 8}, ("coalescing_store_pct > 0", "coalescing_store_pct < 75", "sectors_per_store > 2"),
    ),
    "smem_bank_conflicts": (
        {"shared_conflict_pct": 90, "shared_conflicts_load": 5, "shared_conflicts_store": 5, "instructions": 900},
        (
            "shared_conflict_pct >= 10", "instructions <= 1000",
            ("shared_conflicts_load >= 6", {"shared_conflicts_store": 4, "instructions": 1000}),
            ("shared_conflicts_store >= 6", {"shared_conflicts_load": 4, "instructions": 1000}),
        ),
    ),
    "low_tensor_use": (
        {"tensor_pct": 20, "fma_pct": 70},
        (
            "tensor_pct < 50", ("tensor_pct >= 5", {"fma_pct": 0}), ("fma_pct >= 60", {"tensor_pct": 0}),
            "dram_pct < 80",
        ),
    ),
    "register_spill": (
        {}, (("spill_store_bytes > 0", {"spill_load_bytes": 0}), ("spill_load_bytes > 0", {"spill_store_bytes": 0})),
    ),
    "local_memory": ({"local_requests": 900}, (("local_requests > 10", {"instructions": 1000}),)),
    "low_waves_per_sm": ({}, ("waves < 2", *ROOM)),
    "tail_effect": ({"waves": 1.5}, ("waves > 1", "waves <= 1.6", "waves > 2", "waves <= 2.4", *ROOM)),
    "stall_long_scoreboard": ({}, ("stall_long_scoreboard >= 0.3", *IDLE)),
    "low_occupancy": (
        {"waves": 9},
        (
            "occupancy_pct < 50", ("waves >= 1", {"occupancy_limit_pct": 90}),
            ("occupancy_limit_pct < 50", {"waves": 0.5}), *ROOM,
        ),
    ),
    "register_limited": (
        {"limit_registers": 2, "limit_warps": 8, "limit_shared": 9, "limit_blocks": 9},
        (
            "limit_registers < 8", ("limit_registers <= 4", {"limit_shared": 4}),
            ("limit_registers <= 4", {"limit_blocks": 4}), "occupancy_limit_pct <= 50", *ROOM,
        ),
    ),
    "low_l1_hit": ({"l2_hit_pct": 90}, ("l1_hit_pct < 30", "l2_hit_pct >= 70", "stall_long_scoreboard >= 0.3", *ROOM)),
    "low_l2_hit": (
        {"dram_read_mb": 1000, "dram_write_mb": 500, "gbs": 800, "call_us": 1000},
        (
            "l2_hit_pct < 50", ("dram_read_mb > 500", {"dram_write_mb": 500}),
            ("dram_write_mb > 500", {"dram_read_mb": 500}), "gbs < 1200", "call_us < 1500",
        ),
    ),
    "stall_mio_throttle": ({}, ("stall_mio_throttle >= 0.3", *IDLE)),
    "stall_short_scoreboard": ({}, ("stall_short_scoreboard >= 0.3", *IDLE)),
    "stall_barrier": ({}, ("stall_barrier >= 0.2", *IDLE)),
    "stall_math_pipe": ({}, ("stall_math_pipe >= 0.3", "issue_pct < 80")),
    "stall_membar": ({}, ("stall_membar >= 0.15", *IDLE)),
    "severe_memory_bound": ({"dram_pct": 90}, (("sm_pct <= 70", {"dram_pct": 80}), "dram_pct >= 80")),
    "near_peak_compute": ({"sm_pct": 95}, ("sm_pct >= 85", ("dram_pct <= 85", {"sm_pct": 90}))),
    "huge_dram_traffic": (
        {"dram_read_mb": 9000, "dram_write_mb": 9000},
        (("dram_read_mb >= 6000", {"dram_write_mb": 4000}), ("dram_write_mb >= 4000", {"dram_read_mb": 6000})),
    ),
    "stall_wait": ({}, ("stall_wait >= 0.3", *IDLE)),
    "low_ipc": ({"ipc": 0.1}, ("ipc < 0.5", "sm_pct < 60", "dram_pct < 60")),
    "high_waves_per_sm": (
        {"waves": 60, "instructions": 100, "grid": 16, "block_threads": 64},
        ("waves >= 40", "instructions < 3200", ("grid > 8", {"instructions": 1600}), *ROOM),
    ),
}  # fmt: skip


def edges() -> Iterator[tuple[str, str, dict[str, float]]]:
    for rule, (firing, conditions) in RULES.items():
        for condition in conditions:
            told, others = condition if isinstance(condition, tuple) else (condition, {})
            yield rule, told, firing | others


def test_every_rule_has_its_edges() -> None:
    assert set(RULES) == set(BY_ID)
    assert all(conditions for _, conditions in RULES.values())


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_fires_within_all_its_edges(rule: str) -> None:
    assert BY_ID[rule].fire(dict.fromkeys(BY_ID[rule].needs, 1.0) | RULES[rule][0]) is not None


@pytest.mark.parametrize(("rule", "condition", "others"), edges())
def test_a_rule_fires_on_one_side_of_each_edge_and_not_on_the_other(
    rule: str, condition: str, others: dict[str, float]
) -> None:
    metric, relation, value = condition.split()
    edge, step = float(value), 1e-6 * max(1.0, float(value))
    metrics = dict.fromkeys(BY_ID[rule].needs, 1.0) | others
    fired = tuple(BY_ID[rule].fire(metrics | {metric: at}) is not None for at in (edge - step, edge, edge + step))
    assert fired == FIRES[relation]


def holds(condition: str, metrics: dict[str, float]) -> bool:
    """What a condition says, worked out without the rule's own code."""
    code = re.sub("⌈(.*?)⌉", r"ceil(\1)", condition).replace("≥", ">=").replace("≤", "<=").replace("·", "*")
    asked = [re.sub(" = ", " == ", part) for part in code.split(", ")]
    return all(eval(part, {"ceil": math.ceil}, metrics) for part in asked)


@pytest.mark.parametrize(("rule", "condition", "others"), edges())
def test_what_a_rule_says_of_its_condition_is_what_it_does_at_each_edge(
    rule: str, condition: str, others: dict[str, float]
) -> None:
    metric, _, value = condition.split()
    edge, step = float(value), 1e-6 * max(1.0, float(value))
    for at in (edge - step, edge, edge + step):
        metrics = dict.fromkeys(BY_ID[rule].needs, 1.0) | others | {metric: at}
        assert holds(BY_ID[rule].condition, metrics) == (BY_ID[rule].fire(metrics) is not None)


@settings(max_examples=examples(400))
@given(st.sampled_from(sorted(RULES)), st.data())
def test_what_a_rule_says_of_its_condition_is_what_it_does_anywhere(rule: str, data: st.DataObject) -> None:
    """Starting where it fires, so that something more that the condition may ask is seen."""
    value = st.sampled_from([0.0, 0.2, 1.0, 3.0, 20.0, 55.0, 75.0, 95.0, 300.0, 20_000.0]) | st.floats(0, 100)
    some = data.draw(st.dictionaries(st.sampled_from(BY_ID[rule].needs), value, max_size=3))
    metrics = dict.fromkeys(BY_ID[rule].needs, 1.0) | RULES[rule][0] | some
    assert holds(BY_ID[rule].condition, metrics) == (BY_ID[rule].fire(metrics) is not None)


def test_moves_are_told_apart_from_arithmetic_whatever_it_is() -> None:
    """Vectors and scalars in one loop do not cancel out."""
    metrics = dict.fromkeys(BY_ID["scalar_moves"].needs, 1.0)
    assert BY_ID["scalar_moves"].fire(metrics | {"hot_vector_bits": 4, "hot_scalar_fp": 4, "hot_calls": 0}) is None
    assert BY_ID["scalar_moves"].fire(metrics | {"hot_vector_bits": 4, "hot_scalar_fp": 0, "hot_calls": 4}) is None


# ── several rules, several cases ──────────────────────────────────────────────────────────────────────────────────


def fires(severity: Severity) -> Rule:
    return Rule(severity, severity, "ipc > 1", "{ipc}", "")


def test_the_severest_comes_first_whatever_the_order_of_the_rules() -> None:
    rules = [fires("low"), fires("medium"), fires("high")]
    assert [found.rule for found in apply(rules, {"ipc": 2})] == ["high", "medium", "low"]
    assert [found.rule for found in apply_cases(rules, {"a": {"ipc": 2}}, {})] == ["high", "medium", "low"]


@pytest.mark.parametrize(("cases", "more"), [(3, ""), (4, " and 1 more"), (5, " and 2 more")])
def test_three_cases_are_named_and_the_rest_is_counted(cases: int, more: str) -> None:
    metrics = {f"case{at}": {"ipc": 2.0} for at in range(cases)} | {"quiet": {"ipc": 1.0}}
    (found,) = apply_cases([fires("low")], metrics, {})
    assert f"(case0, case1, case2{more})" in found.message


def test_the_evidence_is_of_the_weightiest_case_and_one_of_no_known_weight_is_the_lightest() -> None:
    metrics = {"unknown": {"ipc": 4.0}, "light": {"ipc": 3.0}, "heavy": {"ipc": 2.0}}
    weights = {"light": 1e-3, "heavy": 2e-3}
    assert apply_cases([fires("low")], metrics, weights)[0].evidence == {"ipc": 2.0}
    assert apply_cases([fires("low")], metrics, {"light": 1e-3})[0].evidence == {"ipc": 3.0}
