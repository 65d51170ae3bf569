"""The `controlmaster` transport against a real sshd: which master it rides, and what is left of it."""

import asyncio
import os
import socket
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts.local import host_at, spec, until
from tests.support.hosts.openssh import Place, commands_in, run
from tests.support.hosts.openssh_masters import place, through
from tests.support.hosts.slow_pipe import proxy
from tests.support.hosts.sshd import ssh_config, sshd

__all__ = ["place"]


async def test_a_job_from_nothing_to_its_result_and_no_process_is_left(tmp_path: Path, place: Place) -> None:
    async with host_at(tmp_path / "host", place.transport()) as host:
        result = await host.job(spec("a", "cat; exit 3", stdin=bytes(300_000)))
        assert (result.rc, result.stdout) == (3, bytes(300_000))
        assert place.server.log().count("Starting session") == 1
        assert [path.stat().st_mode & 0o777 for path in place.folder.iterdir()] == [0o600]
        master = psutil.Process(place.master(place.own()))
        assert os.getsid(master.pid) != os.getsid(0) and master.terminal() is None
    await until(lambda: place.processes() == [])
    assert list(place.folder.iterdir()) == []


def stale(socket_path: Path) -> None:
    """A socket file that nobody listens on any more."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(socket_path))


async def test_the_operators_master_is_ridden_and_stays(tmp_path: Path, place: Place) -> None:
    mine = place.folder / "mine"
    stale(mine)
    transport = place.transport(control_path=str(mine))
    with pytest.raises(HostError, match="no master answers") as caught:
        await transport.open()
    assert caught.value.kind == "unreachable"
    (by_hand,) = commands_in(caught.value.remedy)
    run(by_hand)
    with place.operators(mine) as master:
        async with host_at(tmp_path / "host", transport) as host:
            assert (await host.job(spec("a", "echo ok"))).stdout == b"ok\n"
            assert list(place.folder.glob("ssh-*")) == []
        assert place.master(mine) == master


async def test_the_master_that_sshs_configuration_names_is_ridden_and_stays(place: Place) -> None:
    place.add(f"ControlPath {place.folder}/named-%C")
    transport = place.transport()
    await (await transport.open()).close()  # nobody has opened the one that is named
    assert place.own().is_socket() and not list(place.folder.glob("named-*"))
    await transport.close()
    with place.operators(place.folder / "named-%C") as master:
        channel = await transport.open()
        assert list(place.folder.glob("ssh-*")) == []
        await channel.close()
        await transport.close()
        assert place.master(place.folder / "named-%C") == master


async def test_a_master_ends_with_the_last_transport_that_uses_it(place: Place) -> None:
    """As after a change of the host's table: the old one is closed while the new one opens."""
    old, new, idle = place.transport(), place.transport(accept_new=True), place.transport()
    await (await old.open()).close()
    master = place.master(place.own())
    closing, opening = asyncio.create_task(old.close()), asyncio.create_task(new.open())
    await closing
    channel = await opening
    second = place.master(place.own())
    assert second not in (None, master)
    await (await old.open()).close()
    await old.close()
    await old.close()
    await idle.close()
    assert place.master(place.own()) == second
    await channel.close()
    await (await new.open()).close()
    await new.close()
    await until(lambda: place.processes() == [])
    assert list(place.folder.iterdir()) == []


async def test_through_a_jump_host(tmp_path: Path, place: Place) -> None:
    with sshd(tmp_path, "gate") as gate:
        place.config = ssh_config(tmp_path / "config", gate, place.server, box={"ProxyJump": "gate"})
        async with host_at(tmp_path / "host", place.transport()) as host:
            assert (await host.job(spec("a", "echo ok"))).stdout == b"ok\n"
        assert "Accepted publickey" in gate.log()


async def test_a_try_that_is_given_up_leaves_nothing(place: Place) -> None:
    async with proxy(place.server.port) as network:
        network.freeze()
        through(network, place)
        transport = place.transport()
        opening = asyncio.create_task(transport.open())
        await until(lambda: any("-M" in line for line in place.processes()))
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await until(lambda: place.processes() == [])
