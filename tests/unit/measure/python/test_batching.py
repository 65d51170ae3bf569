"""How long a call is taken to last, by which batches of callables are laid out."""

import pytest

from kpd.measure.python.host.batching import FASTER, SLOWER, quicker_ns


@pytest.mark.parametrize(
    ("a", "b", "each"),
    [
        (1000, 900, 900),
        (1000, 1100, 1000),
        (1000, 1000 // FASTER, 1000 // FASTER),
        (1000, 1000 // FASTER - 50, 1000 // FASTER),
        (1000, 1000 * SLOWER, 1000),
        (1000, 1040 * SLOWER, 1040),
        (1000, 2_000_000, 2_000_000 // SLOWER),
        (0, 0, 1),
    ],
)
def test_a_batch_is_laid_out_for_the_quicker_kernel_within_bounds(a, b, each):
    """Neither a candidate that is said to be far faster nor one that is far slower makes a contest last long."""
    assert quicker_ns(a, b) == each
