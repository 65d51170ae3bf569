"""When a kernel has answered before the device was done."""

import pytest
from hypothesis import given, strategies as st

from kpd.measure.python.host.device import FEWEST, LATE_NS, WHOLE, late, whole

USUAL = 150_000
DONE, BUSY = USUAL + LATE_NS, USUAL + LATE_NS + 1


@pytest.mark.parametrize(
    ("probes", "found"),
    [
        ([BUSY] * FEWEST, True),
        ([BUSY] * (FEWEST - 1), False),
        ([DONE] * FEWEST, False),
        ([BUSY] * 5 + [DONE] * 5, False),
        ([BUSY] * 6 + [DONE] * 5, True),
        ([], False),
    ],
)
def test_most_of_enough_probes_have_to_be_late(probes: list[int], found: bool) -> None:
    assert late(probes, USUAL) is found


@given(st.integers(0, 1 << 40))
def test_memory_is_taken_in_whole_pieces(size: int) -> None:
    assert size <= whole(size) < size + WHOLE
    assert whole(size) % WHOLE == 0
