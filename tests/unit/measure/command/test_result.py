"""What a benchmark printed, as a score: the last JSON object, or Kernelking's lines; and nothing that is no number."""

import json
import math
import string

import pytest
from hypothesis import given, strategies as st

from kpd.measure.command.result import BadResult, CaseResult, approved, last_object, result
from kpd.measure.command.shape import NotEverywhere, ResultShape, values_at

LOGS = st.text(string.ascii_letters + string.digits + " .:=[]'\"\n", max_size=200)
SCORES = st.floats(1e-9, 1e9)
NAMES = st.text(string.ascii_letters + string.digits + "_ x", min_size=1, max_size=20).map(str.strip).filter(bool)
OBJECTS = st.dictionaries(
    st.text(max_size=5), st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=9)
)


@given(LOGS, OBJECTS, st.sampled_from([None, 1, 2]), st.sampled_from(["", "\n", "\ndone in 3 s\n", "\r\n"]))
def test_the_last_object_is_found_behind_any_log(log: str, table: dict[str, object], indent: int, after: str) -> None:
    first = json.dumps({"not": "this"})
    assert last_object(f"{log}\n{first}\n{json.dumps(table, indent=indent)}{after}") == table


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(said: str) -> None:
    found = last_object(said)
    assert found is None or isinstance(found, dict)
    with pytest.raises(BadResult):
        result(said, ResultShape("no such key"))


@given(SCORES, st.dictionaries(NAMES, st.tuples(SCORES, st.none() | SCORES), max_size=5))
def test_scores_and_cases_come_back(score: float, cases: dict[str, tuple[float, float | None]]) -> None:
    rows = [{"name": name, "us": us, "device_us": device} for name, (us, device) in cases.items()]
    found = result(json.dumps({"best_us": score, "cases": rows, "ok": True}), ResultShape("best_us"))
    assert found.score == score
    assert found.cases == {name: CaseResult(us, device) for name, (us, device) in cases.items()}
    short = {name: us for name, (us, _) in cases.items()}
    assert {
        name: case.us for name, case in result(json.dumps({"s": 1, "cases": short}), ResultShape("s")).cases.items()
    } == short


@given(st.dictionaries(NAMES, st.integers(1, 10**9), min_size=1, max_size=5))
def test_kernelkings_lines_are_cases_and_their_geometric_mean_the_score(thousandths: dict[str, int]) -> None:
    lines = [f"KK_TIMING name={name} median_us={n / 1000:.3f}" for name, n in thousandths.items()]
    found = result("compiling\n" + "\n".join(lines) + "\n", ResultShape("best_us"))
    assert {name: case.us for name, case in found.cases.items()} == {name: n / 1000 for name, n in thousandths.items()}
    mean = math.exp(math.fsum(math.log(n / 1000) for n in thousandths.values()) / len(thousandths))
    assert found.score == pytest.approx(mean)


def test_dims_are_those_that_can_be_sizes() -> None:
    case = {"name": "a", "us": 1, "dims": {"rows": 4096, "half": 0.5, "yes": True, "huge": 1 << 70, "less": -1}}
    assert result(json.dumps({"s": 1, "cases": [case]}), ResultShape("s")).cases["a"].dims == {"rows": 4096}


