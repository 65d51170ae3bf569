"""The program that holds an allocation from inside, run here as Slurm would run it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kpd.hosts.slurm import holder, queue

NAME, ID = "kpd-0-test.2", f"9{os.getpid():011d}"
JOB = f"{NAME}-{ID}"
FOLDER = Path(holder.PREFIX + JOB)
SOURCE = Path(holder.__file__).read_text()
PYTHON = (sys.executable, "-I", "-S")
ENTER = (*PYTHON, str(FOLDER / "holder.py"), "enter", JOB)


@pytest.fixture
def held() -> Iterator[subprocess.Popen[bytes]]:
    process = holding()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        until = time.monotonic() + 10
        while FOLDER.exists() and time.monotonic() < until:
            time.sleep(0.05)


def holding() -> subprocess.Popen[bytes]:
    """Start a holder, and wait until one listens."""
    argv = (*PYTHON, "-c", SOURCE, "60", SOURCE, NAME)
    process = subprocess.Popen(argv, env=dict(os.environ, SLURM_JOB_ID=ID), stdin=subprocess.DEVNULL)
    subprocess.run(("sh", "-c", queue.waiting(str(FOLDER), 50)), check=True)
    return process


def begun(holding: subprocess.Popen[bytes]) -> psutil.Process:
    """Wait for the process that a holder consists of, beside the one that Slurm knows, and return it."""
    until = time.monotonic() + 10
    while not (found := psutil.Process(holding.pid).children()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return found[0]


def entered(*command: str) -> str:
    return subprocess.run((*ENTER, *command), capture_output=True, text=True, timeout=20, check=False).stdout


def test_who_enters_gets_a_command_and_what_runs_inside_gets_none(held: subprocess.Popen[bytes]) -> None:
    assert re.fullmatch(f"in {JOB}@\\d+\n", entered("sh", "-c", "echo in $KPD_ALLOCATION"))
    again = f"{shlex.join(ENTER)} echo out of the sandbox"
    assert entered("sh", "-c", f"{again}; echo after") == "after\n", "not for a child"
    orphan = f"(setsid sh -c 'sleep 0.3; {again}; echo after' &)"
    assert entered("sh", "-c", f"{orphan}; sleep 1.5") == "after\n", "not for an orphan"
    assert held.poll() is None


def test_a_folder_that_is_a_link_or_has_no_socket_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for name in ("real", "link", "none"):
        said = subprocess.run(("sh", "-c", queue.waiting(str(tmp_path / name), 1)), check=False)
        assert said.returncode == queue.NOBODY


def test_a_folder_that_a_killed_holder_has_left_is_not_entered(held: subprocess.Popen[bytes]) -> None:
    """Slurm kills at once what a controller has forgotten."""
    waits = ("sh", "-c", queue.waiting(str(FOLDER), 1))
    assert subprocess.run(waits, check=False).returncode == 0
    begun(held).kill()
    held.wait()
    assert (FOLDER / "socket").is_socket()
    assert subprocess.run(waits, check=False).returncode == queue.NOBODY
    shutil.rmtree(FOLDER)


def test_of_two_holders_of_one_job_the_second_is_entered_also_when_the_first_ends(
    held: subprocess.Popen[bytes],
) -> None:
    """A controller that crashed gives an id again, whose first job may still run on the node."""
    first, second = begun(held), holding()
    try:
        begun(second)
        held.kill()
        psutil.wait_procs([first], timeout=10)
        assert entered("echo", "in") == "in\n"
    finally:
        second.kill()
        second.wait()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a folder that belongs to somebody else")
def test_a_folder_that_somebody_else_has_made_is_not_entered(held: subprocess.Popen[bytes]) -> None:
    waits = ("sh", "-c", queue.waiting(str(FOLDER), 1))
    os.chown(FOLDER, 12345, -1)
    try:
        assert subprocess.run(waits, check=False).returncode == queue.NOBODY
    finally:
        os.chown(FOLDER, 0, -1)
    assert subprocess.run(waits, check=False).returncode == 0
