"""Connects to a helper through the pipes of a child process, and keeps the last lines of its stderr."""

import asyncio
import contextlib
from collections.abc import Mapping

from kpd.hosts.errors import HostError

KEPT = 4096  # bytes worth showing
MOST = 1 << 20  # bytes of stderr in all: the helper prints nothing there, so more comes from a login shell
SILENCE = "make ~/.bashrc and the like print nothing when the shell is not interactive"


class OutputFlood(OSError):
    """Output of the far side that does not end."""

    def error(self, host: str) -> HostError:
        """Return this error as a HostError of the host named `host`."""
        return HostError("config", f"{host}: the login shell prints without end", SILENCE)


class StderrTail:
    """The end of a stream. `endless` once there was more of it than any error message has."""

    def __init__(self) -> None:
        self._kept = b""
        self._heard = 0

    def __str__(self) -> str:
        return self._kept.decode(errors="replace")

    @property
    def endless(self) -> bool:
        return self._heard > MOST

    def add(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-KEPT:]
        self._heard += len(data)


CHUNK = 64 << 10
PATIENCE = 2.0  # seconds for a child to end by itself
GRACE = 0.5  # seconds for its pipes after that: an ssh's master holds them too, and may hang


class ChildChannel:
    """A child's pipes, and the end of its stderr for an error message. A child that floods its stderr is killed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self.pid = process.pid
        self.writer = process.stdin
        self._stdout = process.stdout
        self._process = process
        self._words = StderrTail()
        self._listening = asyncio.create_task(self._listen(process.stderr), name="helper's stderr")

    @classmethod
    async def start(cls, *argv: str, env: Mapping[str, str]) -> "ChildChannel":
        """Start a child in a session of its own, so that no terminal's signals or prompts reach it. Raises OSError."""
        pipe = asyncio.subprocess.PIPE
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd="/", start_new_session=True, limit=1 << 20
            )
        )
        try:
            return cls(await asyncio.shield(starting))
        except asyncio.CancelledError:  # asyncio itself would wait until every process has closed the pipes
            await cls(await starting)._kill()
            raise

    @property
    def reader(self) -> "ChildChannel":
        return self

    async def read(self, n: int) -> bytes:
        """Read at most `n` bytes, none at the end. Raises OutputFlood when the child was killed for its stderr."""
        data = await self._stdout.read(n)
        if not data and self._words.endless:
            raise OutputFlood
        return data

    async def readexactly(self, n: int) -> bytes:
        """Read `n` bytes. Raises EOFError when the child has ended, OutputFlood when it was killed for its stderr."""
        try:
            return await self._stdout.readexactly(n)
        except EOFError as err:
            if self._words.endless:
                raise OutputFlood from err
            raise

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        doomed = False
        while data := await stderr.read(CHUNK):
            self._words.add(data)
            if self._words.endless and not doomed:
                doomed = True  # only once: a second kill polls the child, and asyncio would miss its end
                with contextlib.suppress(ProcessLookupError):  # it has just left
                    self._process.kill()

    async def close(self) -> str:
        """Close the pipe, wait for the child, which ends when it sees that, and return the end of its stderr.

        A child that has not ended after PATIENCE seconds is killed.
        """
        self.writer.close()
        if not await self._ends_within(PATIENCE):
            await self._kill()
        await asyncio.wait([self._listening], timeout=GRACE)
        self._listening.cancel()
        return str(self._words).strip()

    async def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just left
            self._process.kill()
        await self._ends_within(GRACE)

    async def _ends_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                # asyncio sees a child's end only when its pipes are read empty; it refuses a second reader, and then
                # the first one empties this pipe.
                with contextlib.suppress(RuntimeError):
                    while await self._stdout.read(1 << 20):
                        pass
                await self._process.wait()
        except TimeoutError:
            return False
        return True
