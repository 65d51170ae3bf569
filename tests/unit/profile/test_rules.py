"""Rules fire on evidence only, each has its skill file, and the catalogue knows every metric there is."""

import math
import string

import pytest
from hypothesis import given, strategies as st

from kpd.knowledge.skills import load_skills
from kpd.measure.score import CaseWork
from kpd.model.metrics import CPU_METRICS, GPU_METRICS, GROUPS, METRICS, PER_CASE, describe, grouped, of_case
from kpd.model.profiles import CaseTime, Finding
from kpd.profile import assembly, counters, remarks, speed
from kpd.profile.cpu import bottleneck, findings
from kpd.profile.cpu_rules import CPU_RULES
from kpd.profile.gpu_rules import GPU_RULES
from kpd.profile.rules import ORDER, Rule, apply

FIRING: dict[str, dict[str, float]] = {
    "not_vectorised": {"hot_vector_pct": 0, "hot_scalar_fp": 5, "hot_vector_fp": 0},
    "call_in_loop": {"hot_calls": 1, "hot_instructions": 18},
    "reduction_order": {"missed_reduction": 1},
    "far_below_bandwidth": {"memory_roofline_pct": 20, "gbs": 3},
    "scalar_moves": {
        "hot_vector_bits": 0, "hot_scalar_fp": 0, "hot_calls": 0, "hot_instructions": 6, "roofline_pct": 20,
    },
    "possible_aliasing": {"missed_alias": 2},
    "narrow_vectors": {"hot_vector_bits": 128, "machine_vector_bits": 512, "hot_vector_pct": 90},
    "division_in_loop": {"hot_divisions": 1, "hot_instructions": 20},
    "gather_in_loop": {"hot_element_loads": 4, "hot_instructions": 20},
    "spills_in_loop": {"hot_stack": 8, "hot_instructions": 40},
    "core_waits": {"ipc": 0.5, "roofline_pct": 30},
    "high_branch_misses": {"branch_mpki": 8, "branch_miss_pct": 4},
    "cache_misses": {"cache_mpki": 30, "cache_miss_pct": 60, "roofline_pct": 30},
    "uneven_cases": {"worst_roofline_pct": 20, "best_roofline_pct": 90},
    "near_roofline": {"roofline_pct": 92},
}  # fmt: skip
QUIET: dict[str, dict[str, float]] = {
    "not_vectorised": {"hot_vector_pct": 90, "hot_scalar_fp": 1, "hot_vector_fp": 9},
    "call_in_loop": {"hot_calls": 0, "hot_instructions": 18},
    "reduction_order": {"missed_reduction": 0},
    "far_below_bandwidth": {"memory_roofline_pct": 70, "gbs": 9},
    "scalar_moves": {
        "hot_vector_bits": 256, "hot_scalar_fp": 0, "hot_calls": 0, "hot_instructions": 6, "roofline_pct": 20,
    },
    "possible_aliasing": {"missed_alias": 0},
    "narrow_vectors": {"hot_vector_bits": 256, "machine_vector_bits": 512, "hot_vector_pct": 90},
    "division_in_loop": {"hot_divisions": 0, "hot_instructions": 20},
    "gather_in_loop": {"hot_element_loads": 0, "hot_instructions": 20},
    "spills_in_loop": {"hot_stack": 3, "hot_instructions": 10},
    "core_waits": {"ipc": 0.5, "roofline_pct": 95},
    "high_branch_misses": {"branch_mpki": 8, "branch_miss_pct": 0.2},
    "cache_misses": {"cache_mpki": 3, "cache_miss_pct": 60, "roofline_pct": 30},
    "uneven_cases": {"worst_roofline_pct": 60, "best_roofline_pct": 90},
    "near_roofline": {"roofline_pct": 60},
}  # fmt: skip
BY_ID = {rule.id: rule for rule in CPU_RULES}
anything = st.floats(allow_nan=True, allow_infinity=True)


def test_every_rule_is_shown_firing_and_keeping_quiet() -> None:
    assert set(FIRING) == set(QUIET) == set(BY_ID)
    assert len(BY_ID) == len(CPU_RULES)


