"""Whose key is whose: a host is let speak only if a person, or known_hosts, has said that the key is its own."""

import subprocess
from pathlib import Path

import asyncssh
import pytest

from kpd.hosts.errors import HostError, HostKey, UnknownHostKey
from kpd.hosts.ssh.known_hosts import fingerprint
from tests.support.hosts.ssh import box, lets_in, refused, ssh_to
from tests.support.hosts.ssh_keys import certify, public, run, ssh_lets_in, unknown
from tests.support.hosts.sshd import Sshd, make_key, ssh_config, sshd

__all__ = ["box"]


async def test_an_unknown_key_is_shown_and_trusted_once_a_person_says_so(box: Sshd) -> None:
    box.known_hosts.unlink()
    transport = ssh_to(box)
    offered = (await unknown(transport)).offered
    assert offered == HostKey(f"[127.0.0.1]:{box.port}", box.host_key_pub, fingerprint(box.host_key_pub))
    assert not box.known_hosts.exists()
    await transport.trust(offered)
    await lets_in(transport)
    await lets_in(ssh_to(box))
    assert ssh_lets_in(box)


async def test_only_the_key_that_was_just_shown_can_be_trusted(box: Sshd, tmp_path: Path) -> None:
    box.known_hosts.unlink()
    transport = ssh_to(box)
    other = public(make_key(tmp_path / "other"))
    key = HostKey(f"[127.0.0.1]:{box.port}", other, fingerprint(other))
    for _ in range(2):
        with pytest.raises(HostError) as caught:
            await transport.trust(key)
        assert caught.value.kind == "host_key"
        await unknown(transport)
    assert not box.known_hosts.exists()


@pytest.mark.parametrize("file", ["none", "/dev/null", "/dev/null/known_hosts"])
async def test_a_configuration_that_keeps_no_keys_still_trusts_nobody(file: str, box: Sshd, tmp_path: Path) -> None:
    transport = ssh_to(box, config=ssh_config(tmp_path / "config", box, box={"UserKnownHostsFile": file}))
    offered = (await unknown(transport)).offered
    with pytest.raises(HostError) as caught:
        await transport.trust(offered)
    assert caught.value.kind == "config"
    await unknown(transport)


async def test_accept_new_trusts_the_first_key_and_no_other(box: Sshd) -> None:
    box.known_hosts.unlink()
    await lets_in(ssh_to(box, accept_new=True))
    assert box.known_hosts.read_text() == f"[127.0.0.1]:{box.port} {box.host_key_pub}\n"
    await lets_in(ssh_to(box, accept_new=True))
    assert ssh_lets_in(box)
    assert len(box.known_hosts.read_text().splitlines()) == 1
    box.restart(new_host_key=True)
    error = await refused(ssh_to(box, accept_new=True))
    assert error.kind == "host_key" and "CHANGED" in error.message


@pytest.mark.parametrize("hashed", [False, True])
async def test_a_changed_key_is_refused_and_the_remedy_heals_it(hashed: bool, box: Sshd) -> None:
    if hashed:
        run("ssh-keygen", "-q", "-H", "-f", box.known_hosts)
    await lets_in(ssh_to(box))
    old = box.host_key_pub
    box.restart(new_host_key=True)
    transport = ssh_to(box)
    error = await refused(transport)
    assert error.kind == "host_key" and not isinstance(error, UnknownHostKey)
    assert "CHANGED" in error.message
    assert fingerprint(old) in error.message and fingerprint(box.host_key_pub) in error.message
    assert f"{box.known_hosts} line 1" in error.message
    command = error.remedy[error.remedy.index("ssh-keygen -R") :]
    run("sh", "-c", command)
    await transport.trust((await unknown(transport)).offered)
    await lets_in(transport)


async def test_a_key_of_another_type_counts_as_changed(box: Sshd, tmp_path: Path) -> None:
    """Otherwise whoever sits between could get past the known key, and under accept_new unseen."""
    run("ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", tmp_path / "other")
    box.known_hosts.write_text(f"[127.0.0.1]:{box.port} {public(tmp_path / 'other')}\n")
    assert "CHANGED" in (await refused(ssh_to(box, accept_new=True))).message


async def test_no_common_way_to_encrypt(box: Sshd, tmp_path: Path) -> None:
    error = await refused(ssh_to(box, config=ssh_config(tmp_path / "config", box, Ciphers="aes128-cbc")))
    if error.kind == "config":  # else the server was quicker, and hung up without a word
        assert "no algorithm that both sides support" in error.message and "aes128-cbc" in error.message
    else:
        assert error.kind == "unreachable"


async def test_the_file_is_read_each_time(box: Sshd) -> None:
    transport = ssh_to(box)
    box.known_hosts.unlink()
    await unknown(transport)
    box.know()
    await lets_in(transport)


