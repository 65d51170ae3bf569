"""A q4·q8 dot product under the default tolerance: equivalent forms pass with every seed, a small bug with none."""

import pytest

from kpd.measure.bench import CheckFailed
from tests.support.measure import products
from tests.support.measure.measured import Lab
from tests.support.measure.quants import FORMS, PLAIN, WRONG, _lab

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEEDS = 100


@pytest.mark.parametrize("form", FORMS)
async def test_equivalent_forms_pass_with_each_of_a_hundred_seeds(lab: Lab, form: str) -> None:
    passed = await products.checked(lab, FORMS[form], "scaled", own=PLAIN, seeds=SEEDS)
    assert passed.comparisons == 24 * 5 * SEEDS


async def test_one_percent_in_one_block_fails_with_every_seed(lab: Lab) -> None:
    """With 100 of 100, too; ten of them take half a second."""
    for _ in range(10):
        with pytest.raises(CheckFailed, match="times the tolerance"):
            await products.checked(lab, WRONG, "scaled", own=PLAIN, distributions=("normal",))
