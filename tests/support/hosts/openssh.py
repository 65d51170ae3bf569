"""What the tests of the `controlmaster` transport share: an sshd, and the proof that no ssh of ours is left."""

import asyncio
import contextlib
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from kpd.hosts.openssh.master import ControlMaster
from tests.places import ROOT
from tests.support.hosts.sshd import Sshd, sshd


class Place:
    """A server, a short folder for kpd's sockets, and the client's configuration."""

    def __init__(self, server: Sshd, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.config = server.config

    def transport(self, address: str = "", **more) -> ControlMaster:
        options = {"accept_new": False, "python": "python3", "control_path": "", "compression": False, **more}
        return ControlMaster(address or self.server.name, folder=self.folder, config_file=self.config, **options)

    def add(self, *lines: str) -> None:
        """To the server's block, which is the last one."""
        with self.config.open("a") as config:
            config.writelines(f"  {line}\n" for line in lines)

    def processes(self) -> list[list[str]]:
        """The command lines of all ssh clients that were told of our sockets or configuration."""
        return [line for _, line in self._processes()]

    def _processes(self) -> Iterator[tuple[psutil.Process, list[str]]]:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                line = process.cmdline()
                ours = str(self.folder) in " ".join(line) or str(self.config) in line
                if ours and process.name() == "ssh":
                    yield process, line

    def end_all(self) -> list[list[str]]:
        """Gives the processes a moment to end by themselves; what had to be killed."""
        psutil.wait_procs([process for process, _ in self._processes()], timeout=3)
        left = list(self._processes())
        for process, _ in left:
            process.kill()
        return [line for _, line in left]

    def own(self) -> Path:
        """The socket of kpd's own master: there must be just one."""
        (socket,) = self.folder.glob("ssh-*")
        return socket

    def master(self, socket: Path) -> int | None:
        """The process id of the master behind a socket."""
        return master_pid(self.config, self.server.name, socket)

    def opens(self, socket: Path) -> list[str | Path]:
        """The command that opens a master."""
        return ["ssh", "-F", self.config, "-fNM", "-S", socket, self.server.name]

    @contextlib.contextmanager
    def operators(self, socket: Path) -> Iterator[int]:
        """The operator's master, opened now if it is not there yet."""
        if self.master(socket) is None:
            run(self.opens(socket))
        pid = self.master(socket)
        assert pid is not None
        try:
            yield pid
        finally:
            exit_master(self.config, self.server.name, socket)


def run(command: Sequence[str | Path]) -> None:
    """To its end, which must be a good one."""
    devnull = subprocess.DEVNULL
    subprocess.run(command, check=True, stdin=devnull, stdout=devnull, stderr=devnull)


@contextlib.contextmanager
def begun(command: Sequence[str | Path]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has written its first byte; killed at the end."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=ROOT) as process:
        try:
            assert process.stdout is not None and process.stdout.read(1)
            yield process
        finally:
            process.kill()


def master_pid(config: Path, name: str, socket: Path) -> int | None:
    command = ["ssh", "-F", config, "-S", socket, "-O", "check", name]
    found = re.search(r"pid=(\d+)", subprocess.run(command, capture_output=True, text=True).stderr)
    return int(found[1]) if found else None


def exit_master(config: Path, name: str, socket: Path) -> None:
    command = ["ssh", "-F", config, "-S", socket, "-O", "exit", name]
    subprocess.run(command, capture_output=True)


@contextlib.contextmanager
def place_at(folder: Path, name: str = "box", **sshd_options: object) -> Iterator[Place]:
    """At its end, none of our ssh processes may be there: the test has closed what it opened."""
    sockets = Path(tempfile.mkdtemp(prefix="kpd-"))  # pytest's own folders are too long for a socket
    try:
        with sshd(folder, name, **sshd_options) as server:
            place = Place(server, sockets)
            try:
                yield place
            finally:
                left = place.end_all()
            assert left == []
    finally:
        shutil.rmtree(sockets)


def commands_in(remedy: str) -> list[list[str]]:
    """The command lines that a remedy quotes."""
    return [shlex.split(line) for line in re.findall(r"`([^`]+)`", remedy)]


async def gone(pid: int) -> None:
    """Waits until a process that is no child of ours has ended."""
    await asyncio.to_thread(psutil.wait_procs, [psutil.Process(pid)] if psutil.pid_exists(pid) else [], 5)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
