"""Values that are not finite in the inputs of a check."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.harness import CaseInputs, Inputs
from kpd.measure.python.host.nonfinite import MOST_PLANTED, VALUES, asked, bits, planted

Same = Callable[[Any], Any]
SAME: dict[str, Same] = {"NaN": numpy.isnan, "+Inf": numpy.isposinf, "-Inf": numpy.isneginf}


def inputs(**values: Any) -> CaseInputs:
    """A call that gets these, with bytes between them."""
    layouts, at = {}, 0
    for name, value in values.items():
        layouts[name], at = arrays.placed(value, at, 256)
    content = bytearray(b"\xa5" * at)
    for name, layout in layouts.items():
        for leaf, one in zip(arrays.leaves(layout), arrays.leaves(values[name]), strict=True):
            arrays.put(one, leaf, memoryview(content))
    return CaseInputs([Inputs(layouts, content)] * 2, {})


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_few_elements_of_one_argument_have_the_value(name: str, dtype: str) -> None:
    turned = numpy.ones((7, 5), dtype).T[::2]
    drawn = inputs(index=numpy.arange(9), parts=[numpy.ones(33, dtype), turned], factor=2.0)
    chosen, emptied = set(), set()
    for seed in range(20):
        found = planted(drawn, name, (), random.Random(seed))
        assert found is not None
        for one in found.sets:
            index, parts, factor = one.values().values()
            special = [int(SAME[name](part).sum()) for part in parts]
            assert sorted(map(bool, special)) == [False, True], "in one argument"
            assert 1 <= sum(special) <= MOST_PLANTED
            there, other = sorted(parts, key=lambda part: -int(SAME[name](part).sum()))
            assert int((there != 1).sum()) == sum(special)
            assert set(other.reshape(-1).tolist()) <= {0.0, 1.0}, "zeros, so that what is left out there is lost"
            emptied.add(bool((other == 0).all()))
            assert (list(index), factor) == (list(range(9)), 2.0)
            chosen.add(special.index(max(special)))
    assert chosen == emptied == {0, 1}
    assert not any(numpy.isnan(part).any() for part in drawn.sets[0].values()["parts"])


@pytest.mark.parametrize("value", VALUES.values())
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_an_element_of_any_library_and_type_can_have_it(dtype: str, value: float) -> None:
    layout = Layout("torch", dtype, (1,), (1,), arrays.SIZES[dtype])
    (found,) = arrays.numbers(layout, bits(layout, value))
    assert found == value or (math.isnan(found) and math.isnan(value))


def test_an_argument_that_is_overwritten_or_never_changed_has_none() -> None:
    drawn = inputs(x=numpy.ones(4), out=numpy.ones(4), empty=numpy.ones(0), count=numpy.arange(3))
    assert planted(drawn, "NaN", {"x", "out"}, random.Random(1)) is None
    for seed in range(9):
        found = planted(drawn, "NaN", {"out"}, random.Random(seed))
        assert found is not None
        assert numpy.isnan(found.sets[0].values()["x"]).any()


def test_each_value_has_a_case_with_each_seed() -> None:
    found = asked(["one", "two"], random.Random(1), 20)
    assert [kind for _, kind in found] == [*VALUES] * 20
    assert {case for case, _ in found} == {"one", "two"}
