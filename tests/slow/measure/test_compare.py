"""Of a hundred secret seeds all let pass what is right, and none lets pass what is wrong."""

import pytest

from kpd.measure.bench import CheckFailed
from tests.support.measure.measured import Lab
from tests.support.measure.products import INEXACT, RIGHT, _lab, checked

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("compare", ["elementwise", "scaled", "norm"])
@pytest.mark.parametrize("how", RIGHT)
async def test_another_order_of_summation_passes_with_every_seed(lab: Lab, how: str, compare: str) -> None:
    assert (await checked(lab, RIGHT[how], compare, seeds=100)).worst <= 1


@pytest.mark.parametrize("compare", ["elementwise", "scaled", "norm"])
@pytest.mark.parametrize("how", INEXACT)
async def test_what_is_wrong_or_less_exact_fails_with_every_seed(lab: Lab, how: str, compare: str) -> None:
    for _ in range(100):
        with pytest.raises(CheckFailed, match="times the tolerance"):
            await checked(lab, INEXACT[how], compare)
