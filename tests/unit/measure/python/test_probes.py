"""When a kernel has answered before the device was done, and when others use it."""

import random

import pytest

from kpd.measure.python.host.probes import FEWEST, LATE_NS, tell

USUAL = 150_000
DONE, BUSY = USUAL + LATE_NS, USUAL + LATE_NS + 1


def probes(late: int, of: int) -> list[int]:
    return [BUSY] * late + [DONE] * (of - late)


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ((0, 12), (FEWEST, FEWEST), "early"),
        ((0, 12), (FEWEST - 1, FEWEST - 1), ""),
        ((0, 12), (0, 12), ""),
        ((0, 12), (6, 12), ""),
        ((0, 12), (7, 12), "early"),
        ((12, 12), (12, 12), "busy"),
        ((5, 12), (12, 12), "early"),
        ((6, 12), (12, 12), "busy"),
        ((0, 0), (12, 12), "busy"),
        ((8, 48), (25, 48), "early"),
        ((13, 48), (25, 48), "busy"),
        ((48, 48), (20, 48), ""),
    ],
)
def test_most_of_enough_probes_have_to_be_late_and_more_than_the_incumbent_s(
    a: tuple[int, int], b: tuple[int, int], found: str
) -> None:
    assert tell({"a": probes(*a), "b": probes(*b)}, USUAL) == found


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_a_device_that_others_use_refuses_few(share: float) -> None:
    """With a share of a half, in a quarter of such processes one side is late in more than half of its probes alone."""
    drawn = random.Random(7)
    found = [
        tell({side: probes(sum(drawn.random() < share for _ in range(12)), 12) for side in "ab"}, USUAL)
        for _ in range(2000)
    ]
    assert found.count("early") < 0.02 * len(found)
