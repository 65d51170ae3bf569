"""Secret numbers of the runner: what a kernel finds out of its inputs tells nothing of those that it must not know."""

import random

import pytest

from kpd.measure.python.host.secret import SecretRandom

WORDS = 624
"""The numbers of 32 bits from which the state of Python's own generator follows."""


def untempered(y: int) -> int:
    """The word of a Mersenne Twister's state that gives this number."""
    y ^= y >> 18
    y ^= y << 15 & 0xEFC60000
    found = y
    for _ in range(5):
        found = y ^ (found << 7 & 0x9D2C5680)
    y = found & 0xFFFFFFFF
    for _ in range(3):
        found = y ^ found >> 11
    return found & 0xFFFFFFFF


def foretold(rng: random.Random) -> bool:
    """Whether who has seen as many numbers as a state has words knows those that follow."""
    other = random.Random()
    other.setstate((3, (*(untempered(rng.getrandbits(32)) for _ in range(WORDS)), WORDS), None))
    return [rng.random() for _ in range(4)] == [other.random() for _ in range(4)]


def test_numbers_that_were_seen_do_not_tell_what_comes() -> None:
    assert foretold(random.Random(7))
    assert not foretold(SecretRandom(7))


def test_all_numbers_follow_from_the_key() -> None:
    one, same, other = SecretRandom(7), SecretRandom(7), SecretRandom(8)
    assert [one.random(), one.randrange(10**9), one.randbytes(9)] == [
        same.random(),
        same.randrange(10**9),
        same.randbytes(9),
    ]
    assert one.getrandbits(62) != other.getrandbits(62)


@pytest.mark.parametrize("key", [0, 1, 255, 1 << 127])
def test_numbers_are_spread_evenly(key: int) -> None:
    rng = SecretRandom(key)
    drawn = [rng.random() for _ in range(4000)]
    assert 0 <= min(drawn) < 0.01 < 0.99 < max(drawn) < 1
    assert abs(sum(drawn) / 4000 - 0.5) < 0.03
    assert {rng.randrange(3) for _ in range(99)} == {0, 1, 2}
