"""What a benchmark printed: what is understood of it, and what is asked instead of guessed."""

import json
from typing import Any

import pytest

from kpd.imports.draft import Answers, toml
from kpd.imports.errors import ImportRefused, Unclear
from kpd.imports.reading import BenchmarkReading, understand
from kpd.workspace.strict import Document


def read(table: Any, *prefers: str, answers: Answers | None = None, **known: str) -> BenchmarkReading:
    return understand(json.dumps(table), prefers, known, answers or Answers())


@pytest.mark.parametrize(
    ("table", "score", "direction"),
    [
        ({"best_us": 4.0, "target_us": 2.0, "max_abs": 1.0, "seed": 7}, "best_us", "lower"),
        ({"best_ms": 4.0, "median_ms": 5.0, "runs_ms": [1, 2]}, "best_ms", "lower"),
        ({"metrics": {"mean_us": 4.0, "runs": 3}}, "metrics.mean_us", "lower"),
        ({"results": [{"name": "a", "mean_us": 4.0}, {"name": "b", "mean_us": 5.0}]}, "results[*].mean_us", "lower"),
    ],
)
def test_a_score_that_can_be_told(table: Any, score: str, direction: str) -> None:
    found = read(table)
    assert (found.score, found.direction) == (score, direction)


def test_what_the_format_prefers_comes_first() -> None:
    table = {"best_us": 4.0, "score": 5.0, "headline": {"geomean_speedup": 2.0}}
    assert read(table, "geomean_speedup").direction == "higher"
    assert read(table, "headline.geomean_speedup").value == 2.0
    assert read(table, answers=Answers(score="best_us")).value == 4.0


@pytest.mark.parametrize(
    ("table", "flag"),
    [
        ({"best_us": 4.0, "best_ms": 1.0}, "--score"),
        ({"n": 4.0, "m": 1.0}, "--score"),
        ({}, "--score"),
        ({"score": 4.0}, "--direction"),
    ],
)
def test_what_cannot_be_told_is_asked(table: Any, flag: str) -> None:
    with pytest.raises(Unclear) as asked:
        read(table)
    assert [question.flag for question in asked.value.questions] == [flag]


def test_several_objects_are_asked_about() -> None:
    said = '{"best_us": 1}\nwords\n{"best_us": 2}\n'
    with pytest.raises(Unclear, match="printed 2 JSON objects"):
        understand(said, (), {}, Answers())
    assert understand(said, (), {}, Answers(last=True)).value == 2
    assert understand('{"best_us": 1,\n"a": {\n}}\n', (), {}, Answers()).value == 1


@pytest.mark.parametrize(
    ("said", "quoted"),
    [("", "it printed nothing"), ("done in 4 us\n", "4 us"), ("[1, 2]\n", "[1, 2]"), ('{"best_us": \n', "best_us")],
)
def test_no_object_is_quoted(said: str, quoted: str) -> None:
    with pytest.raises(ImportRefused, match="printed no JSON object") as refused:
        understand(said, (), {}, Answers())
    assert quoted in str(refused.value)


def test_cases_have_a_name_and_a_time_in_a_unit() -> None:
    rows = [{"name": "a", "median_ms": 1.0, "status": "passed"}, {"name": "b", "median_ms": 2.0, "status": "passed"}]
    found = read({"median_ms": 2.0, "rows": rows})
    assert found.cases == {"at": "rows", "name": "name", "time": "median_ms"}
    assert (found.unit, found.names) == ("ms", ("a", "b"))
    assert found.confirmed and found.said == ("rows[0].status = passed", "rows[1].status = passed")
    for changed in ([{**rows[0], "name": 3}, rows[1]], [rows[0], {"name": "b"}], [{"name": "a", "best_cycles": 4}]):
        assert read({"median_ms": 2.0, "rows": changed}).cases == {}


def test_nothing_says_that_it_is_right() -> None:
    assert not read({"best_us": 1.0, "errors": []}).confirmed
    assert read({"best_us": 1.0, "state": "fine"}, answers=Answers(good=("Fine",))).confirmed


def test_toml_is_read_back_as_it_was(tmp_path: Any) -> None:
    tables = {
        "task": {"name": 'a"b\\c\x7f\n', "editable": ["é", "b"], "n": 1.5, "yes": True},
        "bench": {"cases": {"at": "x", "name y": "z"}, "list": [1, 2]}, "empty": {},
    }  # fmt: skip
    remarks = ["weak: a\n[task]\x1b", "assumed: é"]
    (tmp_path / "task.toml").write_text(toml(tables, remarks))
    assert (tmp_path / "task.toml").read_text().startswith("# weak: a [task] \n# assumed: é\n\n[task]\n")
    assert Document.read(tmp_path / "task.toml").table == {name: table for name, table in tables.items() if table}


def test_words_that_are_not_known_are_asked_about_together() -> None:
    said = json.dumps({"best_us": 3.0, "status": "done", "cases": [{"name": "a", "status": "shipshape"}]})
    with pytest.raises(Unclear) as asked:
        understand(said, (), {}, Answers())
    (question,) = asked.value.questions
    assert (question.flag, question.choices) == ("--good", ("done", "shipshape"))
    assert "status, cases[0].status: 'done', 'shipshape'" in question.text
    found = understand(said, (), {}, Answers(good=("done", "shipshape")))
    assert found.confirmed


def test_a_result_that_says_that_it_is_wrong_is_no_missing_check() -> None:
    said = json.dumps({"best_us": 3.0, "verdict": ["PASSED", "FAILED"]})
    with pytest.raises(Unclear, match=r'its result says that it is wrong: it says "verdict\[1\]": FAILED') as asked:
        understand(said, (), {}, Answers())
    assert asked.value.remedy == "correct the folder; if its kernel alone is at fault, say it with --baseline wrong"
    assert understand(said, (), {}, Answers(baseline="wrong")).score == "best_us"
