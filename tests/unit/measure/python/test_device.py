"""In which pieces memory of a device is taken."""

from hypothesis import given, strategies as st

from kpd.measure.python.host.device import WHOLE, whole


@given(st.integers(0, 1 << 40))
def test_memory_is_taken_in_whole_pieces(size: int) -> None:
    assert size <= whole(size) < size + WHOLE
    assert whole(size) % WHOLE == 0
