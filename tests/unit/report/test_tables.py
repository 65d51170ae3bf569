"""The tables of a report, and what its charts are made of."""

from dataclasses import replace

import pytest

from kpd.model.status import Done, Stepping
from kpd.model.verdicts import Speedup
from kpd.report import charts, tables
from kpd.report.importance import LEAST_POINTS, importance
from kpd.report.tables import ReportedCandidate
from tests.support.recorded import recorded_facts


def rows_of(points: dict[tuple[str, str], float]) -> list[ReportedCandidate]:
    """Rows of a sweep over A and B, with the speed-up at each point."""
    found = next(tables.candidates(recorded_facts()))
    return [
        replace(
            found,
            iteration=replace(found.iteration, number=number, point={"A": a, "B": b}),
            over=Speedup(ratio, ratio * 0.99, ratio * 1.01),
        )
        for number, ((a, b), ratio) in enumerate(points.items(), 1)
    ]


def test_times_of_a_case_differ_by_the_paired_speed_up() -> None:
    for row in tables.cases(recorded_facts()):
        assert row.ratio is not None and row.before_us == pytest.approx(row.after_us * row.ratio)
        assert row.share_after is not None and row.share_before is not None
        assert row.share_after / row.share_before == pytest.approx(row.ratio)


def test_a_case_of_which_a_contest_is_missing_has_no_time_before() -> None:
    facts = recorded_facts()
    first = facts.line[0].number
    rows = tables.cases(replace(facts, details={n: found for n, found in facts.details.items() if n != first}))
    assert rows and all(row.before_us is None and row.ratio is None for row in rows)


def test_candidates_are_told_against_parent_and_baseline() -> None:
    rows = {row.iteration.number: row for row in tables.candidates(recorded_facts())}
    assert rows[0].against is None and rows[0].over is None
    assert rows[2].over is not None and rows[1].against is not None and rows[2].against is not None
    assert rows[2].over.ratio == pytest.approx(rows[1].against.ratio * rows[2].against.ratio)
    assert rows[4].over is None and "does not build" in rows[4].why


def test_what_is_under_way_is_not_a_row() -> None:
    facts = recorded_facts()
    *ended, last = facts.run.iterations
    under_way = replace(last, status=Stepping())
    rows = tuple(tables.candidates(replace(facts, run=replace(facts.run, iterations=(*ended, under_way)))))
    assert [row.iteration.number for row in rows] == [it.number for it in ended]
    assert isinstance(last.status, Done)


def test_counters_say_which_way_was_better() -> None:
    rows = {row.label: row for row in tables.counters(recorded_facts())}
    assert rows["useful bytes of stored sectors"].better is True
    assert rows["useful bytes of stored sectors"].before < rows["useful bytes of stored sectors"].after
    assert rows["shared memory a block"].better is None


def test_a_parameter_that_decides_matters_most() -> None:
    grid = {(a, b): 3.0 if a == "1" else 1.0 + 0.001 * int(b) for a in "123" for b in "1234"}
    shares = importance(rows_of(grid))
    assert shares["A"] > shares["B"] and sum(shares.values()) == pytest.approx(1)


def test_few_points_say_nothing_of_parameters() -> None:
    grid = {(a, b): 1.0 + int(a) for a in "12345678" for b in "1"}
    assert importance(rows_of(grid)) and list(importance(rows_of(grid))) == ["A"]
    del grid["8", "1"]
    assert len(grid) == LEAST_POINTS - 1
    assert importance(rows_of(grid)) == {}


def test_nothing_judged_has_no_chart() -> None:
    assert charts.progress([]) is None
    assert charts.case_times([]) is None
    assert charts.importances({}) is None
