"""A clean copy of a task in which a tool that an agent has built is tried, inside the sandbox of agents."""

import asyncio
import contextlib
import errno
import glob
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kpd.hosts.keeper import MOST_MEMORY, Ending, Order
from kpd.hosts.kept import KeptProcess
from kpd.hosts.own_network import can_isolate
from kpd.tools.files import lay
from kpd.workspace.disk import removed, used

MOST_PROCESSES = 64
MOST_FILE = 64 << 20
MOST_OUTPUT = 4 << 20
"""Processes, bytes of a file and of what a program prints."""
MOST_DISK = 512 << 20
MOST_ENTRIES = 20_000
LOOK_S = 0.5
"""Bytes and files of the whole room, and seconds between two looks at it."""
CHUNK = 64 << 10


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program of a tool ended: `ok` with exit status 0 in its time; `said` is why not, or its last words."""

    ok: bool
    said: str


@dataclass(frozen=True, slots=True)
class CleanRoom:
    """A folder with `tree`, the copy of the task; `tool`, the tool's files, read-only; and the tool's own `home`."""

    root: Path
    confined: bool = True

    @property
    def tree(self) -> Path:
        return self.root / "tree"

    @property
    def tool(self) -> Path:
        return self.root / "tool"

    @property
    def home(self) -> Path:
        return self.root / "home"

    def prepare(self, files: Mapping[str, bytes], lay_task: Callable[[Path], None]) -> None:
        """Make the room anew; `lay_task` makes the copy of the task. Raises OSError."""
        self.remove()
        self.home.mkdir(parents=True)
        lay_task(self.tree)
        lay(self.tool, files)

    def order(self, argv: tuple[str, ...]) -> Order:
        """Return how a program of the tool is started: in the tree, with nothing of the daemon's environment.

        It has no network, where this machine can take it away.
        """
        path = os.environ.get("PATH", os.defpath)
        env = {
            "PATH": path, "HOME": str(self.home), "TMPDIR": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb",
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        reads = (str(self.tool), str(self.tree), sys.prefix, sys.base_prefix)
        writes = (str(self.tree), str(self.home))
        return Order(
            argv, str(self.tree), env, tuple(map(glob.escape, reads)), tuple(map(glob.escape, writes)), self.confined,
            ports=() if self.confined and can_isolate() else None, most_processes=MOST_PROCESSES, most_bytes=MOST_FILE,
        )  # fmt: skip

    async def start(self, argv: tuple[str, ...]) -> KeptProcess:
        """Start a program of the tool. Raises OSError."""
        return await KeptProcess.start(await asyncio.to_thread(self.order, argv), self.root)

    async def run(self, argv: tuple[str, ...], limit_s: float) -> ProgramEnd:
        """Run a program of the tool to its end, for `limit_s` seconds at most. Raises OSError."""
        process = await self.start(argv)
        tail = bytearray()
        try:
            process.stdin.close()
            async with asyncio.timeout(limit_s):
                flooded = await _listen(process, tail)
                ending = await process.wait() if not flooded else None
        except TimeoutError:
            return ProgramEnd(False, f"it has not ended within {limit_s:g} s")
        finally:
            await finish(process)
        if ending is None:
            return ProgramEnd(False, f"it printed more than {MOST_OUTPUT >> 20} MiB")
        words = f"{tail.decode(errors='replace')}\n{process.said}".strip()
        return ProgramEnd(ending.rc == 0 and not ending.why, ended(ending, words))

    def seen(self) -> dict[str, str]:
        """Return what lies in the task's copy and in the tool's folder: by path its mode, and the sha256 of a file.

        Raises OSError where something cannot be read, or there are more than MOST_ENTRIES.
        """
        found: dict[str, str] = {}
        left = [self.tree, self.tool]
        while left:
            path = left.pop()
            if len(found) >= MOST_ENTRIES:
                raise OSError(errno.EFBIG, f"more than {MOST_ENTRIES:,} files and folders", str(self.root))
            found[path.relative_to(self.root).as_posix()] = _state(path)
            if path.is_dir() and not path.is_symlink():
                left += path.iterdir()
        return found

    async def overflow(self) -> None:
        """Return as soon as the room holds too much."""
        size = files = 0
        while size <= MOST_DISK and files <= MOST_ENTRIES:
            await asyncio.sleep(LOOK_S)
            size, files = await asyncio.to_thread(used, self.root, MOST_DISK, MOST_ENTRIES)

    def remove(self) -> None:
        """Remove the room, with folders that a tool has closed."""
        with contextlib.suppress(OSError):
            removed(self.root)


async def finish(process: KeptProcess) -> None:
    """End a process and all that it started. Where this is cancelled, it is raised after that."""
    ending = asyncio.create_task(process.end(), name="ending a tool's program")
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await asyncio.wait([ending])
        raise


def ended(ending: Ending, words: str) -> str:
    """Say how a program ended, with its last words."""
    if ending.why == "processes":
        return f"it started more than {MOST_PROCESSES} processes"
    if ending.why == "memory":
        return f"it used more than {MOST_MEMORY >> 20:,} MiB of memory"
    if ending.rc == 0:
        return words
    how = f"signal {-ending.rc}" if ending.rc < 0 else f"exit status {ending.rc}"
    return f"{how}: {words}" if words else how


async def _listen(process: KeptProcess, tail: bytearray) -> bool:
    """Read what a program prints, and keep the end; return whether it was too much."""
    heard = 0
    while data := await process.stdout.read(CHUNK):
        heard += len(data)
        tail += data
        del tail[: -(CHUNK // 16)]
        if heard > MOST_OUTPUT:
            return True
    return False


def _state(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"{mode:o} {path.readlink()}"
    if not stat.S_ISREG(mode):
        return f"{mode:o}"
    with path.open("rb") as file:
        return f"{mode:o} {hashlib.file_digest(file, 'sha256').hexdigest()}"
