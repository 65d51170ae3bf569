"""The roofline's arithmetic agrees with Python's, and nothing else is let through."""

import math

import pytest
from hypothesis import given, strategies as st

from kpd.workspace.expr import ExprError, condition, parse

DIMS = {"rows": 7, "cols": 1031, "n": 3}

numbers = st.one_of(st.integers(0, 10**6), st.floats(0, 1e6, allow_nan=False)).map(repr)
leaves = st.one_of(numbers, st.sampled_from(sorted(DIMS)))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=6,
).filter(lambda text: len(text) <= 200)


@given(expressions)
def test_agrees_with_python(text: str) -> None:
    try:
        expected = float(eval(text, {"__builtins__": {}}, dict(DIMS)))
    except (ZeroDivisionError, OverflowError):
        with pytest.raises(ExprError):
            parse(text).evaluate(DIMS)
        return
    if math.isfinite(expected):
        assert parse(text).evaluate(DIMS) == expected
    else:
        with pytest.raises(ExprError):
            parse(text).evaluate(DIMS)


@given(st.text(max_size=250))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        parsed = parse(text)
    except ExprError:
        return
    assert all(name.isidentifier() for name in parsed.names)


@pytest.mark.parametrize(
    "text",
    [
        "rows**9", "rows.real", "f(rows)", "[rows]", "rows if 1 else 2", "'a'*9", "True", "1j", "rows;1",
        "rows and 1", "rows < 2", "lambda: 1", "~rows", "+rows", "(x := 1)", "rows[0]", "f'{rows}'", "", "(" * 150,
        "1" * 201, "1/0", "1e999",
    ],
)  # fmt: skip
def test_what_is_not_allowed(text: str) -> None:
    with pytest.raises(ExprError):
        parse(text)


def test_unknown_names_and_infinite_values() -> None:
    with pytest.raises(ExprError, match=r"unknown name 'depth' in 'rows\*depth': a case has cols, n, rows"):
        parse("rows*depth").evaluate(DIMS)
    with pytest.raises(ExprError, match="no value"):
        parse("rows // (n - 3)").evaluate(DIMS)
    with pytest.raises(ExprError, match="no finite value"):
        parse("*".join(["1e99"] * 9)).evaluate(DIMS)
    assert parse("rows*cols*8").names == {"rows", "cols"}


POINT = {"TILE": "32", "VEC": "8", "mode": "fast", "KEEP": "true"}
comparisons = st.tuples(
    st.sampled_from(["TILE", "VEC", "4", "256"]), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    st.sampled_from(["TILE * VEC", "TILE % VEC", "31", "32", "33"]),
).map(" ".join)  # fmt: skip
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join), inner.map(lambda text: f"not ({text})")
    ),
    max_leaves=4,
)


@given(conditions)
def test_a_condition_agrees_with_python(text: str) -> None:
    assert condition(text).holds(POINT) == eval(text, {"__builtins__": {}}, {"TILE": 32, "VEC": 8})


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("mode == 'fast'", True), ("mode != 'slow'", True), ("KEEP == 'true' and TILE == 32", True),
        ("mode < 3", False), ("mode * 3 == 'fastfastfast'", False), ("TILE / (VEC - 8) > 0", False),
        ("8 <= VEC < 16", True), ("8 < VEC < 16", False),
    ],
)  # fmt: skip
def test_words_and_what_has_no_value(text: str, holds: bool) -> None:
    assert condition(text).holds(POINT) is holds


@pytest.mark.parametrize(
    "text", ["TILE", "TILE + 1", "f(TILE) < 1", "TILE in (1, 2)", "TILE is 1", "1 < 2 if TILE else 3"]
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ExprError, match=r"is no condition|is not allowed"):
        condition(text)
