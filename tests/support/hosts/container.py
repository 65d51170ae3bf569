"""A container that runs: mounts and processes of its own, entered by a command as one of docker is."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from tests.support.patience import PATIENCE_S

ROOM = "/mnt"  # empty in the container, and its own
MAKE = (
    "bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent", "--bind", "/", "/",
    "--tmpfs", ROOM, "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", "echo up; exec sleep 3600",
)  # fmt: skip

has_containers = pytest.mark.skipif(
    shutil.which("bwrap") is None or shutil.which("nsenter") is None, reason="needs bubblewrap and nsenter"
)


@contextmanager
def container() -> Iterator[tuple[str, ...]]:
    """Start one; give the command that enters it."""
    with subprocess.Popen(MAKE, stdout=subprocess.PIPE) as outer:
        try:
            assert outer.stdout is not None
            assert outer.stdout.readline() == b"up\n"
            (inner,) = (one.pid for one in psutil.Process(outer.pid).children(recursive=True) if one.name() == "sleep")
            yield ("nsenter", "-t", str(inner), "-U", "-m", "-p", "--preserve-credentials")
        finally:
            outer.kill()
            outer.wait(PATIENCE_S)
