"""A real OpenSSH server on loopback, with throw-away keys, for whoever runs the tests: root or not."""

import contextlib
import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tests.support.patience import PATIENCE_S


class Sshd:
    """One server and one user's side of it.

    `config` is an ssh_config with a `Host` block for it, `key` the client's private key, which may log in, and
    `known_hosts` a file that has the host's key (remove it for a host that is not known yet).
    """

    def __init__(self, folder: Path, name: str, options: Mapping[str, object]) -> None:
        self.name = name
        self.folder = folder
        self.user = getpass.getuser()
        self.port = _free_port()
        self.key = folder / "client"
        self.known_hosts = folder / "known_hosts"
        self.config = folder / "ssh_config"
        self._host_key = folder / "host"
        self._log = folder / "sshd.log"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def host_key_pub(self) -> str:
        """The server's public key, "type base64"."""
        return " ".join(self._host_key.with_suffix(".pub").read_text().split()[:2])

    @property
    def host_options(self) -> dict[str, object]:
        """What a client's `Host` block says about this server."""
        return {
            "HostName": "127.0.0.1",
            "Port": self.port,
            "User": self.user,
            "IdentityFile": self.key,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": self.known_hosts,
            "GlobalKnownHostsFile": "/dev/null",
        }

    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def prepare(self) -> None:
        """The keys and files, once."""
        self.folder.mkdir(parents=True)
        make_key(self._host_key)
        make_key(self.key)
        shutil.copy(self.key.with_suffix(".pub"), self.folder / "authorized_keys")
        self.know()
        ssh_config(self.config, self)
        options = {
            **self._options,  # first, because sshd takes an option's first value
            "Port": self.port,
            "ListenAddress": "127.0.0.1",
            "HostKey": self._host_key,
            "AuthorizedKeysFile": self.folder / "authorized_keys",
            "PermitRootLogin": "prohibit-password",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "StrictModes": "no",
            "UsePAM": "no",
            "UseDNS": "no",
            "PrintMotd": "no",
            "MaxStartups": 100,
            "LoginGraceTime": 20,
            "PidFile": "none",
            "LogLevel": "VERBOSE",
        }
        if _version() >= (9, 8):
            options["PerSourcePenalties"] = "no"
        lines = [f"{option} {value}\n" for option, value in options.items()]
        (self.folder / "sshd_config").write_text("".join(lines))

    def know(self) -> None:
        """Writes the host's present key into `known_hosts`, alone."""
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {self.host_key_pub}\n")

    def start(self) -> None:
        """Returns when it accepts connections."""
        if os.geteuid() == 0:
            with contextlib.suppress(OSError):  # systems whose sshd wants another folder have it already
                Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        command = [_program(), "-D", "-f", str(self.folder / "sshd_config"), "-E", str(self._log)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        give_up = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as client:
                if client.recv(4) == b"SSH-":
                    return
            if self._process.poll() is not None:
                break
            time.sleep(0.01)
        self.stop()
        raise RuntimeError(f"sshd does not start: {self.log()}")

    def sessions(self) -> list[psutil.Process]:
        """The server's processes that serve one connection each; what they have started is not among them."""
        if self._process is None:
            return []
        try:
            below = psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        found = []
        for process in below:
            with contextlib.suppress(psutil.Error):
                if process.name().startswith("sshd") and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def stop(self) -> None:
        """As a machine that falls: the server and its connections are gone at once. Jobs in their own sessions stay."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGSTOP)  # or it would go on taking connections while its sessions are ended
        self.cut()
        self._process.kill()
        self._process.wait()
        self._process = None

    def cut(self) -> None:
        """Ends the connections; the server goes on."""
        sessions = self.sessions()
        for process in sessions:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        give_up = time.monotonic() + PATIENCE_S
        while any(_alive(process) for process in sessions) and time.monotonic() < give_up:
            time.sleep(0.005)

    def restart(self, new_host_key: bool = False) -> None:
        """On the same port. `known_hosts` keeps the old key."""
        self.stop()
        if new_host_key:
            self._host_key.unlink()
            self._host_key.with_suffix(".pub").unlink()
            make_key(self._host_key)
        self.start()


@contextlib.contextmanager
def sshd(folder: Path, name: str = "box", **sshd_options: object) -> Iterator[Sshd]:
    """A running server whose files lie in `folder/name`, e.g. `sshd(tmp_path, MaxSessions=1)`."""
    _program()
    server = Sshd(folder / name, name, sshd_options)
    server.prepare()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def ssh_config(path: Path, *servers: Sshd, **more: Mapping[str, object] | object) -> Path:
    """An ssh_config that names all the servers.

    `more` adds options: to one block by its name, as in `box={"ProxyJump": "gate"}` (a name that is no server's becomes
    a block of its own), or else to all hosts, as in `ServerAliveInterval=5`.
    """
    blocks: dict[str, dict[str, object]] = {server.name: dict(server.host_options) for server in servers}
    for name, value in more.items():
        if isinstance(value, Mapping):
            blocks[name] = {**blocks.get(name, {}), **value}
        else:
            blocks.setdefault("*", {})[name] = value
    lines = []
    for name, options in blocks.items():
        lines += [f"Host {name}\n", *(f"  {option} {value}\n" for option, value in options.items()), "\n"]
    path.write_text("".join(lines))
    return path


def make_key(path: Path) -> Path:
    """An ed25519 key without a passphrase at `path`, its public half beside it."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "throw-away", "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path


def _alive(process: psutil.Process) -> bool:
    """A dead one may stay in the table for as long as its parent is stopped."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _program() -> str:
    program = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin")
    if program is None:
        reason = "no sshd here; install OpenSSH's server"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return program


def _version() -> tuple[int, int]:
    said = subprocess.run(["ssh", "-V"], capture_output=True, text=True).stderr
    found = re.match(r"OpenSSH_(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
