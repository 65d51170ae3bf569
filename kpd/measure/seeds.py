"""Draws the secret numbers of checks and timings: new ones each time, or the same for all who take one step."""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_secret: ContextVar[bytes | None] = ContextVar("secret", default=None)


@contextmanager
def same_numbers() -> Iterator[None]:
    """Draw the same numbers, none that was drawn before, whenever something is repeated in the block."""
    outer = _secret.set(secrets.token_bytes(32))
    try:
        yield
    finally:
        _secret.reset(outer)


@contextmanager
def numbers_of(part: str) -> Iterator[None]:
    """Draw numbers of its own for a part of a step, which are the same again where the step is repeated."""
    whole = _secret.get()
    outer = _secret.set(hashlib.sha256(whole + part.encode()).digest() if whole is not None else None)
    try:
        yield
    finally:
        _secret.reset(outer)


class Draws:
    """The numbers for one purpose, in the order in which they are drawn. Nobody can tell the next from those before."""

    def __init__(self, purpose: str) -> None:
        self._key = (_secret.get() or secrets.token_bytes(32)) + purpose.encode()
        self._drawn = 0

    def below(self, limit: int) -> int:
        """Draw a number from 0 to less than `limit`, which may be up to 2 ** 64."""
        self._drawn += 1
        return int.from_bytes(hashlib.sha256(self._key + self._drawn.to_bytes(8)).digest()) % limit

    def seed(self) -> str:
        """Draw a key for the driver, from which its own secret numbers follow: 32 hexadecimal digits."""
        return f"{self.below(1 << 64):016x}{self.below(1 << 64):016x}"
