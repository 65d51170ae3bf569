"""Whose key is whose: a host is let speak only if a person, or known_hosts, has said that the key is its own."""

from pathlib import Path

import pytest

from tests.support.hosts.ssh import box, lets_in, refused, ssh_to
from tests.support.hosts.ssh_keys import also_with, certify, public, run, ssh_lets_in, unknown
from tests.support.hosts.sshd import Sshd, ssh_config

__all__ = ["box"]


async def test_a_folder_for_known_hosts_is_made(box: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "home" / "ssh" / "known_hosts"
    transport = ssh_to(box, config=ssh_config(tmp_path / "config", box, box={"UserKnownHostsFile": f"{known} /none"}))
    await transport.trust((await unknown(transport)).offered)
    assert (known.stat().st_mode & 0o777, known.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    await lets_in(transport)


async def test_the_usual_file_needs_no_name(box: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = tmp_path / ".ssh" / "known_hosts"
    options = {key: value for key, value in box.host_options.items() if "KnownHosts" not in key}
    config = ssh_config(tmp_path / "config", box=options)
    transport = ssh_to(box, config=config)
    await transport.trust((await unknown(transport)).offered)
    assert box.host_key_pub in usual.read_text()
    box.restart(new_host_key=True)
    assert (await refused(transport)).remedy.endswith(f"ssh-keygen -R '[127.0.0.1]:{box.port}'")


async def test_of_several_keys_the_known_one_is_asked_for(box: Sshd, tmp_path: Path) -> None:
    """The host would rather show its first, which nobody knows."""
    second = tmp_path / "ecdsa"
    run("ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", second)
    also_with(box, f"HostKey {second}")
    box.known_hosts.write_text(f"[127.0.0.1]:{box.port} {public(second)}\n")
    await lets_in(ssh_to(box))
    assert ssh_lets_in(box)


@pytest.mark.parametrize(
    "algorithms",
    [
        "ecdsa-*,ssh-ed25519-cert-v01@openssh.com,ssh-ed25519",  # as a system's crypto policy lists them
        "+ssh-rsa",
        "-ecdsa-*",
        "^rsa-*",
    ],
)
async def test_a_host_may_have_a_certificate_that_is_of_no_use(algorithms: str, box: Sshd, tmp_path: Path) -> None:
    """Its key is known, and nobody knows the authority: it is not asked for the certificate."""
    certify(box, tmp_path, "127.0.0.1")
    transport = ssh_to(box, config=ssh_config(tmp_path / "config", box, HostKeyAlgorithms=algorithms))
    await lets_in(transport)
    box.known_hosts.unlink()
    assert (await unknown(transport)).offered.key == box.host_key_pub


async def test_a_host_key_alias(box: Sshd, tmp_path: Path) -> None:
    config = ssh_config(tmp_path / "config", box, HostKeyAlias="cluster")
    assert (await unknown(ssh_to(box, config=config))).offered.host == "cluster"
    box.known_hosts.write_text(f"cluster {box.host_key_pub}\n")
    await lets_in(ssh_to(box, config=config))
    assert ssh_lets_in(box, config)


async def test_a_certificate_of_a_known_authority(box: Sshd, tmp_path: Path) -> None:
    authority, key = certify(box, tmp_path, "127.0.0.1")
    for lines, known in (
        (f"@cert-authority 127.0.0.* {authority}\n", True),
        (f"@cert-authority [127.0.0.1]:{box.port} {authority}\n", True),
        (f"[127.0.0.1]:{box.port} {key}\n", True),
        (f"@cert-authority * {authority}\n[127.0.0.1]:{box.port} {key}\n", True),
        (f"@cert-authority *.lab {authority}\n", False),
        (f"@cert-authority * {key}\n", False),
        (f"@cert-authority * {authority}\n@revoked * {authority}\n", False),
        (f"@cert-authority * {authority}\n@revoked * {key}\n", False),
    ):
        box.known_hosts.write_text(lines)
        assert ssh_lets_in(box) == known, lines
        if known:
            await lets_in(ssh_to(box))
        else:
            assert (await refused(ssh_to(box))).kind == "host_key"
