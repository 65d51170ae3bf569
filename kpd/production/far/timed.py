"""Runs a command of a project in processes of its own, times it, and looks at what it has left."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List  # noqa: UP035 - evaluated under Python 3.6 too

from kpd.production.far.disk import sha_of

TOLD = 600  # bytes of a run's last words
TIMEOUT_RC = 124


def run(root: Path, command: str, cwd: str, limit_s: float, outputs: List[str]) -> Dict[str, Any]:  # noqa: UP006
    """Run the command once. Return its wall time in ns, its exit status, its last words, and the hash of each output.

    An output that the run has not written has no hash: what lies there is of an earlier run. Processes that the command
    leaves behind are ended.
    """
    before = {name: _stamp(root / name) for name in outputs}
    with tempfile.TemporaryFile() as said:
        began = time.monotonic_ns() if hasattr(time, "monotonic_ns") else int(time.monotonic() * 1e9)
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], cwd=str(root / cwd), stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            start_new_session=True,
        )  # fmt: skip
        try:
            rc = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            rc = TIMEOUT_RC
        ended = time.monotonic_ns() if hasattr(time, "monotonic_ns") else int(time.monotonic() * 1e9)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        said.seek(max(0, said.seek(0, os.SEEK_END) - TOLD))
        words = said.read().decode(errors="replace")
    after = {name: _stamp(root / name) for name in outputs}
    hashes = {name: sha_of(root / name) for name in outputs if after[name] and after[name] != before[name]}
    return {"ns": ended - began, "rc": rc, "said": words, "outputs": hashes}


def _stamp(path: Path) -> List[int]:  # noqa: UP006
    """Return what changes whenever a regular file is written; empty where there is none."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        found = path.lstat()
        if path.is_file() and not path.is_symlink():
            return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
    return []
