"""Samples of quick processes change nothing once there are others, wherever they lie and whatever they say."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import assume, given, strategies as st

from kpd.measure import audits, score
from kpd.measure.audit_gains import steady_error
from kpd.measure.audits import AuditSamples
from kpd.measure.clocks import refuse_clock
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.judge import LOOKS, BadSamples, decide, judge
from kpd.measure.samples import CaseSample, ProcessSample, all_quick

NS = st.integers(1, 1 << 40)
NAMES = ("one", "other")
CALLS = (1000, 1100, 1050, 1010)


@st.composite
def batches(draw: st.DrawFn) -> CaseSample:
    a, b = (draw(st.lists(NS, min_size=2, max_size=2)) for _ in "ab")
    return CaseSample(draw(st.integers(1, 1000)), tuple(a), tuple(b), host_ns=(draw(st.floats(0, 1e9)), 1.0))


@st.composite
def near(draw: st.DrawFn) -> CaseSample:
    """A case whose candidate wins, loses or does neither."""
    b = draw(st.integers(850, 1050))
    return CaseSample(1, (1000, 1001), (b, b + 1))


def processes(cases: st.SearchStrategy[CaseSample], quick: bool, most: int) -> st.SearchStrategy[list[ProcessSample]]:
    one = st.builds(
        lambda taken, taint: ProcessSample(0, dict(zip(NAMES, taken, strict=True)), taint, quick=quick),
        st.tuples(cases, cases), st.sampled_from(["", "", "", "other work"]),
    )  # fmt: skip
    return st.lists(one, max_size=most)


@st.composite
def mixed(draw: st.DrawFn) -> tuple[ProcessSample, ...]:
    """Samples of both kinds, in any order."""
    quick = draw(processes(batches(), True, 9))
    others = draw(processes(near(), False, LOOKS[-1] + 2))
    return tuple(replace(one, process=number) for number, one in enumerate(draw(st.permutations(quick + others))))


def without_quick(samples: tuple[ProcessSample, ...]) -> tuple[ProcessSample, ...]:
    return tuple(sample for sample in samples if not sample.quick)


def told(compute: Callable[[tuple[ProcessSample, ...]], Any], samples: tuple[ProcessSample, ...]) -> Any:
    try:
        return compute(samples)
    except BadSamples as err:
        return str(err)


@given(mixed(), st.sampled_from([0.0, 0.9]))
def test_nothing_is_accepted_that_would_not_be_without_them(
    samples: tuple[ProcessSample, ...], worst_case: float
) -> None:
    others = without_quick(samples)
    if any(not sample.taint for sample in others):
        assert told(lambda given: judge(given, 1.0, worst_case), samples) == told(
            lambda given: judge(given, 1.0, worst_case), others
        )
        for thorough in (False, True):
            assert decide(samples, 1.0, thorough) == decide(others, 1.0, thorough)
        assert not all_quick(samples)
    elif sum(not sample.taint for sample in samples) >= LOOKS[0]:
        assert not judge(samples, 1.0, worst_case).accepted
        assert all_quick(samples)


@given(mixed())
def test_no_figure_that_is_told_is_another_one(samples: tuple[ProcessSample, ...]) -> None:
    others = without_quick(samples)
    assume(any(not sample.taint for sample in others))
    figures: list[Callable[[tuple[ProcessSample, ...]], Any]] = [
        score.score, lambda given: score.case_times(given, {}), score.implausible, refuse_clock,
    ]  # fmt: skip
    for figure in figures:
        assert told(figure, samples) == told(figure, others)


@given(mixed(), st.sampled_from([1, audits.MOST_AUDITS]), st.booleans())
def test_no_audit_finds_another_gain(samples: tuple[ProcessSample, ...], times: int, apart: bool) -> None:
    others = without_quick(samples)
    assume(sum(not sample.taint for sample in others) > 1)
    fresh = {name: FreshCase(1, 4, True, CALLS, CALLS[::-1], request_ns=300, apart=apart) for name in NAMES}
    cases = [CaseSample(1, (1000 + at,) * 2, (900,) * 2) for at in range(4)]
    alone = tuple(ProcessSample(at, dict.fromkeys(NAMES, case)) for at, case in enumerate(cases))
    audit = AuditSamples(fresh, alone, 0.5, 1.0, times)
    assert audits.summary(audit, samples) == audits.summary(audit, others)
    assert steady_error(samples) == steady_error(others)


def test_a_quick_process_may_lack_a_case() -> None:
    """The time on the device is all that is kept of it."""
    case, device = CaseSample(1, (1000, 1001), (900, 901)), (800.0, 700.0)
    quick = ProcessSample(0, {"one": replace(case, device_ns=device)}, quick=True)
    other = ProcessSample(1, dict.fromkeys(NAMES, case))
    one, last = score.case_times((quick, other), {})
    assert (one.device_us, last.device_us, one.candidate_us) == (0.7, None, last.candidate_us)
