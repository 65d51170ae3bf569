"""Wraps one session channel of an SSH connection as the byte pipe of a Link."""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from typing import Protocol

from kpd.hosts.child import OutputFlood, StderrTail
from kpd.hosts.errors import passes

PATIENCE_S = 2.0  # for the far side to leave by itself


class Pipe(Protocol):
    """Our direction of the session: the methods of asyncssh's SSHClientChannel that are used."""

    def write(self, data: bytes) -> None: ...
    def write_eof(self) -> None: ...
    def abort(self) -> None: ...


class Session:
    """The events of a session, which asyncssh reports by these methods.

    A lost connection and a flood on stderr arrive as OSError, the far side's end as the end of the stream.
    """

    def __init__(self) -> None:
        # The reader never pauses the sender: a Link reads everything at once, and asyncio's reader would miss data that
        # asyncssh hands over from within resume_reading.
        self.reader = asyncio.StreamReader()
        self.words = StderrTail()
        self.status: int | None = None
        self.ended = asyncio.Event()
        self._pipe: Pipe | None = None
        self._lost: OSError | None = None
        self.eof = False
        self._flowing = asyncio.Event()
        self._flowing.set()

    def connection_made(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def session_started(self) -> None:
        """Do nothing: the session's output comes from now on."""

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if datatype is not None:
            self.words.add(data)
            if self.words.endless:
                self.reader.set_exception(OutputFlood())
        elif not self.eof:
            self.reader.feed_data(data)

    def eof_received(self) -> bool:
        """Note the end of the output. The true that is returned keeps our own direction open."""
        self.eof = True
        self.reader.feed_eof()
        return True

    def exit_status_received(self, status: int) -> None:
        self.status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self.words.add(f"\nkilled by SIG{signal}".encode())

    def xon_xoff_requested(self, client_can_do: bool) -> None:
        """Do nothing: there is no terminal."""

    def pause_writing(self) -> None:
        self._flowing.clear()

    def resume_writing(self) -> None:
        self._flowing.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None and not self.passing:
            self.reader.feed_eof()
        else:
            self._lost = ConnectionResetError(str(exc or "the helper was ended"))
            self.reader.set_exception(self._lost)
        self._flowing.set()
        self.ended.set()

    @property
    def passing(self) -> bool:
        """Whether time may heal what has ended it: the network, a signal or a host that goes down.

        True as long as nobody has said why it ended.
        """
        return self._lost is not None or passes(self.status, str(self.words))

    def write(self, data: bytes) -> None:
        """Write bytes. Raises BrokenPipeError when the far side has ended, another OSError for a lost connection."""
        self._check()
        assert self._pipe is not None
        self._pipe.write(data)

    async def drain(self) -> None:
        """Wait until the host's window lets what was written leave. Raises the same errors as `write`."""
        await self._flowing.wait()
        self._check()

    def write_eof(self) -> None:
        if self._pipe is not None and not self.ended.is_set():
            self._pipe.write_eof()

    def end(self) -> None:
        """End the session at once, whatever the far side does."""
        if self._pipe is not None:
            self._pipe.abort()

    def _check(self) -> None:
        if self._lost is not None:
            raise ConnectionResetError(str(self._lost))
        if self.ended.is_set():
            raise BrokenPipeError("the far side has ended")


class SshChannel:
    """The helper behind a session. `let_go` ends the session, and the connections that carry nothing else."""

    def __init__(self, session: Session, let_go: Callable[[], Awaitable[None]]) -> None:
        self.writer = session
        self._session = session
        self._let_go = let_go

    @property
    def reader(self) -> "SshChannel":
        return self

    async def read(self, n: int) -> bytes:
        return await self._session.reader.read(n)

    async def readexactly(self, n: int) -> bytes:
        """Read `n` bytes.

        Raises EOFError when the helper has ended by itself, OSError when the connection or a signal has ended it.
        """
        try:
            return await self._session.reader.readexactly(n)
        except EOFError as err:
            await self._over()  # its exit status comes after the end of its output
            if self._session.passing:
                raise ConnectionResetError("the connection has closed, or the helper was ended") from err
            raise

    async def _over(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._session.ended.wait()

    async def close(self) -> str:
        """Close the helper's stdin, which ends it, and the connection; return the end of its stderr.

        If that is empty and the helper ended by itself, return its exit status in words.
        """
        by_itself = self._session.eof
        self._session.write_eof()
        try:
            await self._over()
        finally:
            await self._let_go()
        words = "".join(c for c in str(self._session.words) if c.isprintable() or c == "\n").strip()
        # Some shells repeat the whole command line, with the program in it, in an error about its first word.
        words = re.sub(r"\S{200,}", "…", words)
        if not words and by_itself and self._session.status is not None:
            return f"it ended with {self._session.status}"
        return words
