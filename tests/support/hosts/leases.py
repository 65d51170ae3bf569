"""Leases of tests: asked for, held by others, and shared by two users."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kpd.hosts.local import Local

# Says "overlap" if another script is between the same two lines: mkdir is for one at a time.
ALONE = "mkdir {0} || echo overlap; sleep 0.02; rmdir {0}"


def on(device: str, holder: str = "somebody", gpu: bool = False, tolerate: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"device": device, "gpu": gpu, "tolerate": tolerate, "holder": holder}


@contextlib.contextmanager
def held(path: Path, says: str = "") -> Iterator[None]:
    """The device is somebody's who is no helper."""
    path.parent.mkdir(exist_ok=True)
    with path.open("a+") as file:
        file.write(says)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def as_nobody(tmp_path: Path) -> Local:
    """The helper as another user, under the system's own Python: that one can read it."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 "$@"\n')
    python.chmod(0o755)
    return Local(str(python))


needs_two_users = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("setpriv") is None or not Path("/usr/bin/python3").exists(),
    reason="only root can be two users",
)


@pytest.fixture
def anyones() -> Iterator[Path]:
    """A folder that everyone can reach and write to; pytest's own are closed to others."""
    folder = Path("/tmp", f"kpd-test-{os.getpid()}")
    folder.mkdir(mode=0o1777)
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)
