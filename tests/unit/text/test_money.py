"""Costs as far as they are known: nothing that is uncertain is shown as exact."""

import pytest

from kpd.model.spending import NOTHING, Spend, Usage
from kpd.text.money import cost, rest

EXACT = NOTHING.with_call(Usage(1), 0.5)
UNSEEN = EXACT.with_call(Usage(), 2.0, exact=False)
UNPRICED = NOTHING.with_call(Usage(1), None)


@pytest.mark.parametrize(
    ("spend", "told", "left"),
    [
        (NOTHING, "$0.00", "$3.00"),
        (EXACT, "$0.50", "$2.50"),
        (UNSEEN, "~$2.50", "~$0.50"),
        (UNSEEN.with_call(Usage(1), 1.0), "~$3.50", "~$0.00"),
        (UNPRICED, "?", "up to $3.00"),
        (UNPRICED.with_call(Usage(1), 0.5), "$0.50 + ?", "up to $2.50"),
        (UNPRICED.with_call(Usage(1), 0.5, exact=False), "~$0.50 + ?", "up to $2.50"),
        (NOTHING.with_call(Usage(), None, exact=False), "?", "up to $3.00"),
    ],
)
def test_a_sum_says_what_is_not_known_of_it(spend: Spend, told: str, left: str) -> None:
    assert (cost(spend), rest(spend, 3.0)) == (told, left)
