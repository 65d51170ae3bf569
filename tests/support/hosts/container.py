"""A container that runs: mounts and processes of its own, entered by a command as one of docker is."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import psutil
import pytest

from tests.support.patience import PATIENCE_S

ROOM = "/mnt"  # empty in the container, and its own
NUMBERS = count()
MAKE = (
    "bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent", "--bind", "/", "/",
    "--tmpfs", ROOM, "--proc", "/proc", "--dev", "/dev", "--",
)  # fmt: skip

has_containers = pytest.mark.skipif(
    shutil.which("bwrap") is None or shutil.which("nsenter") is None, reason="needs bubblewrap and nsenter"
)


@contextmanager
def container() -> Iterator[tuple[str, ...]]:
    """Start one; give the command that enters it. At the end nothing of it runs."""
    mark = ["sleep", f"3600.{os.getpid()}{next(NUMBERS):03}"]  # not that of one which is ending
    with subprocess.Popen([*MAKE, *mark]) as outer:
        inside: list[psutil.Process] = []
        try:
            end = time.monotonic() + PATIENCE_S
            while not (inside := [one for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == mark]):
                assert outer.poll() is None and time.monotonic() < end
                time.sleep(0.02)
            (inner,) = inside
            yield ("nsenter", "-t", str(inner.pid), "-U", "-m", "-p", "--preserve-credentials")
        finally:
            outer.kill()
            outer.wait(PATIENCE_S)
            assert not psutil.wait_procs(inside, PATIENCE_S)[1]  # it ends a moment later
