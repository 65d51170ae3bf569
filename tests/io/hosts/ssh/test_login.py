"""Who is let in: identities in files and in an agent, and what is said to those who are not."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh
import pytest

from kpd.hosts.ssh.transport import Ssh
from tests.support.hosts.local import until
from tests.support.hosts.ssh import box, lets_in, refused, ssh_to
from tests.support.hosts.ssh_login import add, agent, config, nobody_home
from tests.support.hosts.sshd import Sshd, make_key, ssh_config

__all__ = ["agent", "box", "nobody_home"]

SECRET = "correct-horse"


def lock(key: Path) -> Path:
    """A copy of the key that needs a passphrase, and its public half."""
    locked = key.with_name("locked")
    locked.write_bytes(key.read_bytes())
    locked.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", SECRET, "-f", locked], check=True, capture_output=True)
    return locked


async def test_a_wrong_key(box: Sshd, tmp_path: Path) -> None:
    other = make_key(tmp_path / "other")
    error = await refused(ssh_to(box, config=config(box, tmp_path, IdentityFile=other)))
    assert error.kind == "auth"
    assert f"box: {box.user} is not let in at 127.0.0.1 port {box.port}" in error.message
    assert "it accepts publickey, and kpd tried 1 key" in error.message
    assert "ssh -v" in error.remedy


async def test_no_key_at_all(box: Sshd, tmp_path: Path) -> None:
    error = await refused(ssh_to(box, config=config(box, tmp_path)))
    assert error.kind == "auth" and "kpd tried 0 keys" in error.message


async def test_an_identity_that_is_missing_is_passed_over(box: Sshd, tmp_path: Path) -> None:
    path = config(box, tmp_path, CertificateFile="~/none", IdentityAgent="none")
    path.write_text(
        path.read_text() + f"IdentityFile {tmp_path}/none\nIdentityFile %d/{box.key.relative_to(tmp_path)}\n"
    )
    await lets_in(ssh_to(box, config=path))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", b"\xff\xfe"])
async def test_an_identity_that_is_broken_is_passed_over(content: bytes, box: Sshd, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(content)
    path = config(box, tmp_path)
    path.write_text(path.read_text() + f"IdentityFile {tmp_path}/broken\nIdentityFile {box.key}\n")
    await lets_in(ssh_to(box, config=path))


async def test_the_usual_identity(box: Sshd, tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_rsa").write_text("nonsense")
    (tmp_path / ".ssh" / "id_ed25519").write_bytes(box.key.read_bytes())
    await lets_in(ssh_to(box, config=config(box, tmp_path)))


async def test_the_usual_configuration_is_read_each_time(box: Sshd, tmp_path: Path) -> None:
    transport = Ssh("box", python=sys.executable)
    (tmp_path / ".ssh").mkdir()
    box.config.rename(tmp_path / ".ssh" / "config")
    await lets_in(transport)


async def test_a_key_with_a_passphrase_is_named_and_its_secret_is_not(box: Sshd, tmp_path: Path) -> None:
    locked = lock(box.key)
    error = await refused(ssh_to(box, config=config(box, tmp_path, IdentityFile=locked)))
    assert error.kind == "auth" and f"{locked} needs a passphrase" in error.message
    assert error.remedy == f"put it into the agent: ssh-add {locked}"
    assert SECRET not in str(error)


async def test_the_agent_opens_a_key_with_a_passphrase(
    box: Sshd, tmp_path: Path, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its public half beside it, also where only the named identities may be used."""
    locked = lock(box.key)
    add(agent, make_key(tmp_path / "other"), box.key)
    locked.with_name("locked.pub").write_bytes(box.key.with_name("client.pub").read_bytes())
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent))
    await lets_in(ssh_to(box, config=config(box, tmp_path)))
    await lets_in(ssh_to(box, config=config(box, tmp_path, IdentityFile=locked, IdentitiesOnly="yes")))
    await lets_in(ssh_to(box, config=config(box, tmp_path, IdentityFile=f"{locked}.pub", IdentitiesOnly="yes")))
    other = config(box, tmp_path, IdentityFile=tmp_path / "other", IdentitiesOnly="yes")
    assert "tried 1 key" in (await refused(ssh_to(box, config=other))).message
    (box.folder / "authorized_keys").write_text("")
    error = await refused(ssh_to(box, config=config(box, tmp_path, IdentityFile=locked)))
    assert "passphrase" not in error.message and "tried 2 keys" in error.message


@pytest.mark.parametrize("path", ["SSH_AUTH_SOCK", "$THE_AGENT", "${THE_AGENT}", "%d/agent", "~/agent"])
async def test_where_the_agent_is(
    path: str, box: Sshd, tmp_path: Path, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(agent, box.key)
    monkeypatch.setenv("THE_AGENT", str(agent))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent if path == "SSH_AUTH_SOCK" else tmp_path / "none"))
    await lets_in(ssh_to(box, config=config(box, tmp_path, IdentityAgent=path)))


async def test_an_agent_that_does_not_answer_is_done_without(
    box: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = config(box, tmp_path, IdentityFile=box.key)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "none"))
    await lets_in(ssh_to(box, config=path))

    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_unix_server(rude, tmp_path / "rude"):
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "rude"))
        await lets_in(ssh_to(box, config=path))


class PasswordOnly(asyncssh.SSHServer):
    """A host that wants a password from everybody."""

    def password_auth_supported(self) -> bool:
        return True

    def kbdint_auth_supported(self) -> bool:
        return True


@contextlib.asynccontextmanager
async def asking_for_a_password(tmp_path: Path) -> AsyncIterator[Path]:
    """The ssh_config that leads to it."""
    key = make_key(tmp_path / "their_key")
    async with asyncssh.listen("127.0.0.1", 0, server_factory=PasswordOnly, server_host_keys=[key]) as listener:
        known = tmp_path / "known"
        known.write_text(f"[127.0.0.1]:{listener.get_port()} {key.with_suffix('.pub').read_text()}")
        block = {"HostName": "127.0.0.1", "Port": listener.get_port(), "User": "me", "UserKnownHostsFile": known}
        yield ssh_config(tmp_path / "config", box=block)


async def test_a_host_that_wants_a_password(box: Sshd, tmp_path: Path) -> None:
    async with asking_for_a_password(tmp_path) as path:
        error = await refused(ssh_to(box, config=path))
        assert error.kind == "auth" and "password" in error.message and "controlmaster" in error.remedy


async def test_nobody_is_left_connected_after_a_refusal(box: Sshd, tmp_path: Path) -> None:
    await refused(ssh_to(box, config=config(box, tmp_path)))
    await until(lambda: not box.sessions())
