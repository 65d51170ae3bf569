"""NVIDIA's advice: each piece once, the best first, in plain words, and beside it what our own rules found."""

import pytest
from hypothesis import given, strategies as st

from kpd.measure.bench import LaunchFilter
from kpd.model.profiles import Advice
from kpd.profile.gpu_rules import GPU_RULES
from kpd.profile.ncu import advice, cases
from kpd.profile.ncu.child import launches
from kpd.profile.ncu.launches import ProfiledLaunch, VendorAdvice
from tests.support.profile.ncu_reports import BASELINE_US, CASES, pages

WEIGHTS = dict(zip(CASES, BASELINE_US, strict=True))
IDS = {rule.id for rule in GPU_RULES}


async def test_the_advice_of_the_recording() -> None:
    by_case, _ = cases.assigned(await launches(pages()), CASES, LaunchFilter())
    found = advice.marked(advice.read(by_case, WEIGHTS), {"uncoalesced_store", "stall_long_scoreboard"})
    assert len({piece.text for piece in found}) == len(found)
    for scopes in (("global",), ("local", "")):
        gains = [piece.speedup_pct or 0 for piece in found if piece.scope in scopes]
        assert gains == sorted(gains, reverse=True)
    waves, drain, loads, *_ = found
    assert (waves.rule, waves.cases, waves.scope) == ("LaunchConfiguration", ("square_1024",), "global")
    assert waves.speedup_pct == pytest.approx(25 * BASELINE_US[1] / sum(BASELINE_US), abs=0.05)
    assert (drain.rule, drain.level, drain.cases, drain.agrees) == ("CPIStall", "OPT", CASES, "uncoalesced_store")
    assert (drain.speedup_pct, drain.scope) == (44.6, "local")
    assert "56.4 cycles" not in drain.text
    assert "57.9 cycles" in drain.text, "the figures are those of the case that takes longest"
    assert (loads.rule, loads.agrees) == ("CPIStall", "stall_long_scoreboard")
    ours = {piece.agrees for piece in found if "L1TEX (local, global" in piece.text}
    assert ours == {"stall_long_scoreboard"}
    assert not any("optional metric" in piece.text or "Warp Stall Sampling" in piece.text for piece in found)
    assert any(piece.level == "INF" for piece in found)


def test_an_estimate_of_the_time_counts_by_the_time_of_its_cases() -> None:
    said = VendorAdvice("Rule", "OPT", "it takes 12.5 cycles", 80.0, "global")
    again = VendorAdvice("Rule", "OPT", "it takes 7 cycles", 40.0, "global")
    by_case = {
        "long": [ProfiledLaunch("k", advice=(again,))],
        "short": [ProfiledLaunch("k", advice=(said,))],
        "other": [ProfiledLaunch("k")],
    }
    (piece,) = advice.read(by_case, {"long": 60.0, "short": 30.0, "other": 10.0})
    assert (piece.text, piece.cases) == ("it takes 7 cycles", ("long", "short"))
    assert piece.speedup_pct == pytest.approx(0.6 * 40 + 0.3 * 80)
    assert piece.scope == "global"


def test_other_estimates_come_after_those_of_the_time_and_are_no_mean() -> None:
    of_long = (VendorAdvice("Local", "OPT", "it is 3", 20.0, "local"), VendorAdvice("Untold", "OPT", "it is", 60.0))
    of_short = (
        VendorAdvice("Local", "OPT", "it is 4", 90.0, "local"),
        VendorAdvice("Time", "OPT", "it is so", 8.0, "global"),
    )
    by_case = {"long": [ProfiledLaunch("k", advice=of_long)], "short": [ProfiledLaunch("k", advice=of_short)]}
    found = advice.read(by_case, {"long": 75.0, "short": 25.0})
    assert [(piece.rule, piece.speedup_pct, piece.scope) for piece in found] == [
        ("Time", 2.0, "global"), ("Untold", 60.0, ""), ("Local", 20.0, "local")
    ]  # fmt: skip
    assert found[2].text == "it is 3", "the words are those that the estimate is of"


def test_where_one_launch_tells_of_the_time_and_another_does_not_the_time_counts() -> None:
    said = (VendorAdvice("Rule", "OPT", "it is", 90.0, "local"), VendorAdvice("Rule", "OPT", "it is", 10.0, "global"))
    (piece,) = advice.read(
        {"a": [ProfiledLaunch("k", advice=said[:1])], "b": [ProfiledLaunch("k", advice=said[1:])]}, {"a": 1, "b": 1}
    )
    assert (piece.speedup_pct, piece.scope, piece.cases) == (5.0, "global", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("See the @url:Guide:https://docs.nvidia.com/x#y@ for more.", "See the Guide for more."),
        ("See the Guide (https://docs.nvidia.com/x#y) for more.", "See the Guide for more."),
        ("in the @section:MemoryWorkloadAnalysis:Memory Workload Analysis@ section",
         "in the Memory Workload Analysis section"),
        ("at @source:k.cu:12:line 12@", "at line 12"),
        ("at @sass:0x7f:this@", "at this"),
        ("a\nb\x1b[31m c", "a b [31m c"),
        ("x@y and z@w", "x@y and z@w"),
    ],
)  # fmt: skip
def test_markup_becomes_words(text: str, plain: str) -> None:
    assert advice.clean(text) == plain


@given(st.text(alphabet=st.sampled_from("@:urlsection ()https/x\n\x1b"), max_size=80))
def test_any_text_becomes_a_line(text: str) -> None:
    assert advice.clean(text).isprintable()
    assert len(advice.clean(text * 50)) <= advice.LONGEST


@pytest.mark.parametrize(
    ("rule", "text", "fired", "ours"),
    [
        ("SharedMemoryConflicts", "a 3.2-way bank conflict", {"smem_bank_conflicts"}, "smem_bank_conflicts"),
        ("SharedMemoryConflicts", "a 3.2-way bank conflict", {"low_occupancy"}, ""),
        ("TheoreticalOccupancy", "limited by the number of required registers", IDS, "register_limited"),
        ("TheoreticalOccupancy", "limited by the required amount of shared memory", IDS, "low_occupancy"),
        ("LaunchConfiguration", "1 full waves and a partial wave of 3 thread blocks", IDS, "tail_effect"),
        ("CPIStall", "stalled waiting for sibling warps at a CTA barrier", IDS, "stall_barrier"),
        ("CPIStall", "waiting for the MIO (memory input/output) instruction queue to be not full", IDS,
         "stall_mio_throttle"),
        ("CPIStall", "a scoreboard dependency on a MIO (memory input/output) operation", IDS, "stall_short_scoreboard"),
        ("MemoryCacheAccessPattern", "The memory access pattern for global stores to L1TEX might not be optimal", IDS,
         "uncoalesced_store"),
        ("SomethingNew", "registers", IDS, ""),
    ],
)  # fmt: skip
def test_what_says_the_same(rule: str, text: str, fired: set[str], ours: str) -> None:
    assert advice.same(Advice(rule, "OPT", text), fired) == ours


def test_every_rule_that_advice_may_agree_with_exists() -> None:
    assert {id for _, _, ours in advice.SAME for id in ours} <= IDS