@pytest.mark.parametrize("rule", CPU_RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_on_its_evidence_and_only_then(rule: Rule) -> None:
    found = rule.fire(FIRING[rule.id])
    assert isinstance(found, Finding)
    assert found.evidence == FIRING[rule.id]
    assert any(char.isdigit() for char in found.message)
    assert rule.fire(QUIET[rule.id]) is None


@pytest.mark.parametrize("rule", CPU_RULES, ids=lambda rule: rule.id)
def test_a_missing_metric_or_one_that_is_no_number_never_fires(rule: Rule) -> None:
    for name in rule.needs:
        known = FIRING[rule.id]
        assert rule.fire({key: value for key, value in known.items() if key != name}) is None
        for bad in (math.nan, math.inf, -math.inf):
            assert rule.fire({**known, name: bad}) is None


@given(st.dictionaries(st.sampled_from(sorted(METRICS)), anything))
def test_any_metrics_at_all_are_explained_without_a_fault(metrics: dict[str, float]) -> None:
    for found in findings(metrics):
        assert all(math.isfinite(value) for value in found.evidence.values())
        assert "nan" not in found.message
    line = bottleneck(metrics)
    assert "\n" not in line
    assert "nan" not in line
    assert "inf" not in line


def test_rules_speak_of_known_metrics_and_only_of_those_they_need() -> None:
    for rule in CPU_RULES:
        assert set(rule.needs) <= set(METRICS)
        fields = {name for _, name, _, _ in string.Formatter().parse(rule.finding) if name}
        assert fields <= set(rule.needs), rule.id


def test_findings_come_severest_first() -> None:
    everything = {name: value for metrics in FIRING.values() for name, value in metrics.items()}
    order = [ORDER[found.severity] for found in apply(CPU_RULES, everything)]
    assert len(order) > 5
    assert order == sorted(order)


def test_each_rule_has_a_skill_and_each_skill_a_rule() -> None:
    skills = load_skills()
    assert skills.bad == {}
    rules = [rule.id for rule in (*CPU_RULES, *GPU_RULES)]
    assert len(rules) == len(set(rules)), "a name must lead to one skill"
    assert set(skills.by_id) == set(rules)
    for skill in skills.by_id.values():
        assert 20 <= len(skill.body.splitlines()) <= 60, skill.id


# ── the catalogue ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_catalogue_knows_whatever_a_profile_can_hold() -> None:
    case = CaseTime("rows=64 [odd]", 2, 3, 33, bytes=4000, flops=2000, roofline_us=1)
    other = CaseTime("large", 2, 3, 33, bytes=4000, flops=2000, roofline_us=1)
    work = {"large": CaseWork(4000, 2000, 1, compute_us=1)}
    timed, lacking = speed.read([case, other], work)
    emitted = {*timed, *lacking, *counters.WAYS, "machine_vector_bits", *assembly.NAMES, *remarks.NAMES}
    assert {name for name in emitted if describe(name) is None} == set()
    assert emitted >= CPU_METRICS, "the catalogue has a metric that no profile holds"
    assert set(METRICS) == CPU_METRICS | GPU_METRICS


def test_describing_a_case() -> None:
    metric = describe(of_case("gbs", "wide [1]"))
    assert metric is not None
    assert (metric.name, metric.unit, metric.label) == ("gbs[wide [1]]", "GB/s", "memory traffic, wide [1]")
    assert describe("clock_ghz[wide]") is None
    assert describe("nonsense") is None
    assert set(PER_CASE) <= set(METRICS)


def test_grouping_keeps_the_catalogues_order() -> None:
    groups = grouped(["loops_missed", "gbs[b]", "gbs[a]", "call_us", "nonsense"])
    assert tuple(groups) == GROUPS
    assert [metric.name for metric in groups["speed"]] == ["call_us", "gbs[a]", "gbs[b]"]
    assert [metric.name for metric in groups["compiler"]] == ["loops_missed"]


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ({}, "unknown"),
        ({"roofline_pct": 30, "gbs": 2.5, "ipc": 0.7}, "latency bound: 30 % of the roofline (2.5 GB/s), 0.70"),
        ({"roofline_pct": 90, "memory_roofline_pct": 90, "gbs": 12.0}, "memory bound: 90 %"),
        ({"roofline_pct": 70, "compute_roofline_pct": 70, "gflops": 50.0}, "compute bound: 70 %"),
        ({"roofline_pct": math.nan}, "unknown"),
    ],
)
def test_the_bottleneck_in_a_line(metrics: dict[str, float], words: str) -> None:
    assert words in bottleneck(metrics)
