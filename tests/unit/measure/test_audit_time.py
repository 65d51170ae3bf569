"""How many audits of a kernel on a CPU there is time for, and what becomes of a gain that they leave in doubt."""

import pytest
from msgspec import structs

from kpd.measure.audit_time import AIM_S, FIRST_LONGER_S, MOST_ALONE, MOST_S, NextJob, cut_short, next_job
from kpd.measure.audits import FEWEST_REFUSING, LEAST_SHARE, LOOKS, SMALL_PCT, AuditSamples, at_first
from kpd.measure.driver.audits import APART_MS, SEVERAL_MS
from kpd.measure.judge import percent
from kpd.measure.samples import ProcessSample
from kpd.model.audits import AuditedGain, AuditSummary
from kpd.model.verdicts import Gain
from kpd.text.faults import fault

CLAIMED = Gain(5.0, 4.9, 5.1)
THERE, DOUBT, GONE = AuditedGain(5.0, 4.9, 5.1), AuditedGain(2.0, -1.0, 5.0), AuditedGain(0.0, -0.1, 0.1)
ALONE = tuple(ProcessSample(n, {}) for n in range(2 * MOST_ALONE))


def taken(times: int = 3, fresh_s: float = 0.9, alone_s: float = 1.2) -> AuditSamples:
    """Audits of 0.3 s each, and either kernel timed alone twice, in 0.6 s each time."""
    return AuditSamples({}, ALONE, fresh_s, alone_s, times)


def told(fresh: AuditedGain = DOUBT, alone: AuditedGain = THERE, times: int = 3) -> AuditSummary:
    return AuditSummary(fresh, alone, 160, 8, 2.0, clocked=fresh, times=times)


@pytest.mark.parametrize(
    ("left_s", "job"),
    [
        (0.61, NextJob(2, 0, late=False)),
        (0.59, NextJob(1, 0, late=False)),
        (0.31, NextJob(1, 0, late=False)),
        (0.29, NextJob(0, 0, late=True)),
        (-1.0, NextJob(0, 0, late=True)),
    ],
)
def test_no_audit_begins_that_would_end_too_late(left_s: float, job: NextJob) -> None:
    assert next_job(taken(), told(), CLAIMED, MOST_S - left_s) == job


def test_audits_that_take_long_are_fewer_and_leave_the_gain_unaccepted() -> None:
    """Whatever makes them slow: a load or calls that take long in audits only."""
    assert next_job(taken(fresh_s=0.9), told(), CLAIMED, MOST_S - 0.8).times == 2
    assert next_job(taken(fresh_s=3.0), told(), CLAIMED, MOST_S - 0.8) == NextJob(0, 0, late=True)


def test_there_is_no_such_limit_where_both_kernels_are_in_one_process_or_are_callables() -> None:
    together = structs.replace(told(), clocked=None)
    assert next_job(taken(), together, CLAIMED, MOST_S + 1.0) == NextJob(2, 0, late=False)


@pytest.mark.parametrize(("left_s", "alone"), [(2.11, 2), (2.09, 0)])
def test_each_kernel_is_timed_alone_again_where_there_is_time_for_it(left_s: float, alone: int) -> None:
    assert next_job(taken(), told(alone=GONE), CLAIMED, MOST_S - left_s) == NextJob(2, alone, late=False)


@pytest.mark.parametrize(("alone", "late"), [(AuditedGain(0.0, -9.0, 9.0), False), (THERE, True)])
def test_of_a_small_gain_doubt_that_is_left_alone_only_refuses_nobody(alone: AuditedGain, late: bool) -> None:
    fresh = THERE if not late else DOUBT
    limit = MOST_S if late else AIM_S
    assert next_job(taken(), told(fresh, alone), CLAIMED, limit - 0.2) == NextJob(0, 0, late=late)


@pytest.mark.parametrize(("pct", "late"), [(SMALL_PCT - 0.01, False), (SMALL_PCT, True)])
def test_of_a_larger_one_it_does(pct: float, late: bool) -> None:
    seen, unsure = AuditedGain(pct, pct - 0.1, pct + 0.1), AuditedGain(0.0, -40.0, 40.0)
    assert next_job(taken(), told(seen, unsure), Gain(pct, pct - 0.1, pct + 0.1), MOST_S - 0.35).late == late


@pytest.mark.parametrize("times", [3, 5])
def test_what_is_missing_beyond_doubt_so_far_is_audited_on_so_that_it_is_refused(times: int) -> None:
    """Nothing is accepted any more, but what a candidate is told is sure."""
    job = next_job(taken(times), told(GONE, times=times), CLAIMED, MOST_S)
    assert job == NextJob((5 if times == 3 else FEWEST_REFUSING) - times, 0, late=True)


def test_a_first_audit_that_has_a_job_of_its_own_has_more_time_than_later_ones() -> None:
    assert round(FIRST_LONGER_S * 1000) == APART_MS - SEVERAL_MS
    large, one = Gain(SMALL_PCT, 9.9, 10.1), taken(1, fresh_s=0.3 + FIRST_LONGER_S)
    assert next_job(one, told(times=1), large, MOST_S - 0.61).times == 2
    assert next_job(one, told(times=1), large, MOST_S - 0.59).times == 1


@pytest.mark.parametrize(("share", "times"), [(LEAST_SHARE + 0.01, LOOKS[0]), (LEAST_SHARE - 0.01, LOOKS[1])])
def test_a_small_gain_that_its_contest_leaves_in_doubt_has_more_audits_in_the_first_job(
    share: float, times: int
) -> None:
    assert at_first(Gain(percent(0.05), percent(0.05 * share), 9.0)) == times
    assert at_first(Gain(percent(0.5), percent(0.5 * share), 60.0)) == 1, "a large one is settled by one"


@pytest.mark.parametrize("audit", ["fresh", "clocked"])
def test_who_ends_in_doubt_is_told_what_there_was_time_for(audit: str) -> None:
    sure = AuditedGain(5.0, 1.0, 9.0)
    found = cut_short(structs.replace(told(sure), **{audit: DOUBT}), CLAIMED)
    assert (found.audit, found.pct, found.taken, found.seconds) == (audit, 2.0, 3, MOST_S)
    said = fault(found)
    assert said.startswith("not confirmed: ")
    assert "could not be told in 15 s, in which there was time for 3 audits: +2.0 % [-1.0, +5.0]" in said
    assert "try again" in said
