"""What the audits' samples say of a gain, at and around each bound."""

from math import exp, log
from random import Random

import pytest

from kpd.measure.audits import (
    AuditSamples,
    FreshCase,
    alone_gain,
    fresh_gain,
    has_clock,
    refuse_clock,
    refuse_gain,
    summary,
)
from kpd.measure.samples import CaseSample, DriverClock, ProcessSample
from kpd.model.audits import AuditedGain, AuditSummary
from kpd.model.faults import ClockForged, GainNotHeld
from kpd.model.verdicts import Gain
from kpd.text.audits import summary as told
from kpd.text.faults import fault

HALF_OF_36 = 20.0
"""A gain whose logarithm is half of that of 36 %: 0.8 · 0.8 = 0.64."""


def audited(high: float) -> AuditedGain:
    return AuditedGain(high - 2, high - 4, high)


def process(number: int, wall_ns: int, waited_ns: int = 0, spent_ns: int = 0, batch: int = 1_000_000) -> ProcessSample:
    clock = DriverClock(wall_ns, waited_ns, spent_ns)
    return ProcessSample(number, {"case": CaseSample(1, (batch,) * 50, (batch,) * 50, clock=clock)})


@pytest.mark.parametrize(("high", "held"), [(HALF_OF_36 + 0.01, True), (HALF_OF_36 - 0.01, False)])
@pytest.mark.parametrize("audit", ["fresh", "alone"])
def test_half_of_the_gain_must_be_possible_in_each_audit(audit: str, high: float, held: bool) -> None:
    good, this = audited(36.0), audited(high)
    found = AuditSummary(this if audit == "fresh" else good, good if audit == "fresh" else this, 160, 8, 1.5)
    refused = refuse_gain(found, Gain(40.0, 36.0, 44.0))
    if held:
        assert refused is None
    else:
        assert isinstance(refused, GainNotHeld)
        assert refused.audit == audit
        assert "+36.0 %" in fault(refused)


def test_a_gain_without_bound_can_be_refused() -> None:
    found = AuditSummary(audited(100.0), audited(0.0), 160, 8, 1.5)
    refused = refuse_gain(found, Gain(100.0, 100.0, 100.0))
    assert refused is not None
    assert refused.audit == "alone"


def test_the_gain_on_fresh_inputs_counts_cases_by_their_weights() -> None:
    cases = {
        "same": FreshCase(1, 1, True, (100,) * 20, (100,) * 20),
        "half": FreshCase(1, 1, True, (100,) * 20, (50,) * 20),
    }
    assert fresh_gain(cases, {"same": 1.0, "half": 1.0}).pct == pytest.approx(100 * (1 - 0.5**0.5))
    assert fresh_gain(cases, {"same": 0.0, "half": 3.0}).pct == pytest.approx(50.0)


def test_a_few_disturbed_calls_do_not_move_the_gain_on_fresh_inputs() -> None:
    times = [100] * 17 + [100_000] * 3
    found = fresh_gain({"case": FreshCase(1, 1, True, (200,) * 20, tuple(times))}, {"case": 1.0})
    assert found.pct == pytest.approx(50.0)


@pytest.mark.parametrize("gain_pct", [2.0, 10.0, 50.0])
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_a_gain_that_is_there_is_hardly_ever_refused(gain_pct: float, noise: float) -> None:
    rng = Random(17)
    quick = log(1 - gain_pct / 100)
    refused = 0
    for _ in range(300):

        def level(side: float) -> int:
            return round(1e6 * exp(side + rng.gauss(0, noise)))

        fresh = FreshCase(1, 1, True, tuple(level(0) for _ in range(40)), tuple(level(quick) for _ in range(40)))
        contest = [ProcessSample(n, {"case": CaseSample(1, (level(0),), (level(quick),))}) for n in range(9)]
        alone = tuple(ProcessSample(n, {"case": CaseSample(1, *(((level(n % 2 * quick),),) * 2))}) for n in range(8))
        found = summary(AuditSamples({"case": fresh}, alone, 0.5, 1.0), contest)
        refused += refuse_gain(found, Gain(gain_pct, 0.8 * gain_pct, 1.2 * gain_pct)) is not None
    assert refused <= 3


def test_each_kernel_alone_is_compared_across_processes() -> None:
    contest = [ProcessSample(n, {"case": CaseSample(1, (1000 + n,), (500 + n,))}) for n in range(9)]
    alone = [ProcessSample(n, {"case": CaseSample(10, *(((5000 if n % 2 else 7000) + n,),) * 2)}) for n in range(8)]
    assert alone_gain(alone, contest).pct == pytest.approx(100 * (1 - 5 / 7), abs=0.1)


def test_samples_that_last_longer_than_their_timing_are_forged() -> None:
    right = [process(n, 100_000_000, spent_ns=100_000_000) for n in range(9)]
    forged = process(9, 95_000_000), process(10, 95_000_000)
    assert refuse_clock(right) is None
    assert refuse_clock([*right, forged[0]]) is None, "one may be an accident"
    found = refuse_clock([*right, *forged])
    assert isinstance(found, ClockForged)
    assert (found.summed_ms, found.wall_ms, found.processes, found.of) == (100.0, 95.0, 2, 11)
    assert "in 2 of 11 processes" in fault(found)
    edge = [process(n, 95_238_096) for n in range(2)]
    assert refuse_clock(edge) is None, "five percent are allowed"


@pytest.mark.parametrize(("count", "forged"), [(8, True), (7, False)])
def test_a_timing_that_is_longer_than_its_batches_counts_where_all_processes_show_it(count: int, forged: bool) -> None:
    slow = [process(n, 112_000_000, spent_ns=100_000_000) for n in range(count)]
    right = [process(n, 106_000_000, spent_ns=100_000_000) for n in range(count, 8)]
    assert (refuse_clock([*slow, *right]) is not None) == forged


def test_time_in_which_others_had_the_cpu_is_not_held_against_a_candidate() -> None:
    assert refuse_clock([process(n, 150_000_000, 45_000_000, 100_000_000) for n in range(9)]) is None


def test_disturbed_processes_and_samples_without_the_drivers_clock_say_nothing() -> None:
    old = ProcessSample(0, {"case": CaseSample(1, (1,), (1,))})
    assert not has_clock(old)
    assert refuse_clock([old, old]) is None
    tainted = ProcessSample(1, process(1, 1).cases, "other work")
    assert refuse_clock([tainted, tainted]) is None


def test_a_gpus_own_clock_is_compared_in_one_direction() -> None:
    assert refuse_clock([process(n, 900_000_000) for n in range(9)]) is None


def test_the_audits_are_told_on_one_line() -> None:
    line = told(AuditSummary(AuditedGain(35.0, 33.0, 37.0), AuditedGain(36.0, 30.0, 42.0), 160, 8, 1.44))
    assert line == (
        "+35.0 % [+33.0, +37.0] over 160 calls of each kernel on fresh inputs, 8 compared; "
        "+36.0 % [+30.0, +42.0] one kernel at a time; 1.4 s"
    )
