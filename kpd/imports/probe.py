"""Runs a command of a folder once, in a copy, to see what it prints."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kpd.hosts.keeper import Order
from kpd.hosts.kept import KeptProcess
from kpd.workspace.environment import child_environment

TOLD = 1 << 20
"""Bytes of each stream that are read, from its end."""
GRACE_S = 0.5
"""Seconds between SIGTERM and SIGKILL for what the command leaves behind."""
MOST_PROCESSES = 4096
_SHELL = 'exec >"$1" 2>"$2" </dev/null; exec /bin/sh -c "$3"'


@dataclass(frozen=True, slots=True)
class Ran:
    """One run. `rc` is negative for a signal; None where it ran out of time."""

    command: str
    rc: int | None
    stdout: str
    stderr: str
    seconds: float

    @property
    def tail(self) -> str:
        """The last lines of what it said, the errors first."""
        return "\n".join((self.stderr.strip() or self.stdout.strip()).splitlines()[-12:])


def run_once(folder: Path, command: str, limit_s: float, folders: Iterable[str] = ()) -> Ran:
    """Run a shell command in a copy of `folder`, in which the `folders` are made. Raises OSError.

    It has the operator's rights. On Linux all that it started is ended with it, also what has left its session.
    """
    with tempfile.TemporaryDirectory(prefix="kpd-import-") as scratch:
        home = Path(scratch) / "task"
        shutil.copytree(folder, home)
        for name in folders:
            (home / name).mkdir(parents=True, exist_ok=True)
        logs = tuple(str(Path(scratch) / name) for name in ("stdout", "stderr"))
        order = Order(
            ("/bin/sh", "-c", _SHELL, "sh", *logs, command), str(home), {**child_environment(), "TMPDIR": scratch},
            confined=False, grace_s=GRACE_S, most_processes=MOST_PROCESSES,
        )  # fmt: skip
        begun = time.monotonic()
        rc = asyncio.run(_kept(order, Path(scratch), limit_s))
        return Ran(command, rc, _tail(Path(logs[0])), _tail(Path(logs[1])), time.monotonic() - begun)


async def _kept(order: Order, folder: Path, limit_s: float) -> int | None:
    """Run a command under a keeper, and return its exit status; None where it runs out of time. Raises OSError."""
    process = await KeptProcess.start(order, folder)
    try:
        async with asyncio.timeout(limit_s):
            return (await process.wait()).rc
    except TimeoutError:
        return None
    finally:
        await process.end()


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TOLD))
        return file.read(TOLD).decode(errors="replace")
