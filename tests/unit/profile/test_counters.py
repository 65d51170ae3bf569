"""`perf stat` output as several machines write it, and the script that asks for it, run by a real shell."""

import pytest
from hypothesis import given, strategies as st

from kpd.profile import counters

SHORT = """\
# started on Fri Nov 21 10:00:00 2025

1000000,,cycles:u,2000000,100.00,,
1500000,,instructions:u,2000000,100.00,1.50,insn per cycle
200000,,branches:u,2000000,100.00,,
2000,,branch-misses:u,2000000,100.00,1.00,of all branches
10000,,cache-references:u,2000000,100.00,,
1000,,cache-misses:u,2000000,100.00,10.00,of all cache refs
0.50,msec,task-clock,500000,100.00,0.390,CPUs utilized
"""
LONG = SHORT.replace("1000000,,cycles", "11000000,,cycles").replace("1500000,", "21500000,").replace("0.50,", "3.00,")
LONG = LONG.replace("200000,,branches", "2200000,,branches").replace("2000,,branch-m", "42000,,branch-m")
LONG = LONG.replace("10000,,cache-r", "110000,,cache-r").replace("1000,,cache-m", "26000,,cache-m")
VIRTUAL = (
    "\n".join(f"<not supported>,,{event}:u,0,100.00,," for event in counters.EVENTS[:-1])
    + "\n0.75,msec,task-clock,750285,100.00,0.390,CPUs utilized\n"
)
JSON = """\
{"counter-value" : "<not supported>", "unit" : "", "event" : "cycles:u", "event-runtime" : 0, "pcnt-running" : 100.00}
{"counter-value" : "1234.000000", "unit" : "", "event" : "instructions:u", "event-runtime" : 9, "pcnt-running" : 100.00}
"""
CPU = "flags\t\t: fpu sse sse2 avx avx2 fma\n"


def output(short: str, long: str) -> str:
    return f"== cpu\n{CPU}== short\n{short}== long\n{long}"


def test_what_the_longer_process_has_more_of_belongs_to_the_calls() -> None:
    metrics, missing = counters.read(output(SHORT, LONG))
    assert missing == {}
    assert metrics == pytest.approx(
        {
            "ipc": 2.0,
            "clock_ghz": 4.0,
            "branch_miss_pct": 2.0,
            "branch_mpki": 2.0,
            "cache_miss_pct": 25.0,
            "cache_mpki": 1.25,
            "machine_vector_bits": 256,
        }
    )


def test_a_virtual_machine_without_counters_says_so() -> None:
    metrics, missing = counters.read(output(VIRTUAL, VIRTUAL))
    assert metrics == {"machine_vector_bits": 256}
    assert set(missing) == set(counters.WAYS)
    assert all("not supported" in reason for reason in missing.values())


def test_one_missing_counter_costs_only_what_needs_it() -> None:
    without = LONG.replace("26000,,cache-misses:u", "<not counted>,,cache-misses:u")
    metrics, missing = counters.read(output(SHORT, without))
    assert set(missing) == {"cache_miss_pct", "cache_mpki"}
    assert "not counted" in missing["cache_mpki"]
    assert metrics["ipc"] == 2.0


def test_calls_too_few_to_show_are_missing() -> None:
    metrics, missing = counters.read(output(SHORT, SHORT))
    assert "ipc" not in metrics
    assert "too few" in missing["ipc"]


def test_permission_denied_is_told_in_perf_s_own_words() -> None:
    _, missing = counters.read(f"== cpu\n{CPU}", "Error:\nAccess to performance monitoring is limited.\n")
    assert "limited" in missing["ipc"]


def test_json_output_and_hybrid_cores() -> None:
    counts = counters.parse(JSON)
    assert counts["instructions"] == 1234
    assert isinstance(counts["cycles"], str)
    hybrid = (
        "100,,cpu_core/cycles/u,1,100.00,,\n20,,cpu_atom/cycles/u,1,100.00,,\n<not counted>,,cpu_atom/x/u,0,0.00,,\n"
    )
    assert counters.parse(hybrid)["cycles"] == 120


@given(st.text(max_size=300))
def test_no_output_of_perf_breaks_the_reading(text: str) -> None:
    metrics, missing = counters.read(output(text, text), text)
    assert set(metrics) | set(missing) == {*counters.WAYS, "machine_vector_bits"}
    assert all(reason.isprintable() for reason in counters.read("", text)[1].values())


@pytest.mark.parametrize(
    ("features", "bits"),
    [
        ("flags : sse2 avx avx2 avx512f", 512),
        ("flags : sse2", 128),
        ("Features\t: fp asimd evtstrm", 128),
        ("hw.optional.neon: 1", 128),
        ("machdep.cpu.leaf7_features: BMI1 AVX2", 256),
        ("", None),
    ],
)
def test_vectors_of_the_machine(features: str, bits: int | None) -> None:
    assert counters.vector_bits(features) == bits
