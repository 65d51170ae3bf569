"""What is told of a machine, a harness and a measurement, and what is not where nothing is known."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.agents.prompt import history, machine, measured
from kpd.agents.prompt.machine import described, kind_of
from kpd.model.faults import NotBuilt
from kpd.model.profiles import Advice, Finding, Scope
from tests.support.agents.asked import shipped
from tests.support.agents.prompted import attempt, context, measured as of_h100
from tests.support.model.samples import run_of


@pytest.mark.parametrize(
    ("arch", "said"),
    [
        ("sm_90", "64 warps, 32 blocks, 65,536 registers and 228 KB of shared memory (227 KB a block"),
        ("sm_120", "48 warps, 24 blocks, 65,536 registers and 100 KB of shared memory (99 KB a block"),
        ("sm_75", "32 warps, 16 blocks, 65,536 registers and 64 KB of shared memory (64 KB a block"),
    ],
)
def test_an_sm_of_a_known_architecture(arch: str, said: str) -> None:
    assert f"a GPU ({arch}). An SM holds {said}" in described("a GPU", arch)


def test_of_an_unknown_machine_there_is_only_its_name() -> None:
    assert described("a GPU", "sm_999") == "a GPU (sm_999)"
    assert described("AMD EPYC", "x86_64") == "AMD EPYC (x86_64)"
    assert described("", "") == "not named"
    assert [kind_of(arch) for arch in ("sm_90", "aarch64", "")] == ["gpu", "cpu", "cpu"]


GEOMETRY = """
static const kpd_case cases[] = {
    {"small", {64}, KPD_CHECK_ONLY, {1, 1, 1}, {64}},
    {"large", {1 , 2}, KPD_CHECK_AND_TIME},
    {"plain", {9}},
};
const kpd_task_t kpd_task = {
    "k", {"n"}, cases, 3, 2,
};
"""


def test_cases_are_read_from_the_table_of_a_harness() -> None:
    assert machine.cases(GEOMETRY).splitlines() == [
        "Cases, as n:", "Timed: large 1x2, plain 9.", "Checked only: small 64 (grid, block {1, 1, 1}, {64}).",
    ]  # fmt: skip
    assert machine.cases("int main(void) {}") == machine.call("int main(void) {}") == ""


def test_every_shipped_harness_is_understood() -> None:
    for name in ("transpose_cuda", "softmax_cuda", "reduction_cuda", "transpose_cpu", "rmsnorm_silu_cpu"):
        task, _ = shipped(name)
        text = machine.text_of(task)
        assert machine.cases(text).count("Timed: ") == 1, name
        assert "kpd_case" in machine.call(text), name
        assert len(machine.cases(text)) < 600
    assert machine.text_of(shipped("layernorm_pilot")[0]) == ""


def test_a_kernel_that_was_not_profiled_has_little_told_of_it() -> None:
    assert list(measured.counters({}, (), {})) == []
    assert measured.cases({}) == measured.launch({}) == measured.advice(()) == ""
    assert measured.cases({"call_us[a]": 3.0}).endswith(": a 3.")
    assert measured.number(math.inf) == "?"


def test_launching_is_told_where_it_costs() -> None:
    metrics = {"call_us[a]": 10.0, "roofline_pct[a]": 25.0, "launch_overhead_pct[a]": 40.0, "device_us[a]": 6.0}
    assert measured.cases(metrics).endswith(": a 10 (on the device 6), 25 %.")


def test_many_cases_are_counted() -> None:
    told = measured.cases({f"call_us[c{at}]": 1.0 for at in range(20)})
    assert told.endswith("; c15 1; and 4 more.")


def test_only_what_tells_something_is_among_the_counters() -> None:
    tiled = of_h100("tiled")
    told = "\n".join(measured.counters(tiled["metrics"], tiled["findings"], {}))
    assert "occupancy_limit_pct 37.5" in told, "the fifth finding looks at it, which is only named"
    assert "coalescing_store_pct" not in told, "no finding looks at it"
    assert "fma_pct" not in told
    assert "shared_conflict_pct 38.5 (" in told, "with the range over the cases: it is wide"
    assert "shared_conflict_pct" not in "\n".join(measured.counters(of_h100("naive")["metrics"], (), {})), "none at all"
    assert "registers" not in told, "the launch says it"


def test_advice_beyond_the_findings_is_one_sentence_each() -> None:
    pieces = (
        Advice("A", "OPT", "First. Second.", 20.0, scope="global"),
        Advice("B", "OPT", "what a finding says, too", 60.0, agrees="low_ipc", scope="global"),
        Advice("C", "WRN", "no figure"),
        Advice("D", "OPT", "x" * 500, 9.0, scope="global"),
    )
    first, second = measured.advice(pieces).splitlines()[1:-1]
    assert first == "A (20 %): First."
    assert len(second) < 140
    fired = (Finding("low_ipc", "low", "0.3 a cycle", "look"),)
    assert next(measured.findings(fired, {}, pieces)).endswith("→ look ✓ NVIDIA 60 %")


@pytest.mark.parametrize("scope", ["local", ""])
def test_an_estimate_that_is_not_of_the_time_is_not_told_as_a_gain(scope: Scope) -> None:
    pieces = (
        Advice("A", "OPT", "First. Second.", 45.0, scope=scope),
        Advice("B", "OPT", "what a finding says, too", 60.0, agrees="low_ipc", scope=scope),
        Advice("C", "OPT", "hardly any", 4.0, scope=scope),
    )
    assert measured.advice(pieces).splitlines()[1:-1] == ["A: First."]
    fired = (Finding("low_ipc", "low", "0.3 a cycle", "look"),)
    assert next(measured.findings(fired, {}, pieces)).endswith("→ look ✓ NVIDIA")


def test_more_findings_than_can_be_told_are_named() -> None:
    fired = [Finding(f"rule_{at}", "medium", "it is so", "do it") for at in range(7)]
    told = list(measured.findings(fired, {}))
    assert told[1] == "2. [rule_1] medium: it is so → do it"
    assert told[3] == "4. [rule_3] medium: it is so"
    assert told[-1] == "Fired, too: rule_4, rule_5, rule_6"


def test_a_run_of_several_agents_says_whose_an_iteration_was() -> None:
    swept = replace(attempt(1, outcome="rejected", memo="TILE 0 → 16"), agent="sweep", override=None)
    failed = attempt(2, outcome="failed", cause=NotBuilt("x " + "y" * 300))
    _, *blocks = history.so_far(run_of(swept, failed, attempt(3)), 3)
    lines = [block.text.split("\n")[1] for block in blocks]
    assert lines[0] == "1 rejected (same) · sweep · TILE 0 → 16 · 0.3 % more time [−0.6, 1.2]"
    assert lines[1].startswith("2 failed · no memo · does not build: x yyy")
    assert len(lines[1]) < 160


def test_what_the_plan_does_not_count_is_no_part_of_the_budget(tmp_path: Path) -> None:
    left_off = [attempt(1, outcome="skipped"), attempt(2, outcome="interrupted"), attempt(3, outcome="infra")]
    assert "at most 6 are left." in history.standing(context(tmp_path, *left_off, attempt(4)))
    lost = [attempt(4, outcome="rejected"), attempt(5, outcome="skipped"), attempt(6, outcome="failed")]
    said = history.standing(context(tmp_path, *left_off, *lost, attempt(7)))
    assert "at most 4 are left." in said
    assert "The last 2 gained nothing" in said
    assert "gained nothing" not in history.standing(context(tmp_path, *left_off, attempt(4)))


def test_what_is_told_of_an_iteration_stays(tmp_path: Path) -> None:
    """A block an iteration: the service has those before it in its cache."""
    tried = [attempt(number, outcome="rejected", memo=f"idea {number}") for number in range(1, 7)]
    before = [block.text for block in history.so_far(run_of(*tried[:5]), 6)]
    assert [block.text for block in history.so_far(run_of(*tried), 7)][:-1] == before
