"""What calls on fresh inputs say of a gain where they follow one another, as in a contest."""

from dataclasses import replace

import pytest

from kpd.measure.audits import AuditSamples, joined, refuse_gain, summary, wants_rows
from kpd.measure.fresh_cases import FreshCase, Rows
from kpd.measure.fresh_gains import FEW_ROWS, gain_in_rows
from kpd.measure.judge import percent
from kpd.measure.samples import CaseSample, ProcessSample
from kpd.model.audits import AuditedGain, AuditSummary
from kpd.model.faults import GainNotHeld
from kpd.model.verdicts import Gain
from tests.support.measure.contested import contested

CLAIMED = Gain(percent(1.0), percent(1.0), percent(1.2))
"""A logarithm of 1."""
ALL = AuditedGain(percent(1.0), percent(0.9), percent(1.1))


def audited(log: float, more: float = 0.0) -> AuditedGain:
    """Sure of that logarithm, but for so much more."""
    return AuditedGain(percent(log), percent(log), percent(log + more))


def found(single: AuditedGain, rows: AuditedGain | None) -> AuditSummary:
    return AuditSummary(single, ALL, 160, 8, 1.5, rows=rows)


@pytest.mark.parametrize(("single", "held"), [(0.251, True), (0.249, False)])
def test_a_quarter_of_a_gain_must_be_possible_one_by_one(single: float, held: bool) -> None:
    refused = refuse_gain(found(audited(single), ALL), CLAIMED)
    assert (refused is None) == held
    assert held or (isinstance(refused, GainNotHeld) and refused.pct == percent(single))


@pytest.mark.parametrize(("rows", "held"), [(0.801, True), (0.799, False)])
def test_four_fifths_of_it_must_be_possible_in_a_row(rows: float, held: bool) -> None:
    refused = refuse_gain(found(audited(0.6), audited(rows)), CLAIMED)
    assert (refused is None) == held
    assert held or (isinstance(refused, GainNotHeld) and (refused.audit, refused.pct) == ("fresh", percent(rows)))


def test_what_is_there_one_by_one_needs_no_row() -> None:
    assert refuse_gain(found(audited(0.9), None), CLAIMED) is None
    assert refuse_gain(found(audited(0.6), None), CLAIMED) is not None


@pytest.mark.parametrize(
    ("single", "more", "wanted"),
    [
        (0.799, 0.0, True),
        (0.801, 0.0, False),
        (0.251, 0.0, True),
        (0.249, 0.0, False),
        (0.2, 0.06, True),
        (0.2, 0.04, False),
    ],
)
def test_rows_are_taken_where_some_is_missing_and_a_quarter_is_possible(
    single: float, more: float, wanted: bool
) -> None:
    assert wants_rows(found(audited(single, more), None), CLAIMED) == wanted


def test_no_rows_are_taken_where_each_kernel_has_a_process_of_its_own() -> None:
    assert not wants_rows(AuditSummary(audited(0.6), ALL, 160, 8, 1.5, apart=True), CLAIMED)


def case(b_ns: int, rows: Rows | None) -> FreshCase:
    return FreshCase(1, 4, True, (1000,) * 20, (b_ns,) * 20, (1000,) * 20, (b_ns,) * 20, rows=rows)


def test_the_gain_in_rows_has_single_calls_where_a_contest_has_no_row() -> None:
    contest = contested((1000, 500), (1000, 500))
    cases = {"same": case(800, Rows(8, 3, (8000,) * 3, (4000,) * 3)), "half": case(500, None)}
    gain = gain_in_rows(cases, contest)
    assert gain is not None and gain.pct == pytest.approx(50.0)
    assert gain_in_rows({name: replace(one, rows=None) for name, one in cases.items()}, contest) is None


@pytest.mark.parametrize(("rows", "wide"), [(FEW_ROWS, True), (FEW_ROWS + 1, False)])
def test_of_few_rows_all_but_one_may_be_disturbed(rows: int, wide: bool) -> None:
    cases = {"same": case(800, Rows(8, rows, (8000,) * rows, (3000,) + (7000,) * (rows - 1)))}
    found = gain_in_rows(cases, contested((1000, 500)))
    assert found is not None and found.pct == pytest.approx(12.5)
    assert (found.high >= 62.5) == wide


def test_rows_of_two_audits_are_joined() -> None:
    alone = tuple(ProcessSample(n, {"same": CaseSample(1, *2 * (((1000, 500)[n % 2],) * 2,))}) for n in range(4))
    first = AuditSamples({"same": case(800, None)}, alone, 0.5, 1.0)
    second = AuditSamples({"same": case(800, Rows(8, 3, (8000,) * 3, (4000,) * 3))}, alone, 0.5, 1.0)
    third = AuditSamples({"same": case(800, Rows(7, 4, (7000,) * 4, (3500,) * 4))}, alone, 0.5, 1.0)
    assert joined(first, second).fresh["same"].rows == second.fresh["same"].rows
    both = joined(joined(first, second), third).fresh["same"].rows
    assert both == Rows(7, 7, (8000,) * 3 + (7000,) * 4, (4000,) * 3 + (3500,) * 4)
    told = summary(joined(joined(first, second), third), contested((1000, 500)))
    assert told.rows is not None and told.rows.pct == pytest.approx(50.0)
    assert (told.calls, told.compared) == (60 + 7 * 7, 12 + 7), "no more than there were"
