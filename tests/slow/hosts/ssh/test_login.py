"""Who is let in: identities in files and in an agent, and what is said to those who are not."""

import asyncio
from pathlib import Path

import pytest

from tests.support.hosts.ssh import lets_in, refused, ssh_to
from tests.support.hosts.ssh_login import add, agent, config, nobody_home
from tests.support.hosts.sshd import make_key, sshd

__all__ = ["agent", "nobody_home"]


async def test_the_named_identity_goes_before_the_agents_others(
    tmp_path: Path, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host gives up after a few keys; so does sshd with an agent that holds many."""
    with sshd(tmp_path, MaxAuthTries=2) as box:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(agent))
        add(agent, *(make_key(tmp_path / f"other{n}") for n in range(5)))
        await lets_in(ssh_to(box, config=config(box, tmp_path, IdentityFile=box.key)))
        add(agent, box.key)
        await lets_in(ssh_to(box, config=config(box, tmp_path, IdentityFile=f"{box.key}.pub")))
        error = await refused(ssh_to(box, config=config(box, tmp_path)))
        assert error.kind == "auth" and "it accepts publickey, and kpd tried 6 keys" in error.message


async def test_an_identity_with_a_certificate(tmp_path: Path) -> None:
    authority = make_key(tmp_path / "authority")
    with sshd(tmp_path, TrustedUserCAKeys=authority.with_suffix(".pub")) as box:
        key = make_key(tmp_path / "signed")
        command = ["ssh-keygen", "-q", "-s", authority, "-I", "me", "-n", box.user, key.with_suffix(".pub")]
        await (await asyncio.create_subprocess_exec(*command)).wait()
        await lets_in(ssh_to(box, config=config(box, tmp_path, IdentityFile=key)))
        certificate = (tmp_path / "signed-cert.pub").rename(tmp_path / "elsewhere.pub")
        assert (await refused(ssh_to(box, config=config(box, tmp_path, IdentityFile=key)))).kind == "auth"
        await lets_in(ssh_to(box, config=config(box, tmp_path, IdentityFile=key, CertificateFile=certificate)))
