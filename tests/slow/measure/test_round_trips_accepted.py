"""What an accepted candidate asks of a far-away host, counted on a bench that has tried nothing else."""

import pytest

from tests.support.measure.round_trips import Far, _far, taking

__all__ = ["_far"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_candidate_that_is_accepted_takes_five_round_trips(far: Far) -> None:
    asked, verdict = await far.iterate(taking(1))
    assert asked == ["tree", "job", "job", "job", "kill"]
    assert verdict.accepted
