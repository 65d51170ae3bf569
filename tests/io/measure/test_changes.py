"""On a CPU: a harness that says what changes between timed calls."""

import pytest

from kpd.measure.bench import CheckFailed
from tests.support.measure.changes import RIGHT, _lab
from tests.support.measure.measured import Lab

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_sum_that_is_kept_once_it_is_there_is_found_out(lab: Lab) -> None:
    with pytest.raises(CheckFailed, match=r"out\[0\] is .* \(timed outputs\)$"):
        await lab.time(RIGHT, RIGHT.replace("double sum = 0;", "if (*out == *out) return; double sum = 0;"))
