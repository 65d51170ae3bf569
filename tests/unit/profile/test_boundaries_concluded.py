"""What is concluded from metrics by a threshold: the bottleneck, what has changed, what limits a case."""

import pytest

from kpd.measure.score import CaseWork
from kpd.model.profiles import CaseTime, MetricChange
from kpd.profile import counters, cpu, gpu, speed
from kpd.profile.changes import changes
from kpd.text.changes import change

LAUNCHED = {"event_us": 10.0, "device_us": 5.0}


@pytest.mark.parametrize(
    ("metrics", "word"),
    [
        ({"roofline_pct": 49.9}, "latency bound"),
        ({"roofline_pct": 50.0}, "roofline bound"),
        ({"roofline_pct": 60.0, "memory_roofline_pct": 60.0, "compute_roofline_pct": 59.9}, "memory bound"),
        ({"roofline_pct": 60.0, "memory_roofline_pct": 60.0, "compute_roofline_pct": 60.0}, "memory bound"),
        ({"roofline_pct": 60.0, "memory_roofline_pct": 60.0, "compute_roofline_pct": 60.1}, "compute bound"),
    ],
)
def test_what_holds_a_candidate_back_on_a_cpu(metrics: dict[str, float], word: str) -> None:
    assert cpu.bottleneck(metrics).startswith(word)


def test_from_four_fifths_of_the_roofline_on_there_is_little_room() -> None:
    below, at = (cpu.bottleneck({"roofline_pct": share}).rpartition(", ")[2] for share in (79.9, 80.0))
    assert below != at == cpu.bottleneck({"roofline_pct": 99.0}).rpartition(", ")[2]
    assert below == cpu.bottleneck({"roofline_pct": 50.0}).rpartition(", ")[2]


@pytest.mark.parametrize(
    ("metrics", "word"),
    [
        # without a roofline half of a call has to be launching, with one as much as a better kernel could save
        (LAUNCHED | {"launch_overhead_pct": 49.9, "sm_pct": 70, "dram_pct": 20}, "compute"),
        (LAUNCHED | {"launch_overhead_pct": 50.0, "sm_pct": 70, "dram_pct": 20}, "launch"),
        (LAUNCHED | {"launch_overhead_pct": 30.0, "roofline_pct": 39.9, "sm_pct": 70, "dram_pct": 20}, "compute"),
        (LAUNCHED | {"launch_overhead_pct": 30.0, "roofline_pct": 40.0, "sm_pct": 70, "dram_pct": 20}, "launch"),
        (LAUNCHED | {"launch_overhead_pct": 19.9, "roofline_pct": 75.0, "sm_pct": 70, "dram_pct": 20}, "compute"),
        (LAUNCHED | {"launch_overhead_pct": 20.0, "roofline_pct": 75.0, "sm_pct": 70, "dram_pct": 20}, "launch"),
        ({"launch_overhead_pct": 90.0, "event_us": 10.0, "sm_pct": 70, "dram_pct": 20}, "compute"),
        # no unit comes to 60 % of its peak
        ({"sm_pct": 59.9, "dram_pct": 59.9, "l2_pct": 59.9}, "latency"),
        ({"sm_pct": 60.0, "dram_pct": 10.0}, "compute"),
        ({"sm_pct": 10.0, "dram_pct": 60.0}, "memory"),
        ({"sm_pct": 10.0, "dram_pct": 10.0, "l2_pct": 60.0}, "memory bound: L2"),
        # the busier of both
        ({"sm_pct": 80.0, "dram_pct": 80.0}, "memory bound: DRAM"),
        ({"sm_pct": 80.1, "dram_pct": 80.0}, "compute"),
        # without counters
        ({"roofline_pct": 49.9, "memory_roofline_pct": 49.9}, "unknown"),
        ({"roofline_pct": 50.0, "memory_roofline_pct": 50.0}, "memory"),
        ({"sm_pct": 90.0, "roofline_pct": 50.0, "compute_roofline_pct": 50.0}, "compute"),
        ({"dram_pct": 90.0}, "unknown"),
    ],
)
def test_what_holds_a_candidate_back_on_a_gpu(metrics: dict[str, float], word: str) -> None:
    assert gpu.bottleneck(metrics).startswith(word)


# ── what has changed ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "before", "after", "moved"),
    [
        ("call_us", 100.0, 102.02, False),  # e to the power of 0.02 is 1.0202
        ("call_us", 100.0, 102.03, True),
        ("call_us", 102.02, 100.0, False),
        ("call_us", 102.03, 100.0, True),
        ("call_us", 0.0, 1e-6, True),
        ("call_us", 0.0, 0.0, False),
        ("roofline_pct", 0.1, 0.6, False),  # half a percent of its ceiling
        ("roofline_pct", 0.1, 0.601, True),
        ("roofline_pct", 0.601, 0.1, True),
    ],
)
def test_how_far_a_metric_has_to_move(name: str, before: float, after: float, moved: bool) -> None:
    assert bool(changes({name: before}, {name: after})) is moved


def test_what_is_next_to_nothing_of_its_ceiling_ranks_as_if_it_were_a_twentieth() -> None:
    """Thirty times 0.2 % of the ceiling counts as a fifth more than a twentieth."""
    before = {"cache_miss_pct": 0.2, "call_us": 100.0, "ipc": 1.0}
    after = {"cache_miss_pct": 6.0, "call_us": 121.0, "ipc": 1.19}
    assert [change.metric for change in changes(before, after)] == ["call_us", "cache_miss_pct", "ipc"]


@pytest.mark.parametrize(("after", "share"), [(1.99, "+99 %"), (2.0, "2.0 times"), (0.5, "-50 %")])
def test_from_twice_on_a_change_is_told_in_times(after: float, share: str) -> None:
    assert f"({share})" in change(MetricChange("call_us", 1.0, after))


# ── what limits a case, and what was counted ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("flops", "compute_us", "limited"),
    [
        (3999.0, None, "memory"),  # fewer operations than bytes: no processor computes so slowly
        (4000.0, None, ""),
        (4000.0, 0.999, "memory"),
        (4000.0, 1.0, "compute"),
    ],
)
def test_what_limits_a_case(flops: float, compute_us: float | None, limited: str) -> None:
    case = CaseTime("a", 2.0, 3.0, 33.0, bytes=4000.0, flops=flops, roofline_us=1.0)
    assert speed.limit(case, {"a": CaseWork(compute_us=compute_us)}) == limited


@pytest.mark.parametrize(("more", "told"), [(200, False), (201, True)])
def test_what_the_longer_process_counted_is_noise_below_a_fifth(more: int, told: bool) -> None:
    rows = {"short": (1000, 1000), "long": (1000 + more, 1000 + more)}
    said = "".join(f"== {name}\n{a},,instructions\n{b},,cycles\n" for name, (a, b) in rows.items())
    assert ("ipc" in counters.read(said)[0]) is told