REFUSED = {
    "": "neither a JSON object nor KK_TIMING lines",
    "87.3": "neither",
    "[1, 2]": "neither",
    '  {"best_us": 1}': "neither",
    '{"best_us": 1} and more': "neither",
    '{"best_us": 1': "neither",
    "{" * 5000: "neither",
    '{"a":' * 3000: "neither",
    "{}": "no 'best_us', but nothing",
    '{"us": 1, "ok": true}': "no 'best_us', but ok, us",
    '{"best_us": NaN}': "is nan, which is not a positive finite number",
    '{"best_us": Infinity}': "is inf",
    '{"best_us": 1e999}': "is inf",
    '{"best_us": -1}': "is -1",
    '{"best_us": 0}': "is 0",
    '{"best_us": true}': "is True",
    '{"best_us": "1"}': "is '1'",
    '{"best_us": null}': "is None",
    '{"best_us": [1]}': r"is \[1\]",
    '{"best_us": 1' + "0" * 400 + "}": "is 1000",
    '{"best_us": 1' + "0" * 5000 + "}": "neither",
    '{"best_us": 1, "ok": false}': '"ok": false',
    '{"best_us": 1, "correct": false, "error": "row 7 is off"}': "^row 7 is off$",
    '{"best_us": 1, "ok": null}': '"ok": null',
    '{"best_us": 1, "cases": 3}': "neither a list of objects nor an object",
    '{"best_us": 1, "cases": [3]}': "neither a list",
    '{"best_us": 1, "cases": [{"name": "a\\u001b[1m", "us": 1}]}': "printable",
    '{"best_us": 1, "cases": [{"name": "a", "us": 1}, {"name": "a", "us": 1}]}': "'a' twice",
    '{"best_us": 1, "cases": [{"name": "a", "us": null}]}': "'us' of the case 'a' in its result is None",
    '{"best_us": 1, "cases": {"a": false}}': "'us' of the case 'a' in its result is False",
    '{"best_us": 1, "cases": [{"name": "a", "us": 1, "device_us": 0}]}': "'device_us' of the case 'a'",
    json.dumps({"best_us": 1, "cases": {str(n): 1 for n in range(300)}}): "300 cases",
    "KK_TIMING name=a median_us=nan": "is nan",
    "KK_TIMING name=a median_us=fast": "is 'fast'",
    "KK_TIMING name=a median_us=5\nKK_TIMING name=a median_us=1": "KK_TIMING of 'a' twice",
    'KK_TIMING name=a median_us=5\n{"best_us": 0.001}': "KK_TIMING lines and a JSON object with 'best_us'",
    'KK_TIMING name=a median_us=5\n{"best_us": 1, "cases": {"b": 1}}': "that has other cases",
}


@pytest.mark.parametrize("said", REFUSED, ids=lambda said: said[:40])
def test_what_is_no_result_is_refused_in_words(said: str) -> None:
    with pytest.raises(BadResult, match=REFUSED[said]):
        result(said, ResultShape("best_us"))


def test_the_last_of_two_results_counts_and_a_log_that_looks_like_one_does_not() -> None:
    said = '{"best_us": 3}\n{"best_us": 2}\n{"cut off": \nepoch {"best_us": 1}\n'
    assert result(said, ResultShape("best_us")).score == 2


def test_both_formats_may_tell_of_the_same_cases() -> None:
    said = 'KK_TIMING name=a median_us=5\n{"best_us": 4.9, "cases": {"a": 5}}\n'
    assert result(said, ResultShape("best_us")).score == 4.9
    assert result('KK_TIMING name=a median_us=5\n{"ok": true}', ResultShape("best_us")).score == pytest.approx(5)


def test_a_verdict_that_is_true_is_no_complaint() -> None:
    assert all(claim.good for claim in approved({"ok": True, "correct": True}, ResultShape("best_us")))
    with pytest.raises(BadResult, match=r"^two lines$"):
        approved({"ok": False, "reason": " two\n lines "}, ResultShape("best_us"))


@pytest.mark.parametrize(
    ("table", "confirmed"),
    [
        ({"ok": True}, True),
        ({"cases": [{"name": "a", "us": 1, "verified": "yes"}]}, True),
        ({"errors": []}, False),
        ({"max_error": 1e-6}, False),
    ],
)
def test_only_a_result_that_says_so_is_confirmed(table: dict[str, object], confirmed: bool) -> None:
    assert result(json.dumps({"best_us": 1, **table}), ResultShape("best_us")).confirmed is confirmed


SHAPE = ResultShape(
    "summary.rate", cases="rows", name="shape", times=("p50",), unit="ms", verdict="verification",
    verdict_good=("Bit Exact",), good=frozenset(("bit exact",)),
)  # fmt: skip
PRINTED = {"verification": "bit exact", "summary": {"rate": 5120}, "rows": [{"shape": "1x4", "p50": 0.5}]}


