"""The ssh transport against a real sshd: ways to a host, and what comes through."""

import asyncio
import logging
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.link import Link
from kpd.hosts.ssh.transport import Ssh
from tests.support.hosts.local import spec, until
from tests.support.hosts.ssh import box, host_by, lets_in, refused, ssh_to
from tests.support.hosts.ssh_connect import host_that_fails
from tests.support.hosts.sshd import Sshd, ssh_config, sshd

__all__ = ["box"]


async def test_a_job_from_a_cold_start(box: Sshd, tmp_path: Path) -> None:
    async with host_by(ssh_to(box, python="python3"), tmp_path / "host") as host:
        result = await host.job(spec("a", "echo out; echo err >&2; cat; exit 3", stdin=b"in"))
        assert (result.rc, result.stdout, result.stderr) == (3, b"out\nin", b"err\n")
        digest = await host.stage({"dir/file": b"content"})
        assert await host.read(f"trees/{digest}/dir/file", 100) == b"content"
    await until(lambda: not box.sessions())


@pytest.mark.parametrize("sessions", [1, 10])
async def test_one_session_is_enough(sessions: int, tmp_path: Path) -> None:
    with sshd(tmp_path, MaxSessions=sessions) as box:
        async with host_by(ssh_to(box), tmp_path / "host") as host:
            results = await asyncio.gather(*(host.job(spec(f"j{n}", f"echo {n}")) for n in range(5)))
            assert [result.stdout for result in results] == [b"%d\n" % n for n in range(5)]


async def test_a_host_that_permits_no_session_says_so(tmp_path: Path) -> None:
    with sshd(tmp_path, MaxSessions=0) as box:
        error = await refused(ssh_to(box))
        assert error.kind == "config" and "no program starts" in error.message


async def test_addresses_with_user_and_port(box: Sshd, tmp_path: Path) -> None:
    options = {key: value for key, value in box.host_options.items() if key not in ("HostName", "Port", "User")}
    config = ssh_config(tmp_path / "config", User="nobody-of-that-name", **options)
    for address in (f"{box.user}@127.0.0.1:{box.port}", f"ssh://{box.user}@127.0.0.1:{box.port}"):
        await lets_in(ssh_to(box, address, config))


async def test_a_configuration_of_several_files(box: Sshd, tmp_path: Path) -> None:
    """Include inside Match, a Match by user and by program, `Match final`, tokens, and options nobody knows here."""
    included = tmp_path / "included"
    included.write_text(f"HostName 127.0.0.1\nPort {box.port}\nUserKnownHostsFile {tmp_path}/%k/known_%h\n")
    config = tmp_path / "config"
    config.write_text(f"""
Match originalhost lab-*,!lab-no exec "true"
    Include {included}
Match user nobody-of-that-name
    Port 1
Host lab-?
    User {box.user}
    IdentityFile ~/missing
    IdentityFile {box.key}
    NoSuchOption whatever
    HostKeyAlias box
    UserKnownHostsFile /dev/null
Match final host 127.0.0.1
    GlobalKnownHostsFile /dev/null
""")
    known = tmp_path / "box" / "known_127.0.0.1"
    known.write_text(f"box {box.host_key_pub}\n")
    await lets_in(ssh_to(box, "lab-1", config))
    known.unlink()
    assert (await refused(ssh_to(box, "lab-1", config))).kind == "host_key"


async def test_a_jump_host(box: Sshd, tmp_path: Path) -> None:
    with sshd(tmp_path, "gate") as gate:
        config = ssh_config(tmp_path / "config", gate, box, box={"ProxyJump": "gate"})
        async with host_by(ssh_to(box, config=config), tmp_path / "host") as host:
            assert gate.sessions() and box.sessions()
            assert (await host.job(spec("a", "echo hi"))).stdout == b"hi\n"
        await until(lambda: not gate.sessions() and not box.sessions())


async def test_jump_hosts_in_a_circle(box: Sshd, tmp_path: Path) -> None:
    config = ssh_config(tmp_path / "config", box, ProxyJump="gate")
    error = await refused(ssh_to(box, config=config))
    assert error.kind == "config" and "box, gate, gate" in error.message


async def test_a_jump_host_that_does_not_reach_the_host(box: Sshd, tmp_path: Path) -> None:
    box.stop()
    with sshd(tmp_path, "gate") as gate, sshd(tmp_path, "shut", AllowTcpForwarding="no") as shut:
        for server, kind in ((gate, "unreachable"), (shut, "config")):
            config = ssh_config(tmp_path / "config", server, box, box={"ProxyJump": server.name})
            error = await refused(ssh_to(box, config=config))
            assert error.kind == kind and error.message.startswith("box: ") and str(box.port) in error.message
        await until(lambda: not gate.sessions() and not shut.sessions())


