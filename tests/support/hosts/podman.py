"""A container of podman: its root is this machine's, and all that is written there is its own."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_S

NAME = "kernels"
PROGRAM = "sleep"  # what runs in it, as its first process
LIMITS = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")  # podman raises them else, which not every root may


@contextlib.contextmanager
def podman() -> Iterator[tuple[str, ...]]:
    """Start one, with a storage of its own; give the command that enters it.

    Skips the test where podman is not there, or starts no container: then it says why.
    """
    if shutil.which("podman") is None or shutil.which("runc") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no podman or runc: apt install podman runc")
    with tempfile.TemporaryDirectory(prefix="kpd-", dir="/tmp") as short:  # podman takes 50 characters of a path
        storage = ("--root", f"{short}/storage", "--runroot", f"{short}/run", "--tmpdir", f"{short}/tmp")
        ours = ("podman", *storage, "--runtime", "runc", "--cgroup-manager", "cgroupfs")
        begins = (*ours, "run", "-d", "--name", NAME, "--network=host", *LIMITS, "--rootfs", "/:O", PROGRAM, "3600")
        try:
            began = subprocess.run(begins, capture_output=True, text=True, timeout=PATIENCE_S)
            if began.returncode != 0:
                pytest.skip(f"podman starts no container here: {began.stderr.strip()[-300:]}")
            yield (*ours, "exec", "-i", NAME)
        finally:
            subprocess.run((*ours, "rm", "-f", "-t", "0", NAME), capture_output=True, timeout=PATIENCE_S, check=True)
            # Its storage stays mounted on itself where that is an overlay of a disk, and nothing can remove it then.
            subprocess.run(("umount", f"{short}/storage/overlay"), capture_output=True, timeout=PATIENCE_S, check=False)
