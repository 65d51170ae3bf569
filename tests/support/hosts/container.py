"""A container that runs: mounts and processes of its own, entered by a command as one of docker is."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from tests.support.patience import PATIENCE_S

ROOM = "/mnt"  # empty in the container, and its own
MARK = ["sleep", f"3600.{os.getpid()}"]  # one test at a time in a process of pytest
MAKE = (
    "bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent", "--bind", "/", "/",
    "--tmpfs", ROOM, "--proc", "/proc", "--dev", "/dev", "--", *MARK,
)  # fmt: skip

has_containers = pytest.mark.skipif(
    shutil.which("bwrap") is None or shutil.which("nsenter") is None, reason="needs bubblewrap and nsenter"
)


@contextmanager
def container() -> Iterator[tuple[str, ...]]:
    """Start one; give the command that enters it."""
    with subprocess.Popen(MAKE) as outer:
        try:
            end = time.monotonic() + PATIENCE_S
            while not (found := [one.pid for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == MARK]):
                assert outer.poll() is None and time.monotonic() < end
                time.sleep(0.02)
            (inner,) = found
            yield ("nsenter", "-t", str(inner), "-U", "-m", "-p", "--preserve-credentials")
        finally:
            outer.kill()
            outer.wait(PATIENCE_S)