async def test_a_jump_host_that_is_down_is_named(box: Sshd, tmp_path: Path) -> None:
    with sshd(tmp_path, "gate") as gate:
        config = ssh_config(tmp_path / "config", gate, box, box={"ProxyJump": "gate"})
    error = await refused(ssh_to(box, config=config))
    assert error.kind == "unreachable" and error.message.startswith("gate (on the way to box): ")


@pytest.mark.parametrize(("program", "kind"), [("/no/such/program", "config"), ("false", "unreachable")])
async def test_a_proxy_command_that_fails(program: str, kind: str, box: Sshd, tmp_path: Path) -> None:
    error = await refused(ssh_to(box, config=ssh_config(tmp_path / "config", box, ProxyCommand=program)))
    assert error.kind == kind


async def test_binary_output_comes_whole(box: Sshd, tmp_path: Path) -> None:
    every = bytes(range(256)) * 4096
    async with host_by(ssh_to(box), tmp_path / "host") as host:
        result = await host.job(spec("a", "cat; printf '\\377\\376\\000\\r\\n' >&2", stdin=every))
        assert (result.stdout, result.stderr) == (every, b"\xff\xfe\x00\r\n")


async def test_a_missing_python(box: Sshd) -> None:
    async with host_that_fails(box, "no_python", python="python-that-is-not-there") as error:
        assert "python-that-is-not-there" in error.message and "3.6" in error.remedy


async def test_a_python_that_is_too_old(box: Sshd, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'kpd needs Python 3.6 or later, this is 3.5' >&2\nexit 1\n")
    python.chmod(0o755)
    async with host_that_fails(box, "no_python", python=str(python)) as error:
        assert "this is 3.5" in error.message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("kill -KILL $$", "SIGKILL"),
        ("kill -HUP $$", "SIGHUP"),
        ("sh -c 'kill -TERM $$'; exit $?", "Terminated"),
        ("echo 'System is going down. Unprivileged users are not permitted' >&2; exit 254", "going down"),
    ],
)
async def test_a_helper_that_is_ended_while_it_starts(line: str, says: str, tmp_path: Path) -> None:
    """By a fault that passes, and the host has a python3 all the same."""
    with sshd(tmp_path, ForceCommand=line) as box:
        link = Link("box", await ssh_to(box).open())
        with pytest.raises(HostError) as caught:
            await link.start()
        assert caught.value.kind == "unreachable" and says in caught.value.message


async def test_a_connection_that_is_cut_while_the_helper_starts(tmp_path: Path) -> None:
    with sshd(tmp_path, ForceCommand="sleep 60") as box:
        link = Link("box", await ssh_to(box).open())
        starting = asyncio.create_task(link.start())
        await asyncio.sleep(0.1)  # for it to send the helper
        box.cut()
        with pytest.raises(HostError) as caught:
            await starting
        assert caught.value.kind == "unreachable"


async def test_an_account_that_may_not_log_in(tmp_path: Path) -> None:
    with sshd(tmp_path, ForceCommand="echo This account is not available.; exit 1") as box:
        async with host_that_fails(box, "no_python") as error:
            assert "it ended with 1" in error.message


async def test_a_login_shell_that_talks(tmp_path: Path) -> None:
    """Before the helper speaks, on both streams, as a .bashrc or a banner does."""
    banner = tmp_path / "banner"
    banner.write_text("Welcome!\n" * 50)
    noise = 'for i in $(seq 200); do echo "line $i of the news"; echo err >&2; done; eval "$SSH_ORIGINAL_COMMAND"'
    with sshd(tmp_path, ForceCommand=noise, Banner=banner) as box:
        async with host_by(ssh_to(box), tmp_path / "host") as host:
            assert (await host.job(spec("a", "echo hi"))).stdout == b"hi\n"


async def test_nothing_of_a_login_reaches_the_log_below_a_warning(
    box: Sshd, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with host_by(ssh_to(box), tmp_path / "host") as host:
        await host.job(spec("a", "true"))
    assert [record for record in caplog.records if record.name.startswith("asyncssh")] == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("Port twenty-two", "line 2"),
        ("Match nonsense box", "line 2"),
        ("CanonicalizeHostname perhaps", "line 2"),
        ("Ciphers", "Ciphers"),
        ('User "half', "line 2"),
        ("HostName " + "x" * 70, "label"),
        ("ProxyJump gate,-oProxyCommand=id", "'-oProxyCommand=id' is not an address"),
    ],
)
async def test_a_broken_configuration(line: str, says: str, box: Sshd, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"Host *\n  {line}\n")
    error = await refused(ssh_to(box, config=config))
    assert error.kind == "config" and says in error.message


async def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    error = await refused(Ssh("box", config_files=[tmp_path / "none"]))
    assert error.kind == "config" and str(tmp_path / "none") in error.message


async def test_a_name_that_has_no_address(box: Sshd, tmp_path: Path) -> None:
    config = ssh_config(tmp_path / "config", box, AddressFamily="inet6")
    error = await refused(ssh_to(box, config=config))
    assert error.kind == "unreachable" and "127.0.0.1" in error.message
