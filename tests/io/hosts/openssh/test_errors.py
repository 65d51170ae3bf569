"""What goes wrong on the way to a host through OpenSSH: its kind, in the host's own words, with what helps."""

import shutil
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError, HostKey
from kpd.hosts.host import Host
from kpd.hosts.link import Link
from kpd.hosts.openssh.failures import ManualCommands, explain
from kpd.hosts.openssh.master import destination
from tests.support.hosts.openssh import Place, commands_in, place_at, run
from tests.support.hosts.openssh_errors import place, refused
from tests.support.hosts.sshd import make_key, ssh_config, sshd

__all__ = ["place"]

BY_HAND = ManualCommands("ssh box", "ssh -fNM -S /s box")


async def test_the_configuration_cannot_make_an_unknown_key_known(place: Place) -> None:
    place.add("StrictHostKeyChecking no")
    place.server.known_hosts.unlink()
    assert (await refused(place)).kind == "host_key"


@pytest.mark.parametrize("accept_new", [False, True])
async def test_a_changed_key_is_a_loud_error_and_its_remedy_helps(place: Place, accept_new: bool) -> None:
    old = place.server.host_key_pub
    place.server.restart(new_host_key=True)
    err = await refused(place, accept_new=accept_new)
    assert err.kind == "host_key" and "CHANGED" in err.message and "SHA256:" in err.message
    assert old in place.server.known_hosts.read_text()
    forget, login = commands_in(err.remedy)
    assert login == ["ssh", "-F", str(place.config), "box"]
    run(forget)
    assert old not in place.server.known_hosts.read_text()
    transport = place.transport(accept_new=True)
    await (await transport.open()).close()
    await transport.close()


async def test_a_wrong_key_is_told_at_once_and_a_master_opened_by_hand_helps(place: Place, tmp_path: Path) -> None:
    shutil.copy(place.server.key, tmp_path / "good")
    place.server.key.unlink()
    place.server.key.with_suffix(".pub").unlink()
    make_key(place.server.key)
    err = await refused(place)
    assert err.kind == "auth" and "Permission denied (publickey)" in err.message
    by_hand = commands_in(err.remedy)[0]
    run([*by_hand, "-i", tmp_path / "good"])
    transport = place.transport()
    await (await transport.open()).close()
    await transport.close()


