"""Reads from a helper behind an ssh, and tells a connection that broke from a helper that ended."""

import contextlib

from kpd.hosts.child import ChildChannel
from kpd.hosts.errors import passes


class MasterChannel:
    """A helper behind an ssh.

    It tells a connection that broke from a helper that ended, which pipes alone cannot.
    """

    def __init__(self, child: ChildChannel) -> None:
        self.pid = child.pid
        self.close = child.close
        self._child = child

    @property
    def reader(self) -> "MasterChannel":
        return self

    @property
    def writer(self) -> "MasterChannel":
        return self

    async def read(self, n: int) -> bytes:
        return await self._child.reader.read(n)

    async def readexactly(self, n: int) -> bytes:
        """Read `n` bytes. Raises EOFError when the helper has ended by itself, else ConnectionResetError."""
        try:
            return await self._child.reader.readexactly(n)
        except EOFError as err:
            words = await self.close()
            if passes(self._child.status, words):
                raise ConnectionResetError("the connection has closed, or the helper was ended") from err
            raise

    def write(self, data: bytes) -> None:
        self._child.writer.write(data)

    async def drain(self) -> None:
        """Wait until the pipe takes more.

        No error is raised for a closed pipe: the child has ended, and the reading side reports how.
        """
        with contextlib.suppress(OSError):
            await self._child.writer.drain()
