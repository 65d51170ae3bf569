"""On a CPU: a harness that says what changes between timed calls."""

import pytest

from tests.support.measure.changes import RIGHT, _lab
from tests.support.measure.measured import Lab

__all__ = ["_lab"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_sum_that_is_made_anew_each_time_is_right(lab: Lab) -> None:
    assert await lab.time(RIGHT, RIGHT + "\n")
