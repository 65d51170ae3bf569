"""When so few batches of a callable are enough."""

import pytest

from kpd.measure.python.host.batching import Batch
from kpd.measure.python.host.timing import FAR, FAR_QUADS, far_slower

ENOUGH = 2 * FAR_QUADS


def batches(*ns):
    return [Batch(one, 0, 0, 0, compared=False, known=False) for one in ns]


@pytest.mark.parametrize(
    ("a", "b", "far"),
    [
        ([10] * ENOUGH, [10 * FAR + 1] * ENOUGH, True),
        ([10] * ENOUGH, [10 * FAR] * ENOUGH, False),
        ([10] * (ENOUGH - 1), [10 * FAR + 1] * (ENOUGH - 1), False),
        ([10] * ENOUGH, [10 * FAR + 1] * (ENOUGH - 1) + [10], False),
        ([10] * (ENOUGH - 1) + [11], [10 * FAR + 1] * ENOUGH, False),
    ],
)
def test_a_candidate_that_is_far_slower_in_each_batch_is_timed_in_few(a, b, far):
    """One that is slow at first only is timed as any other."""
    assert far_slower({"a": batches(*a), "b": batches(*b)}) is far
