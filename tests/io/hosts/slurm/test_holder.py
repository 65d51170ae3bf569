"""The program that holds an allocation from inside, run here as Slurm would run it."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.hosts.slurm import holder, queue

JOB = f"9{os.getpid():011d}"
FOLDER = Path(holder.PREFIX + JOB)
SOURCE = Path(holder.__file__).read_text()
PYTHON = (sys.executable, "-I", "-S")
ENTER = (*PYTHON, str(FOLDER / "holder.py"), "enter", JOB)


@pytest.fixture
def held() -> Iterator[subprocess.Popen[bytes]]:
    argv = (*PYTHON, "-c", SOURCE, "60", SOURCE)
    process = subprocess.Popen(argv, env=dict(os.environ, SLURM_JOB_ID=JOB), stdin=subprocess.DEVNULL)
    try:
        subprocess.run(("sh", "-c", queue.waiting(str(FOLDER), 50)), check=True)
        yield process
    finally:
        process.kill()
        process.wait()
        until = time.monotonic() + 10
        while FOLDER.exists() and time.monotonic() < until:
            time.sleep(0.05)


def entered(*command: str) -> str:
    return subprocess.run((*ENTER, *command), capture_output=True, text=True, timeout=20, check=False).stdout


def test_who_enters_gets_a_command_and_what_runs_inside_gets_none(held: subprocess.Popen[bytes]) -> None:
    assert entered("sh", "-c", "echo in $KPD_ALLOCATION") == f"in {JOB}\n"
    again = f"{shlex.join(ENTER)} echo out of the sandbox"
    assert entered("sh", "-c", f"{again}; echo after") == "after\n", "not for a child"
    orphan = f"(setsid sh -c 'sleep 0.3; {again}; echo after' &)"
    assert entered("sh", "-c", f"{orphan}; sleep 1.5") == "after\n", "not for an orphan"
    assert held.poll() is None


def test_a_folder_that_is_a_link_or_has_no_socket_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for name in ("real", "link", "none"):
        assert subprocess.run(("sh", "-c", queue.waiting(str(tmp_path / name), 1)), check=False).returncode == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a folder that belongs to somebody else")
def test_a_folder_that_somebody_else_has_made_is_not_entered(held: subprocess.Popen[bytes]) -> None:
    waits = ("sh", "-c", queue.waiting(str(FOLDER), 1))
    os.chown(FOLDER, 12345, -1)
    try:
        assert subprocess.run(waits, check=False).returncode == 1
    finally:
        os.chown(FOLDER, 0, -1)
    assert subprocess.run(waits, check=False).returncode == 0
