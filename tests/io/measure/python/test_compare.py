"""Comparison and layouts of outputs, without a process."""

import sys

import numpy
import pytest

from kpd.measure.python.host.arrays import Layout, described
from kpd.measure.python.host.compare import BLOCK, HOPELESS, NATIVE, VANISHED, compare, errors
from kpd.measure.python.host.rules import CompareRule

AT = ("case", "normal", "out")
BOUNDS = {"case": {"normal": {"out": (1e-6, 1e-6, 1e-6, 0.0)}}}
WANT = [1.0, 2.0, 3.0, 4.0]


@pytest.fixture(params=[True, False], ids=["numpy", "plain"], autouse=True)
def _library(request, monkeypatch) -> None:
    if not request.param:
        monkeypatch.delitem(sys.modules, "numpy")


def worst(kind: str, got: list[float], want: list[float], dtype: str = "float32") -> tuple[float, int]:
    make = numpy.array if "numpy" in sys.modules else list
    layout = Layout("numpy", dtype, (len(got),), (1,), 4)
    found = compare(CompareRule(kind, 1e-5, 1e-6, 4, False, BOUNDS), layout, make(got), make(want), AT)
    return found.worst, found.wrong


@pytest.mark.parametrize("kind", ["elementwise", "norm", "ulp", "exact"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_but_should_be_is_as_wrong_as_can_be(kind: str, bad: float) -> None:
    assert worst(kind, WANT, WANT) == (0.0, 0)
    assert worst(kind, [1.0, bad, 3.0, 4.0], WANT) == (HOPELESS, 1)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("compared", ["elementwise", "norm", "ulp", "scaled"])
@pytest.mark.parametrize(
    ("rule", "kind", "got", "want", "wrong"),
    [
        ("propagate", "normal", NAN, NAN, 0),
        ("propagate", "normal", NAN, INF, 1),
        ("propagate", "normal", 1.0, NAN, 1),
        ("propagate", "normal", NAN, 2.0, 1),
        ("propagate", "large", INF, 1e39, 0),  # what leaves the range of the type is infinite there
        ("propagate", "large", -INF, 1e39, 1),
        ("kept", "NaN", INF, NAN, 0),
        ("kept", "+Inf", NAN, 2.0, 0),
        ("kept", "NaN", 2.0, NAN, 1),
        ("kept", "-Inf", 1.0, -INF, 1),
        ("kept", "NaN", 2.0, 2.0, 0),
        ("kept", "NaN", 2.5, 2.0, 1),
        ("kept", "normal", NAN, 2.0, 1),  # only where inputs were given such a value
        ("kept", "normal", 2.0, NAN, 0),
        ("any", "NaN", 2.0, NAN, 0),
    ],
)
def test_what_is_not_finite_is_found_or_kept_as_the_rule_says(
    compared: str, rule: str, kind: str, got: float, want: float, wrong: int
) -> None:
    make = numpy.array if "numpy" in sys.modules else list
    how = CompareRule(compared, 1e-5, 1e-6, 4, rule == "propagate", {}, rule == "kept")
    layout, at = Layout("numpy", "float32", (3,), (1,), 4), ("case", kind, "out")
    found = compare(how, layout, make([1.0, got, 3.0]), make([1.0, want, 3.0]), at)
    assert bool(found.wrong) == bool(wrong)
    assert (found.worst > 1.0) == bool(wrong)


def test_numbers_that_are_not_floating_point_are_compared_exactly() -> None:
    assert worst("elementwise", [1, 2, 3, 4], WANT, "int32") == (0.0, 0)
    assert worst("elementwise", [1, 2, 3, 5], [1, 2, 3, 4.999999], "int32") == (HOPELESS, 1)


@pytest.mark.parametrize(("share", "wrong"), [(0.99, 0), (1.01, 1)])
@pytest.mark.parametrize("own", [True, False], ids=["by the own kernel", "by rtol"])
def test_an_error_is_a_share_of_the_scale_where_results_cancel(share: float, wrong: int, own: bool) -> None:
    make, layout = numpy.array if "numpy" in sys.modules else list, Layout("numpy", "float32", (2,), (1,), 4)
    want, scale = make([0.0, 1.0]), make([100.0, 1.0])
    seen = errors(layout, make([1e-3, 1.0]), want, scale)
    assert seen[3] == pytest.approx(1e-5)
    bounds = {"case": {"normal": {"out": seen}}} if own else {}
    rule = CompareRule("scaled", 1e-5, 0.0, 0, False, bounds)
    got = make([share * 100.0 * (NATIVE * 1e-5 if own else 1e-5), 1.0])
    assert compare(rule, layout, got, want, AT, scale).wrong == wrong
    assert compare(rule, layout, got, want, AT).wrong == 1  # of the element itself, which is 0


@pytest.mark.parametrize(("share", "wrong"), [(0.99, 0), (1.01, 1)])
def test_what_vanishes_below_the_range_of_the_type_is_right_though_no_call_has_shown_it(
    share: float, wrong: int
) -> None:
    make, layout = numpy.array if "numpy" in sys.modules else list, Layout("numpy", "float32", (2,), (1,), 4)
    exact = [4.0, 0.0]
    bounds = {"case": {"normal": {"out": errors(layout, make(exact), make(exact))}}}
    rule = CompareRule("elementwise", 0.0, 0.0, 0, False, bounds)
    lost = [4.0, share * NATIVE * VANISHED * 4.0]
    assert compare(rule, layout, make(lost), make(exact), AT).wrong == wrong


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (("numpy", "float32", (4,), (-1,), 4, 0), "backwards"),
        (("numpy", "float32", (-4,), (1,), 4, 0), "backwards"),
        (("numpy", "float32", (4, 4), (1,), 4, 0), "backwards"),
        (("numpy", "float32", (4,), (1,), 8, 0), "float32 cannot be compared"),
        (("numpy", "complex64", (4,), (1,), 8, 0), "complex64 cannot be compared"),
        (("numpy", "float32", (4.0,), (1,), 4, 0), "no layout"),
        (("numpy", ["float32"], (4,), (1,), 4, 0), "no layout"),
    ],
)
def test_a_layout_that_no_array_has_is_refused(said: tuple[object, ...], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        described(said)
    assert described(("torch", "float8_e4m3fn", (3, 0), (1, 1), 1, 0)).span == 0


LARGE = 2 * BLOCK + 3


@pytest.mark.parametrize("at", [0, BLOCK - 1, BLOCK, 2 * BLOCK, LARGE - 1])
@pytest.mark.parametrize("kind", ["elementwise", "norm", "ulp", "exact"])
def test_the_worst_element_is_found_in_every_block(kind: str, at: int) -> None:
    make, layout = numpy.array if "numpy" in sys.modules else list, Layout("numpy", "float32", (LARGE,), (1,), 4)
    want = [1.0 + 2.0**-10 * (number % 100) for number in range(LARGE)]
    got = want.copy()
    got[at] += 1.0
    got[LARGE // 3] += 0.25
    found = compare(CompareRule(kind, 1e-5, 1e-6, 4, False, {}), layout, make(got), make(want), AT)
    assert (found.element if kind != "exact" else at) == at  # where nothing is tolerated, all is as wrong
    assert found.compared == LARGE
    if kind != "norm":
        assert found.wrong == 2
    got[LARGE // 3] = float("nan")
    assert compare(CompareRule(kind, 1e-5, 1e-6, 4, False, {}), layout, make(got), make(want), AT).worst == HOPELESS


def test_errors_are_those_of_all_blocks() -> None:
    make, layout = numpy.array if "numpy" in sys.modules else list, Layout("numpy", "float32", (LARGE,), (1,), 4)
    want = [1.0 + number % 7 for number in range(LARGE)]
    want[BLOCK + 1] = float("inf")
    got, scale = [one * (1 + 1e-7) for one in want], [2 * one for one in want]
    got[-1] += 1e-3
    scale[0] = 0.0
    relative, absolute, norm, scaled = errors(layout, make(got), make(want), make(scale))
    assert norm == pytest.approx(((1e-7**2 * LARGE * 20 + 1e-3**2) / (LARGE * 20)) ** 0.5, rel=1e-2)
    assert relative == pytest.approx(4 * norm)
    assert absolute == pytest.approx(1e-3 - relative * want[-1], rel=1e-2)
    assert scaled == pytest.approx(1e-3 / scale[-1], rel=1e-2)
