"""Reads the secret seed, and draws secret numbers, each by itself.

Those that a kernel can find out from its inputs tell nothing of the others.
"""

from __future__ import annotations

import hashlib
import os
import random
from itertools import count

FRACTION = 53  # bits


def line() -> str:
    """Read a line of stdin, and no more than it: what follows is for others."""
    found = b""
    while not found.endswith(b"\n") and (byte := os.read(0, 1)):
        found += byte
    return found.decode().strip()


class SecretRandom(random.Random):
    """Numbers from a key and a counter, by SHAKE-256.

    The state of Python's own generator follows from the numbers that it has given: which elements of its inputs change
    would tell a kernel when its results are looked at, and what comes next.
    """

    def __init__(self, key: int) -> None:
        super().__init__()
        self._key = key.to_bytes(-(-key.bit_length() // 8), "big") + b"/"
        self._number = count()

    def getrandbits(self, k: int, /) -> int:
        """Return a number of `k` bits."""
        size = -(-k // 8)
        drawn = hashlib.shake_256(self._key + str(next(self._number)).encode()).digest(size)
        return int.from_bytes(drawn, "big") >> 8 * size - k

    def random(self) -> float:
        """Return a number from 0 to 1, without 1."""
        return self.getrandbits(FRACTION) / (1 << FRACTION)
