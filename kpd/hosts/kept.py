"""Starts a command of this machine under a keeper, which confines it and ends all of it."""

import asyncio
import contextlib
import os
import socket
import sys
from pathlib import Path

import msgspec

from kpd.hosts.child import StderrTail
from kpd.hosts.helper.processes import MARK, end_marked
from kpd.hosts.helper.sandbox import held
from kpd.hosts.keeper import HANDED, Ending, Order

CHUNK = 64 << 10
STUCK_S = 10.0
"""Seconds beyond its grace that a keeper gets to end everything."""
LOOK_S = 0.1
PIPES_S = 1.0
"""Seconds between two looks whether the keeper has ended, and for its pipes to end after it."""


def can_confine() -> bool:
    """Return whether this machine can confine a command: it has Landlock, or a bubblewrap that works."""
    has = held()
    return bool(has["landlock"] or has["bubblewrap"])


class KeptProcess:
    """A command under a keeper: its pipes, the last words of its stderr, and the listeners of a network of its own.

    Its processes, the keeper too, are marked as those of a job in `folder`, so a daemon refuses them (`is_of_a_job`).
    """

    def __init__(
        self, process: asyncio.subprocess.Process, line: socket.socket, folder: Path, grace_s: float,
        listeners: tuple[socket.socket, ...],
    ) -> None:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self.stdin, self.stdout = process.stdin, process.stdout
        self.listeners = listeners
        self._process = process
        self._line = line
        self._folder = folder
        self._grace_s = grace_s
        self._words = StderrTail()
        self._listening = asyncio.create_task(self._listen(process.stderr), name="stderr of a session")
        self._ending: Ending | None = None

    @classmethod
    async def start(cls, order: Order, folder: Path) -> "KeptProcess":
        """Start the command. A bad command ends with status 126.

        Raises OSError where not even the keeper starts, or the system does not give the network that was ordered.
        """
        ours, theirs = socket.socketpair()
        pipe = asyncio.subprocess.PIPE
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home()), MARK: str(folder)}
        if "PYTHONPATH" in os.environ:
            env["PYTHONPATH"] = os.environ["PYTHONPATH"]
        marked = order._replace(env={**order.env, MARK: str(folder)})
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "kpd.hosts.keeper", str(theirs.fileno()),
                stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd="/", start_new_session=True,
                pass_fds=(theirs.fileno(),), limit=CHUNK,
            )  # fmt: skip
        ours.sendall(msgspec.json.encode(marked) + b"\n")
        try:
            listeners = () if order.ports is None else await asyncio.to_thread(_handed, ours, len(order.ports))
        except BaseException:  # also a cancellation: the keeper runs by now, and ends its command once it is told so
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_WR)
            await process.communicate()
            ours.close()
            raise
        return cls(process, ours, folder, order.grace_s, listeners)

    @property
    def said(self) -> str:
        """The end of what the command wrote to stderr."""
        return str(self._words).strip()

    async def wait(self) -> Ending:
        """Wait until the command and all that it started have ended."""
        whole = asyncio.create_task(self._process.wait())  # asyncio waits for the ends of all pipes, too
        try:
            while self._process.returncode is None:
                await asyncio.wait([whole], timeout=LOOK_S)
            if self._ending is None:
                end_marked(self._folder)  # only where the keeper itself was killed there can be any
                await asyncio.wait([whole, self._listening], timeout=PIPES_S)
                self._ending = self._ending or self._told()
                self._listening.cancel()
                self._line.close()
                self._process._transport.close()  # type: ignore[attr-defined]  # the pipes, which a process may hold that nobody can find
        finally:
            whole.cancel()
        return self._ending

    async def end(self) -> Ending:
        """End the command and all that it started: SIGTERM, the grace, SIGKILL."""
        with contextlib.suppress(OSError):  # the keeper is gone
            self._line.shutdown(socket.SHUT_WR)
        draining = asyncio.create_task(self._drain())
        try:
            async with asyncio.timeout(self._grace_s + STUCK_S):
                return await self.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            return await self.wait()
        finally:
            draining.cancel()

    async def _drain(self) -> None:
        """Read what is left of stdout: asyncio sees a child's end only then."""
        with contextlib.suppress(RuntimeError, OSError):  # another reader does it
            while await self.stdout.read(1 << 20):
                pass

    def _told(self) -> Ending:
        """Return what the keeper says of the end; if it was killed, its own status."""
        said = b""
        self._line.settimeout(PIPES_S)
        with contextlib.suppress(OSError):
            while data := self._line.recv(4096):
                said += data
        try:
            return msgspec.json.decode(said, type=Ending)
        except msgspec.MsgspecError:
            return Ending(self._process.returncode or 0, "keeper")

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(CHUNK):
            self._words.add(data)


def _handed(line: socket.socket, count: int) -> tuple[socket.socket, ...]:
    """Return the listeners that a keeper hands over before it starts its command. Raises OSError."""
    line.settimeout(STUCK_S)
    said, handed, _, _ = socket.recv_fds(line, len(HANDED), count)
    line.settimeout(None)
    if said != HANDED or len(handed) != count:
        raise OSError("this system has not given the network that was ordered")
    return tuple(socket.socket(fileno=each) for each in handed)
