"""Times of cases against what the machine allows."""

import pytest

from kpd.measure.score import CaseWork
from kpd.model.profiles import CaseTime
from kpd.profile import speed

SMALL = CaseTime("small", candidate_us=2, incumbent_us=3, gain_pct=33, bytes=4000, flops=2000, roofline_us=1)
LARGE = CaseTime("large", candidate_us=8, incumbent_us=9, gain_pct=11, bytes=16000, flops=64000, roofline_us=6)
WORK = {"small": CaseWork(4000, 2000, 1, compute_us=0.2), "large": CaseWork(16000, 64000, 6, compute_us=6)}


def test_rates_and_shares() -> None:
    metrics, missing = speed.read([SMALL, LARGE], WORK)
    assert missing == {}
    assert metrics["call_us"] == 5
    assert metrics["gbs"] == pytest.approx(20000 / 10 / 1000)
    assert metrics["gflops"] == pytest.approx(66000 / 10 / 1000)
    assert metrics["intensity"] == pytest.approx(3.3)
    assert metrics["roofline_pct"] == pytest.approx(70)
    assert metrics["memory_roofline_pct"] == pytest.approx(50)
    assert metrics["compute_roofline_pct"] == pytest.approx(75)
    assert (metrics["worst_roofline_pct"], metrics["best_roofline_pct"]) == (50, 75)
    assert metrics["gbs[small]"] == pytest.approx(2)
    assert metrics["roofline_pct[large]"] == 75


def test_without_a_roofline_only_times_are_known() -> None:
    metrics, missing = speed.read([CaseTime("only", 2, 3, 33)], {})
    assert metrics == {"call_us": 2, "call_us[only]": 2}
    assert set(missing) == {"gbs", "gflops", "roofline_pct", "memory_roofline_pct", "compute_roofline_pct"}
    assert speed.read([], {})[0] == {}


def test_what_limits_a_case() -> None:
    assert speed.limit(SMALL, WORK) == "memory"
    assert speed.limit(LARGE, WORK) == "compute"
    assert speed.limit(SMALL, {}) == "memory"  # half an operation a byte: no machine computes that slowly
    assert speed.limit(LARGE, {}) == ""
    assert speed.limit(CaseTime("only", 2, 3, 33), {}) == ""