def shaped(**changed: object) -> str:
    return json.dumps({**PRINTED, **changed})


def test_a_result_of_another_shape_is_read_where_the_task_says() -> None:
    found = result(shaped(), SHAPE)
    assert found.score == 5120
    assert found.cases == {"1x4": CaseResult(500.0)}
    assert found.confirmed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"verification": "exact"}, '"verification": exact'),
        ({"verification": ["bit exact", "bit exact", "off by one"]}, "verification"),
        ({"verification": None}, '"verification": null'),
        ({"summary": {"rates": 1}}, "no 'summary.rate', but rows, summary, verification"),
        ({"summary": [1]}, "no 'summary.rate'"),
        ({"summary": {"rate": "fast"}}, "'summary.rate' in its result is 'fast'"),
        ({"rows": 3}, "'rows' in its result is neither a list of objects nor an object"),
        ({"rows": [{"shape": "a", "p50": 0}]}, "'p50' of the case 'a' in its result is 0"),
        ({"errors": ["case 1x4: 3 of 4 wrong", "and more"]}, "^case 1x4: 3 of 4 wrong; and more$"),
    ],
)
def test_a_result_that_is_not_as_the_task_says_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(BadResult, match=message):
        result(shaped(**changed), SHAPE)


def test_without_the_verdict_that_the_task_names_nothing_is_believed() -> None:
    with pytest.raises(BadResult, match="no 'verification', where"):
        result(json.dumps({name: value for name, value in PRINTED.items() if name != "verification"}), SHAPE)


def test_entries_without_a_name_or_a_time_are_left_out_and_told() -> None:
    rows = [{"shape": "a", "p50": 1}, {"shape": "b"}, {"p50": 2}, {"note": "warm-up"}]
    found = result(shaped(rows=rows), SHAPE)
    assert (list(found.cases), found.unread) == (["a"], ("b", "rows[2]", "rows[3]"))


@pytest.mark.parametrize("key", ["us", "best_us", "median_us"])
def test_usual_keys_of_a_time_need_no_word_of_the_task(key: str) -> None:
    rows = [{"name": "a", key: 7}, {"name": "b", key: 8}]
    found = result(json.dumps({"score": 1, "cases": rows, "status": "passed"}), ResultShape("score"))
    assert {name: case.us for name, case in found.cases.items()} == {"a": 7, "b": 8}


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20))
def test_a_score_of_many_places_is_their_geometric_mean(times: list[float]) -> None:
    said = json.dumps({"ok": True, "runs": [{"us": time} for time in times]})
    assert result(said, ResultShape("runs[*].us")).score == pytest.approx(
        math.prod(t ** (1 / len(times)) for t in times)
    )


@given(OBJECTS, st.text("ab.[*]0", max_size=8))
def test_any_place_can_be_looked_up(table: dict[str, object], place: str) -> None:
    try:
        found = values_at(table, place)
    except NotEverywhere:
        return
    assert place not in table or found == [table[place]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"us": 1}, {"failed": False}], r"1 of 2 entries of its result lack 'rows\[\*\]\.us'"),
        ([{"us": 1}] * 10_001, "are more than 10000 values"),
    ],
)
def test_a_place_has_to_be_in_every_entry(rows: list[object], message: str) -> None:
    with pytest.raises(BadResult, match=message):
        result(json.dumps({"ok": True, "rows": rows}), ResultShape("rows[*].us"))
    assert result(json.dumps({"ok": True, "rows": [{"us": 1}] * 10_000}), ResultShape("rows[*].us")).score == 1


def test_many_blank_lines_cost_no_time() -> None:
    with pytest.raises(BadResult, match="neither"):
        result("\n" * (256 << 10), ResultShape("us"))


def test_a_score_below_a_word_on_correctness_claims_nothing() -> None:
    said = json.dumps({"verification": {"passed": True, "best_us": 41.5}})
    assert result(said, ResultShape("verification.best_us")).score == 41.5