async def test_a_key_with_a_passphrase_never_asks(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    run(["ssh-keygen", "-q", "-p", "-N", "a passphrase", "-f", place.server.key])
    asked = place.server.folder / "asked"
    program = place.server.folder / "askpass"
    program.write_text(f"#!/bin/sh\ntouch {asked}\n")
    program.chmod(0o755)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("SSH_ASKPASS", str(program))
    assert (await refused(place)).kind == "auth"
    assert not asked.exists()


async def test_a_host_without_python(place: Place) -> None:
    host = Host("box", place.folder / "host", place.transport(python="/absent/python3"))
    with pytest.raises(HostError, match="/absent/python3") as caught:
        await host.connect()
    await host.close()
    assert caught.value.kind == "no_python"


async def test_a_python_that_is_ended_by_a_signal_while_it_starts(tmp_path: Path, place: Place) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -KILL $$\n")
    python.chmod(0o755)
    transport = place.transport(python=str(python))
    link = Link("box", await transport.open())
    with pytest.raises(HostError) as caught:
        await link.start()
    await transport.close()
    assert caught.value.kind == "unreachable"


async def test_a_user_who_may_not_run_commands(tmp_path: Path) -> None:
    with place_at(tmp_path, ForceCommand="echo not for you >&2; exit 1") as place:
        err = await refused(place)
        assert err.kind == "no_python" and "not for you" in err.message


async def test_a_login_shell_that_floods_its_stderr(tmp_path: Path) -> None:
    with place_at(tmp_path, ForceCommand="exec yes 3>&1 >&2") as place:
        err = await refused(place)
        assert err.kind == "config" and "prints without end" in err.message


async def test_a_host_that_is_down(place: Place) -> None:
    place.server.stop()
    err = await refused(place)
    assert err.kind == "unreachable" and "Connection refused" in err.message


async def test_a_jump_host_that_is_not_known_or_down(place: Place, tmp_path: Path) -> None:
    with sshd(tmp_path, "gate") as gate:
        place.config = ssh_config(tmp_path / "config", gate, place.server, box={"ProxyJump": "gate"})
        gate.known_hosts.unlink()
        err = await refused(place, accept_new=True)
        assert err.kind == "host_key" and "accept_new" not in err.remedy
        gate.know()
        gate.stop()
        err = await refused(place)
        assert err.kind == "unreachable" and "refused" in err.message


async def test_a_bad_configuration(place: Place) -> None:
    place.add("NoSuchOption yes")
    err = await refused(place)
    assert err.kind == "config" and "nosuchoption" in err.message


async def test_a_folder_too_long_for_a_socket(place: Place) -> None:
    deep = place.folder / ("x" * 100)
    deep.mkdir()
    short, place.folder = place.folder, deep
    assert (await refused(place)).kind == "config"
    place.folder = short


async def test_a_machine_without_ssh(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    err = await refused(place)
    assert err.kind == "config" and "OpenSSH client" in err.remedy


async def test_trust_says_where_ssh_keeps_its_keys(place: Place) -> None:
    with pytest.raises(HostError) as caught:
        await place.transport().trust(HostKey("box", "ssh-ed25519 AAAA", "SHA256:x"))
    assert caught.value.kind == "host_key"
    assert commands_in(caught.value.remedy) == [["ssh", "-F", str(place.config), "box"]]


@pytest.mark.parametrize(
    ("address", "arguments"),
    [
        ("box", ("--", "box")),
        ("me@box", ("--", "me@box")),
        ("me@box:2222", ("-p", "2222", "--", "me@box")),
        ("::1", ("--", "::1")),
        ("[::1]", ("--", "::1")),
        ("ssh://me@box:2222", ("-p", "2222", "--", "me@box")),
        ("me@[::1]:22", ("-p", "22", "--", "me@::1")),
        ("fe80::1%eth0", ("--", "fe80::1%eth0")),
    ],
)
def test_an_address_with_a_port(address: str, arguments: tuple[str, ...]) -> None:
    assert destination(address) == arguments


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        ("ssh: Could not resolve hostname box: Name or service not known", "unreachable", "resolve"),
        ("ssh: connect to host box port 22: No route to host", "unreachable", "No route"),
        ("ssh: connect to host box port 22: Connection timed out", "unreachable", "timed out"),
        ("Connection timed out during banner exchange", "unreachable", "banner"),
        ("client_loop: send disconnect: Broken pipe", "unreachable", "Broken pipe"),
        ("kex_exchange_identification: read: Connection reset by peer", "unreachable", "reset"),
        ("", "unreachable", "without a word"),
        ("Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures", "auth", "Too many"),
        (
            "sign_and_send_pubkey: signing failed for ED25519-SK: agent refused operation\n"
            "me@box: Permission denied (publickey).\nConnection closed by UNKNOWN port 65535",
            "auth",
            "agent refused operation; me@box: Permission denied",
        ),
        (
            "channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed\n"
            "Connection closed by UNKNOWN port 65535",
            "unreachable",
            "connect failed: Connection refused",
        ),
        (
            "Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa",
            "config",
            "ssh-rsa",
        ),
        (
            "System is booting up. Unprivileged users are not permitted to log in yet.\n"
            "me@box: Permission denied (publickey).",
            "unreachable",
            "System is booting up",
        ),
        ("@ WARNING: REVOKED HOST KEY DETECTED! @\nHost key verification failed.", "host_key", "revoked"),
        ("welcome\n\x1b[2Jto\a the box\n", "unreachable", "box: [2Jto the box"),
    ],
)
def test_words_of_ssh(words: str, kind: str, said: str) -> None:
    err = explain("box", words, BY_HAND)
    assert err.kind == kind and said in err.message and err.message.isprintable() and err.remedy
