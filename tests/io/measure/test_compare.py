"""What results are compared by: what is right passes although it cancels, what is less exact does not."""

import contextlib
import re

import pytest

from kpd.measure.bench import CheckFailed
from kpd.model.defects import WrongValue
from tests.support.measure.measured import Lab
from tests.support.measure.products import INEXACT, PLAIN, RIGHT, _lab, checked, kernel

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")
RULES = ["elementwise", "scaled", "norm"]


@pytest.mark.parametrize("compare", RULES)
@pytest.mark.parametrize("how", ["plain", *RIGHT])
async def test_another_order_of_summation_passes(lab: Lab, compare: str, how: str) -> None:
    assert (await checked(lab, RIGHT.get(how, PLAIN), compare)).worst <= 1


@pytest.mark.parametrize("compare", RULES)
@pytest.mark.parametrize("how", INEXACT)
async def test_lower_precision_inside_is_refused(lab: Lab, compare: str, how: str) -> None:
    with pytest.raises(CheckFailed, match="times the tolerance"):
        await checked(lab, INEXACT[how], compare)


async def test_a_wrong_kernel_is_no_measure_of_itself(lab: Lab) -> None:
    wrong = kernel("float sum = 0; for (long k = 0; k < n - 5; k++) sum += a[k] * x[k]; return sum;")
    with pytest.raises(CheckFailed, match="times the tolerance"):
        await checked(lab, wrong, "elementwise", own=wrong)


async def test_an_explicit_tolerance_for_elements_says_that_they_cancel(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match=r'this looks like cancellation.*compare = "scaled" or "norm"') as caught:
        await checked(lab, RIGHT["from the end"], "elementwise", rtol=1e-5)
    assert isinstance(caught.value.wrong.what, WrongValue)
    assert caught.value.wrong.what.cancels
    for compare in ("scaled", "norm"):
        assert (await checked(lab, RIGHT["from the end"], compare, rtol=1e-5)).worst <= 1


@pytest.mark.parametrize("compare", RULES)
async def test_one_element_that_is_very_wrong_does_not_cancel(lab: Lab, compare: str) -> None:
    wrong = kernel(
        "float sum = 0; for (long k = 0; k < n; k++) sum += a[k] * x[k]; return sum;", "if (i == 5) y[i] = 0;"
    )
    with pytest.raises(CheckFailed) as caught:
        await checked(lab, wrong, compare, rtol=1e-3, distributions=("constant",))
    assert re.search(r"y\[5\] is 0, should be", str(caught.value))
    assert "cancellation" not in str(caught.value)


OFF = "int bits; memcpy(&bits, &y[i], 4); bits += {}; memcpy(&y[i], &bits, 4);"
FUSED = "double sum = 0; for (long k = 0; k < n; k++) sum += (double)a[k] * x[k]; return (float)sum;"


@pytest.mark.parametrize(
    ("compare", "steps", "right"),
    [("exact", 0, True), ("exact", 1, False), ("ulp:3", 3, True), ("ulp:3", 4, False), ("ulp:3", -4, False)],
)
async def test_steps_of_the_type_are_counted(lab: Lab, compare: str, steps: int, right: bool) -> None:
    source = kernel(FUSED, OFF.format(steps))
    with contextlib.nullcontext() if right else pytest.raises(CheckFailed, match="300 elements wrong"):
        assert (await checked(lab, source, compare)).worst <= 1
