"""Runs a command of a folder once, in a copy, to see what it prints."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kpd.workspace.environment import child_environment

TOLD = 1 << 20
"""Bytes of each stream that are read, from its end."""


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

    All processes of its session are ended with it.
    """
    with tempfile.TemporaryDirectory(prefix="kpd-import-") as scratch:
        home = Path(scratch) / "task"
        shutil.copytree(folder, home)
        for name in folders:
            (home / name).mkdir(parents=True, exist_ok=True)
        logs = [Path(scratch) / name for name in ("stdout", "stderr")]
        begun = time.monotonic()
        with logs[0].open("wb") as out, logs[1].open("wb") as err:
            child = subprocess.Popen(
                ["/bin/sh", "-c", command], cwd=home, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True, env={**child_environment(), "TMPDIR": scratch},
            )  # fmt: skip
            try:
                rc: int | None = child.wait(limit_s)
            except subprocess.TimeoutExpired:
                rc = None
            finally:
                _end(child)
        return Ran(command, rc, _tail(logs[0]), _tail(logs[1]), time.monotonic() - begun)


def _end(child: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        child.wait()


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TOLD))
        return file.read(TOLD).decode(errors="replace")
