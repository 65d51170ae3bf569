"""Keys and certificates for an sshd, and what OpenSSH's client says of them."""

import subprocess
from pathlib import Path

from kpd.hosts.errors import UnknownHostKey
from kpd.hosts.ssh.transport import Ssh
from tests.support.hosts.ssh import refused
from tests.support.hosts.sshd import Sshd, make_key


def run(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def public(path: Path) -> str:
    """Of the key at `path`: "type base64"."""
    return " ".join(path.with_name(f"{path.name}.pub").read_text().split()[:2])


def ssh_lets_in(server: Sshd, config: Path | None = None, host: str = "box") -> bool:
    """What OpenSSH's client thinks of the same."""
    command = ["ssh", "-F", config or server.config, "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", host]
    return subprocess.run([*command, "true"], capture_output=True).returncode == 0


async def unknown(transport: Ssh) -> UnknownHostKey:
    error = await refused(transport)
    assert isinstance(error, UnknownHostKey), error
    return error


def also_with(server: Sshd, *lines: str) -> None:
    """Start it anew with more in its configuration."""
    config = server.folder / "sshd_config"
    config.write_text(config.read_text() + "".join(f"{line}\n" for line in lines))
    server.restart()


def certify(server: Sshd, tmp_path: Path, principals: str) -> tuple[str, str]:
    """Have the host's key signed: the authority's key, and the host's own."""
    authority = make_key(tmp_path / "authority")
    run("ssh-keygen", "-q", "-s", authority, "-I", "box", "-h", "-n", principals, server.folder / "host.pub")
    also_with(server, f"HostCertificate {server.folder / 'host-cert.pub'}")
    return public(authority), server.host_key_pub
