"""The machine's own limits: interpolated sensibly, and measured for real."""

import pytest
from hypothesis import given, strategies as st

from kpd.measure.roofline import Roofline

KNOWN = Roofline(bandwidth=((8_192, 200.0), (131_072, 100.0), (8_388_608, 20.0)), peak_gflops=50.0)


@given(st.floats(1, 1e12), st.floats(1, 1e12))
def test_bandwidth_falls_with_the_footprint_as_its_points_do(small: float, large: float) -> None:
    small, large = sorted((small, large))
    assert 20.0 <= KNOWN.gbs(large) <= KNOWN.gbs(small) + 1e-9 <= 200.0 + 1e-9


def test_bandwidth_passes_through_its_points() -> None:
    assert [round(KNOWN.gbs(point), 6) for point, _ in KNOWN.bandwidth] == [gbs for _, gbs in KNOWN.bandwidth]
    assert KNOWN.gbs(32_768) == pytest.approx(150.0)  # halfway on a logarithmic scale
    assert KNOWN.memory_gbs == 20.0


def test_the_floor_is_the_slower_of_memory_and_arithmetic() -> None:
    assert KNOWN.time_floor(131_072, None) == pytest.approx(1.31072)
    assert KNOWN.time_floor(None, 50_000) == pytest.approx(1.0)
    assert KNOWN.time_floor(131_072, 50_000) == pytest.approx(1.31072)
    assert KNOWN.time_floor(131_072, 500_000) == pytest.approx(10.0) == KNOWN.compute_us(500_000)
    assert KNOWN.time_floor(None, None) is KNOWN.time_floor(0, 0) is None


@given(st.floats(1, 1e12), st.floats(1, 1e12))
def test_what_is_impossible_is_quicker_than_the_floor(moved: float, computed: float) -> None:
    floor, cached = KNOWN.time_floor(moved, computed), KNOWN.least_cached(moved, computed)
    streamed = KNOWN.least_streamed(moved, computed)
    assert floor is not None and cached is not None and streamed is not None
    assert cached <= floor / 2 * (1 + 1e-9)
    assert streamed <= floor / 1.25 * (1 + 1e-9)


def test_the_least_of_a_cpu_is_by_its_fastest_cache_and_of_a_gpu_by_its_memory() -> None:
    assert KNOWN.least_cached(8_388_608, None) == pytest.approx(8_388_608 / 200.0 / 1e3 / 2)
    assert KNOWN.least_cached(None, 50_000) == pytest.approx(0.5)
    assert KNOWN.least_streamed(8_388_608, None) == pytest.approx(8_388_608 / 20.0 / 1e3 / 1.25)
    assert KNOWN.least_cached(None, None) is KNOWN.least_streamed(None, 50_000) is None


def test_small_footprints_on_a_gpu_are_bound_by_what_larger_ones_reach() -> None:
    """A launch costs so much that small copies look slow; together, or well overlapped, they need not be."""
    gpu = Roofline(((1 << 20, 300.0), (1 << 25, 4000.0), (1 << 30, 2700.0)), 60_000.0)
    assert gpu.least_streamed(1 << 20, None) == pytest.approx((1 << 20) / 4000.0 / 1e3 / 1.25)
    assert gpu.least_streamed(1 << 31, None) == pytest.approx((1 << 31) / 2700.0 / 1e3 / 1.25)


def test_the_better_of_two_measurements_is_taken_at_every_footprint() -> None:
    other = Roofline(((8_192, 150.0), (131_072, 160.0), (8_388_608, 10.0)), 70.0)
    better = Roofline(((8_192, 200.0), (131_072, 160.0), (8_388_608, 20.0)), 70.0)
    assert KNOWN.better(other) == other.better(KNOWN) == better