async def test_a_name_is_not_known_by_its_address(box: Sshd, tmp_path: Path) -> None:
    """Through a jump host the address would be the jump host's own."""
    config = ssh_config(tmp_path / "config", box=box.host_options | {"HostName": "localhost"})
    offered = (await unknown(ssh_to(box, config=config))).offered
    assert offered.host == f"[localhost]:{box.port}"
    assert not ssh_lets_in(box, config)


async def test_at_another_port_there_may_be_another_machine(box: Sshd, tmp_path: Path) -> None:
    """A key known for the bare name is the host's at each of its ports, and no other key has changed for that."""
    box.known_hosts.write_text(f"127.0.0.1 {box.host_key_pub}\n")
    await lets_in(ssh_to(box))
    assert ssh_lets_in(box)
    bare = f"127.0.0.1 {public(make_key(tmp_path / 'other'))}\n"
    box.known_hosts.write_text(bare)
    config = ssh_config(tmp_path / "config", box, StrictHostKeyChecking="accept-new")
    command = ["ssh", "-F", config, "-o", "BatchMode=yes", "box", "true"]
    run(*command)  # what ssh thinks is new it accepts here, and what has changed it does not
    box.known_hosts.write_text(bare)
    transport = ssh_to(box)
    await transport.trust((await unknown(transport)).offered)
    await lets_in(transport)
    assert box.known_hosts.read_text() == f"{bare}[127.0.0.1]:{box.port} {box.host_key_pub}\n"
    box.restart(new_host_key=True)
    box.known_hosts.write_text(f"127.0.0.1 {box.host_key_pub}\n{box.known_hosts.read_text().splitlines()[1]}\n")
    assert "CHANGED" in (await refused(ssh_to(box))).message
    with pytest.raises(subprocess.CalledProcessError):
        run(*command)


async def test_a_revoked_key(box: Sshd) -> None:
    with box.known_hosts.open("a") as file:
        file.write(f"@revoked * {box.host_key_pub}\n")
    error = await refused(ssh_to(box, accept_new=True))
    assert error.kind == "host_key" and "revoked" in error.message
    assert not ssh_lets_in(box)


async def test_a_certificate_for_another_host(box: Sshd, tmp_path: Path) -> None:
    authority, _ = certify(box, tmp_path, "other")
    box.known_hosts.write_text(f"@cert-authority * {authority}\n")
    assert (await refused(ssh_to(box, accept_new=True))).kind == "host_key"
    assert not ssh_lets_in(box)


async def test_a_jump_hosts_key_is_checked_alike(box: Sshd, tmp_path: Path) -> None:
    with sshd(tmp_path, "gate") as gate:
        config = ssh_config(tmp_path / "config", gate, box, box={"ProxyJump": "gate"})
        transport = ssh_to(box, config=config)
        gate.known_hosts.unlink()
        box.known_hosts.unlink()
        error = await unknown(transport)
        assert error.message.startswith("gate (on the way to box): ") and error.offered.key == gate.host_key_pub
        await transport.trust(error.offered)
        error = await unknown(transport)
        assert error.message.startswith("box: ") and error.offered.key == box.host_key_pub
        await transport.trust(error.offered)
        await lets_in(transport)
        gate.restart(new_host_key=True)
        error = await refused(transport)
        assert error.message.startswith("gate (on the way to box): ") and "CHANGED" in error.message


async def test_the_key_of_the_jump_host_is_not_taken_for_the_hosts(box: Sshd, tmp_path: Path) -> None:
    """The host goes by a name here, and known_hosts has the jump host's address with the host's port."""
    with sshd(tmp_path, "gate") as gate:
        named = {"HostName": "localhost", "ProxyJump": "gate"}
        config = ssh_config(tmp_path / "config", gate, box=box.host_options | named)
        await unknown(ssh_to(box, config=config))


async def test_a_host_that_does_not_own_the_key_it_shows(box: Sshd, tmp_path: Path) -> None:
    """It has not proved anything, so accept_new does not write the key down."""
    borrowed = asyncssh.import_public_key(box.host_key_pub)
    own = asyncssh.generate_private_key("ssh-ed25519")

    class Liar(type(own)):
        def encode_ssh_public(self) -> bytes:
            return borrowed.encode_ssh_public()

    own.__class__ = Liar
    known = tmp_path / "learned"
    async with asyncssh.listen("127.0.0.1", 0, server_host_keys=[own]) as listener:
        options = box.host_options | {"Port": listener.get_port(), "UserKnownHostsFile": known}
        error = await refused(ssh_to(box, config=ssh_config(tmp_path / "config", box=options), accept_new=True))
    assert error.kind == "host_key" and "does not prove" in error.message
    assert not known.exists()
