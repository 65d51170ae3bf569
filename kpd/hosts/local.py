"""The transport to this machine: the helper as a child process."""

import asyncio
import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kpd.hosts.bundle import BOOTSTRAP
from kpd.hosts.errors import HostError

LAST_WORDS = 4096  # bytes of the helper's stderr worth showing
PATIENCE = 2.0  # seconds for a helper to leave by itself


@dataclass(frozen=True, slots=True)
class Local:
    """Runs the helper under kpd's own Python, or under `python`."""

    kind: ClassVar[str] = "local"
    python: str = sys.executable

    async def open(self) -> "LocalChannel":
        """Raises HostError (no_python)."""
        # Not kpd's own environment: a job may read that of its supervisor, which is a fork of the helper.
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home()), "LANG": "C.UTF-8"}
        try:
            process = await asyncio.create_subprocess_exec(
                self.python, "-I", "-S", "-c", BOOTSTRAP,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                env=env, cwd="/", start_new_session=True, limit=1 << 20,
            )  # fmt: skip
        except OSError as err:
            raise HostError("no_python", f"cannot start {self.python}: {err}") from err
        return LocalChannel(process)


class LocalChannel:
    """A child's pipes, and its stderr kept for an error message."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self.pid = process.pid
        self.writer = process.stdin
        self.reader = process.stdout
        self._process = process
        self._words = b""
        self._listening = asyncio.create_task(self._listen(process.stderr), name="helper's stderr")

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(LAST_WORDS):
            self._words = (self._words + data)[-LAST_WORDS:]

    async def close(self) -> str:
        """Closes the pipe and waits for the child, which leaves at once when it sees that; its last words."""
        self.writer.close()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._ended()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):  # it has just left
                self._process.kill()
            await self._ended()
        await asyncio.wait([self._listening])
        return self._words.decode(errors="replace").strip()

    async def _ended(self) -> None:
        while await self.reader.read(1 << 20):  # asyncio sees a child's end only when its pipes are read empty
            pass
        await self._process.wait()
