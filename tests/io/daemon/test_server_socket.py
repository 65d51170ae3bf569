"""One daemon a workspace, at one socket: what is left over, what is in the way, what is held."""

import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kpd.daemon import system
from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.daemon.system import AlreadyRunning, hold_lock
from kpd.subscription import Client
from tests.support.daemon.served import Answers
from tests.support.patience import PATIENCE_S


async def answers_at(path: Path) -> bool:
    async with Client(path, "test") as client:
        return bool(await client.query("echo", a=1) == {"a": 1})


async def test_a_socket_that_a_killed_daemon_left_is_replaced(
    folder: Path, journal: EventJournal, answers: Answers
) -> None:
    path = folder / "s"
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(path))
    stale.close()
    async with Server(path, journal, answers.query, answers.command):
        assert await answers_at(path)
    assert not path.exists()


async def test_a_file_that_is_no_socket_is_left_alone(folder: Path, journal: EventJournal, answers: Answers) -> None:
    path = folder / "s"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="not a socket"):
        async with Server(path, journal, answers.query, answers.command):
            raise AssertionError("it listens")
    assert path.read_text() == "precious"


async def test_only_the_owner_may_open_the_socket(folder: Path, journal: EventJournal, answers: Answers) -> None:
    async with Server(folder / "s", journal, answers.query, answers.command):
        assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o600


async def test_a_socket_that_has_been_replaced_is_not_removed(
    folder: Path, journal: EventJournal, answers: Answers
) -> None:
    path = folder / "s"
    async with Server(path, journal, answers.query, answers.command):
        other = socket.socket(socket.AF_UNIX)
        path.rename(folder / "old")
        other.bind(str(path))
    assert path.exists()
    other.close()


async def test_a_path_too_long_for_a_socket_is_an_error_in_words(
    folder: Path, journal: EventJournal, answers: Answers
) -> None:
    with pytest.raises(OSError, match="too long"):
        async with Server(folder / ("s" * 120), journal, answers.query, answers.command):
            raise AssertionError("it listens")


HOLDER = """
    import sys, time
    from pathlib import Path
    from kpd.daemon.system import hold_lock

    with hold_lock(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def end(child: subprocess.Popen[str], number: int) -> None:
    child.send_signal(number)
    child.wait(PATIENCE_S)
    assert child.stdin is not None and child.stdout is not None
    child.stdin.close()
    child.stdout.close()


def test_a_second_daemon_is_told_who_the_first_is(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    child = holder(path)
    with pytest.raises(AlreadyRunning, match=f"process {child.pid}") as caught, hold_lock(path):
        raise AssertionError("both hold it")
    assert caught.value.pid == child.pid
    end(child, signal.SIGKILL)
    with hold_lock(path):
        assert path.read_text() == f"{os.getpid()}\n"


def test_the_lock_ends_with_its_block_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with hold_lock(path), pytest.raises(AlreadyRunning), hold_lock(path):
        raise AssertionError("both hold it")
    assert path.exists()
    with hold_lock(path):
        pass


def test_a_child_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with hold_lock(path):
        child = subprocess.Popen(
            [sys.executable, "-c", "print('up', flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=False,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
    with hold_lock(path):
        pass
    child.communicate(b"\n", timeout=PATIENCE_S)


async def test_systemd_is_told_over_its_socket(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(folder / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(folder / "notify"))
        system.ready()
        system.stopping()
        assert [systemd.recv(100), systemd.recv(100)] == [b"READY=1", b"STOPPING=1"]


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
async def test_systemd_is_told_over_an_abstract_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"kpd-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{name}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        system.ready()
        assert systemd.recv(100) == b"READY=1"


def test_nobody_to_tell_is_no_trouble(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    system.ready()
    monkeypatch.setenv("NOTIFY_SOCKET", str(folder / "nobody"))
    system.ready()
