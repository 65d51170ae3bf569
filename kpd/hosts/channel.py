"""Defines the byte pipe to a host that a transport provides."""

from typing import Protocol


class Reader(Protocol):
    async def read(self, n: int) -> bytes: ...
    async def readexactly(self, n: int) -> bytes: ...


class Writer(Protocol):
    def write(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...


class Channel(Protocol):
    """A byte pipe to a python3 that runs `bundle.BOOTSTRAP`: all that a transport has to provide."""

    @property
    def reader(self) -> Reader: ...

    @property
    def writer(self) -> Writer: ...

    async def close(self) -> str:
        """End the far side in any state, and return the end of its stderr. A second call does nothing."""
        ...
