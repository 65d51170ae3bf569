"""Quick processes reject a candidate, and accept none: a kernel may have changed the clock that times them."""

from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from kpd.engine.attempt import Attempt
from kpd.measure import score
from kpd.measure.contest import contest
from kpd.measure.driver.joined import AHEAD, following
from kpd.measure.driver.timing import lines
from kpd.measure.judge import FEWEST, LOOKS, QUICK, decide, judge
from kpd.measure.samples import CaseSample, ProcessSample, deciding, samples_from_json, samples_to_json
from tests.support.measure.canned import Canned


def process(number: int, gain_pct: float, quick: bool, taint: str = "") -> ProcessSample:
    b = round(1_000_000 * (1 - gain_pct / 100))
    case = CaseSample(1, (1_000_000,) * 2, (b, b), device_ns=(900.0, 800.0) if quick else None)
    return ProcessSample(number, {"only": case}, taint, quick=quick)


def quick_ones(*gains: float) -> tuple[ProcessSample, ...]:
    return tuple(process(number, gain, True) for number, gain in enumerate(gains))


@given(st.lists(st.floats(-90, 90), min_size=2, max_size=LOOKS[-1]))
def test_quick_processes_accept_nothing_whatever_they_say(gains: list[float]) -> None:
    assert not judge(quick_ones(*gains), 1.0).accepted


@pytest.mark.parametrize(
    ("gains", "more"),
    [
        ([-9.9, -9.9], 1), ([-10.1, -10.1], 0), ([-1.0] * 3, 0), ([0.9] * 3, 2), ([0.9] * FEWEST, 0),
        ([1.1] * FEWEST, 2), ([1.1] * QUICK, LOOKS[0]), ([50.0] * QUICK, LOOKS[0]),
    ],
)  # fmt: skip
def test_they_end_a_contest_only_by_a_rejection(gains: list[float], more: int) -> None:
    assert decide(quick_ones(*gains), 1.0) == more


def test_once_there_are_others_these_alone_decide() -> None:
    samples = (*quick_ones(*[90.0] * QUICK), *(process(QUICK + number, 3.0, False) for number in range(9)))
    assert [decide(samples[:count], 1.0) for count in range(QUICK, len(samples) + 1)] == [
        2, 1, 1, 2, 1, 2, 1, 2, 1, 0,
    ]  # fmt: skip
    verdict = judge(samples, 1.0)
    assert (verdict.accepted, verdict.processes) == (True, 9)
    assert verdict.gain.pct == pytest.approx(3.0)
    assert samples_from_json(samples_to_json(samples)) == samples


def test_where_all_others_are_disturbed_the_quick_ones_are_what_there_is() -> None:
    disturbed = process(QUICK, 3.0, False, "other work")
    samples = (*quick_ones(*[1.1] * QUICK), disturbed)
    assert deciding(samples) == list(samples[:QUICK])
    assert decide(samples, 1.0) == LOOKS[0]


def test_the_time_on_the_device_is_kept_though_others_decide() -> None:
    (case,) = score.case_times((*quick_ones(5.0, 5.0), process(2, 3.0, False), process(3, 3.0, False)), {})
    assert (case.device_us, case.incumbent_device_us) == (0.8, 0.9)
    assert case.gain_pct == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("quick_ns", "processes"), [(2000, 2), (1000, FEWEST), (500, QUICK + 9)], ids=["slower", "the same", "faster"]
)
async def test_a_contest_goes_on_with_others_where_they_do_not_reject(quick_ns: int, processes: int) -> None:
    bench = Canned(has_quick=True, quick_ns=quick_ns)
    samples = await contest(bench, "a", "b", "r1.1-{}".format, 2.0, print, lambda samples: None)  # type: ignore[arg-type]
    assert len(samples) == processes
    assert judge(samples, 2.0).accepted == (processes > QUICK)


@pytest.mark.parametrize(("thorough", "quick", "processes"), [(True, QUICK, LOOKS[-1]), (False, 0, 9)])
async def test_a_contest_that_measures_has_none(thorough: bool, quick: int, processes: int) -> None:
    bench = Canned(has_quick=True)
    given = bench, "a", "b", "r1.1-{}".format, 2.0, print, lambda samples: None, thorough, quick
    samples = await contest(*given)  # type: ignore[arg-type]
    assert [sample.quick for sample in samples] == [False] * processes


@pytest.mark.parametrize(
    ("is_baseline", "confirming", "thorough", "quick"),
    [
        (False, "", False, QUICK), (True, "", False, 0), (False, "end", False, 0), (False, "decision", False, 0),
        (False, "floor", False, 0), (False, "", True, 0),
    ],
)  # fmt: skip
def test_only_what_may_be_rejected_has_them(is_baseline: bool, confirming: str, thorough: bool, quick: int) -> None:
    """A baseline's score and noise, and a number against it, are measured by kpd's own clock."""
    iteration = SimpleNamespace(confirming=confirming, thorough=thorough)
    attempt = SimpleNamespace(is_baseline=is_baseline, iteration=iteration)
    assert vars(Attempt)["quick"].fget(attempt) == quick


@pytest.mark.parametrize("quick", [0, QUICK])
async def test_what_follows_a_check_has_as_many_and_its_audits_where_a_clear_gain_is_accepted(quick: int) -> None:
    samples = await contest(Canned(), "a", "b", "r1.1-{}".format, 2.0, print, lambda samples: None)  # type: ignore[arg-type]
    kinds = [line.split()[-1] for line in following(quick, b"its audit\n").splitlines()]
    clear = quick + len(samples)
    assert kinds[clear] == b"audit" and kinds.count(b"audit") == 1 and len(kinds) == AHEAD + 1
    kinds = [line.split()[2] for line in following(quick).splitlines()]
    assert kinds == [b"q"] * quick + [b"-"] * (AHEAD - quick)


def test_processes_with_numbers_below_are_told_to_be_quick() -> None:
    def kinds(first: int, quick: int) -> list[str]:
        return [line.split()[2].decode() for line in lines(first, 3, quick=quick).splitlines()]

    assert kinds(0, 2) == ["q", "q", "-"]
    assert kinds(1, 2) == ["q", "-", "-"]
    assert kinds(0, 0) == ["-"] * 3
