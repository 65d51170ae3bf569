"""What a benchmark's result claims about its correctness, in the words that benchmarks use."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.measure.command.correctness import BAD, GOOD, NO_TROUBLE, RIGHT, TROUBLE, WORDS, ResultClaim, claims

BAD_RESULTS: tuple[dict[str, Any], ...] = (
    {"status": "INCORRECT"},
    {"status": "error: row 7"},
    {"result": "FAIL"},
    {"verdict": "wrong answer"},
    {"outcome": "timeout"},
    {"passed": False},
    {"success": 0},
    {"verified": False},
    {"valid": None},
    {"correct": 0.5},
    {"correct": {"small": True, "large": False}},
    {"correct": [1, 1, 0]},
    {"correctness": {"passed": False, "max_error": 0.1}},
    {"ok": "false"},
    {"ok": float("nan")},
    {"ok": []},
    {"isCorrect": False},
    {"check_passed": "no"},
    {"error": "row 7 is off"},
    {"errors": ["row 7 is off"]},
    {"errors": 3},
    {"has_errors": True},
    {"failed": 1},
    {"mismatches": {"y": 3}},
    {"status": ["ok", "failed"]},
    {"cases": [{"name": "a", "ok": True}, {"name": "b", "us": 3.0, "ok": False}]},
    {"cases": {"a": {"us": 1.0, "checks": {"forward": {"verified": False}}}}},
)
GOOD_RESULTS: tuple[dict[str, Any], ...] = (
    {"ok": True},
    {"ok": 1},
    {"correct": 1.0},
    {"status": "PASS"},
    {"status": "Success"},
    {"status": "all tests passed"},
    {"verdict": "results match"},
    {"passed": "yes"},
    {"correct": {"small": True, "large": 1}},
    {"correctness": {"passed": True, "max_error": 1e-6, "seed": 0}},
    {"result": {"ok": True, "best_us": 3.0}},
    {"cases": [{"name": "a", "verified": True}, {"name": "b", "valid": True}]},
)
UNKNOWN: tuple[dict[str, Any], ...] = (
    {"status": "fine"},
    {"status": 0},
    {"status": "done"},
    {"result": "3 passed"},
    {"passed": 12, "failed": 0},
    {"verified": "通过"},
    {"ok": "within tolerance"},
)
SILENT: tuple[dict[str, Any], ...] = (
    {"result": 41.5},
    {"result": [1.5, 2.5]},
    {"num_correct": 512, "max_error": 1e-5, "error_rate": 0.5, "failures_per_s": 2},
    {"cases": {"valid": 12.5, "error": 3.0, "status": 1.0}},
    {"dims": {"rows": 4}, "device": "wrong"},
)


def goods(table: dict[str, Any], good: frozenset[str] = frozenset()) -> list[bool | None]:
    return [claim.good for claim in claims(table, "best_us", good)]


@pytest.mark.parametrize("table", BAD_RESULTS, ids=json.dumps)
def test_a_bad_word_is_found_wherever_it_stands(table: dict[str, Any]) -> None:
    assert False in goods({"best_us": 1.0, **table})


@pytest.mark.parametrize("table", GOOD_RESULTS, ids=json.dumps)
def test_a_good_result_claims_only_good_things_and_is_confirmed(table: dict[str, Any]) -> None:
    found = list(claims(table, "best_us"))
    assert {claim.good for claim in found} == {True}
    assert any(claim.confirms for claim in found)


@pytest.mark.parametrize("table", UNKNOWN, ids=json.dumps)
def test_a_word_that_kpd_does_not_know_is_neither(table: dict[str, Any]) -> None:
    assert None in goods(table)
    assert False not in goods(table)


@pytest.mark.parametrize("table", SILENT, ids=json.dumps)
def test_figures_and_names_of_cases_claim_nothing(table: dict[str, Any]) -> None:
    assert goods(table) == []


def test_a_lack_of_errors_is_good_but_confirms_nothing() -> None:
    found = list(claims({"error": None, "errors": [], "failed": 0, "failures": "none"}))
    assert [claim.good for claim in found] == [True] * 4
    assert not any(claim.confirms for claim in found)


def test_the_author_of_a_task_may_call_more_texts_good() -> None:
    good = frozenset({"fine", "3 passed", "12"})
    assert goods({"status": " Fine "}, good) == [True]
    assert goods({"result": "3 passed", "passed": 12}, good) == [True, True]
    assert goods({"status": "fined", "passed": 13, "ok": False}, good) == [None, None, False]


def test_a_claim_says_where_it_stands_and_what_is_said() -> None:
    table = {"cases": [{"name": "a"}, {"name": "b", "check": {"status": "Odd"}}]}
    assert list(claims(table)) == [ResultClaim("cases[1].check.status", "Odd", "word", None)]


def test_the_key_of_the_score_may_be_one_of_these_words() -> None:
    assert list(claims({"result": 5.0, "match": 0.5}, "match")) == []
    assert goods({"best_us": "wrong", "match": 0.5}) == [False]


CASED = st.sampled_from([str.lower, str.upper, str.title, str.swapcase])
FIGURES = st.floats(allow_nan=False) | st.integers() | st.text("xyz", max_size=4)
BAD_OF = {
    **{key: [False, None, 0, 0.5, -1, "", *sorted(BAD)] for key in sorted(RIGHT)},
    **{key: [False, None, "", *sorted(BAD)] for key in sorted(WORDS)},
    **{key: [True, 1, 0.25, "row 7", ["row 7"], {"y": 2}] for key in sorted(TROUBLE)},
}


@st.composite
def _bad_at_depth(draw: st.DrawFn) -> dict[str, Any]:
    key = draw(st.sampled_from(list(BAD_OF)))
    value: Any = draw(st.sampled_from(BAD_OF[key]))
    if isinstance(value, str):
        value = draw(CASED)(value)
    table = {**draw(st.dictionaries(st.text("abc", min_size=1), FIGURES, max_size=2)), draw(CASED)(key): value}
    for _ in range(draw(st.integers(0, 4))):
        inner: Any = [table] if draw(st.booleans()) else table
        table = {"ok": True, draw(st.sampled_from(["cases", "rows", "report", "results", "x"])): inner}
    return table


@given(_bad_at_depth())
def test_no_document_with_a_bad_word_passes_at_any_depth(table: dict[str, Any]) -> None:
    if isinstance(table.get("cases"), dict):  # there the keys are names of cases
        table = {"cases": [table["cases"]]}
    assert not all(goods(table))


@given(st.sampled_from(sorted(GOOD)), st.sampled_from(sorted(RIGHT | WORDS)), CASED)
def test_every_good_word_is_good_in_any_case_of_letters(word: str, key: str, cased: Any) -> None:
    assert goods({key: cased(word)}) == [True]


KEYS = st.sampled_from(["ok", "status", "errors", "cases", "a"])
VALUES = st.recursive(
    st.none() | st.booleans() | FIGURES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=20
)


@given(st.dictionaries(KEYS, VALUES))
def test_any_document_is_read(table: dict[str, Any]) -> None:
    assert all(claim.place and isinstance(claim.said, str) for claim in claims(table))


def test_a_deep_document_is_read_without_recursion() -> None:
    table: dict[str, Any] = {"ok": False}
    for _ in range(5000):
        table = {"a": table}
    assert goods(table) == [False]


def test_the_tables_do_not_contradict_each_other() -> None:
    assert not GOOD & BAD
    assert not RIGHT & TROUBLE
    assert "ok" in NO_TROUBLE
