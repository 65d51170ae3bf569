"""The `controlmaster` transport against a real sshd: which master it rides, and what is left of it."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts.local import at, host_at, spec, until
from tests.support.hosts.openssh import Place, begun, commands_in, gone, place_at, run
from tests.support.hosts.slow_pipe import Proxy, proxy
from tests.support.hosts.sshd import ssh_config, sshd


@pytest.fixture
def place(tmp_path: Path):
    with place_at(tmp_path) as place:
        yield place


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


@pytest.mark.slow
async def test_a_lost_connection_is_made_again_with_a_new_master(tmp_path: Path, place: Place) -> None:
    async with host_at(tmp_path / "host", place.transport()) as host:
        first = place.master(place.own())
        job = asyncio.create_task(
            host.job(spec("a", f"echo one; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo two"))
        )
        await until(lambda: at(host, "jobs/a/pgid").exists())
        os.kill(first, signal.SIGKILL)
        await until(lambda: not host.up)
        (tmp_path / "go").touch()
        assert (await job).stdout == b"one\ntwo\n"
        assert place.master(place.own()) not in (None, first)


@pytest.mark.slow
async def test_the_master_is_kept_between_channels_and_a_dead_one_is_replaced(place: Place) -> None:
    transport = place.transport()
    first = await transport.open()
    master = place.master(place.own())
    await first.close()
    second = await transport.open()
    assert place.master(place.own()) == master
    os.kill(master, signal.SIGKILL)  # leaves its socket
    await gone(master)
    assert place.own().is_socket()
    with pytest.raises(ConnectionResetError):
        await second.reader.readexactly(1)
    await second.close()
    third = await transport.open()
    assert place.master(place.own()) not in (None, master)
    await third.close()
    await transport.close()
    await transport.close()
    await until(lambda: place.processes() == [])


@pytest.mark.slow
async def test_only_one_session_is_needed_and_a_second_one_is_refused_in_words(tmp_path: Path) -> None:
    with place_at(tmp_path, MaxSessions=1) as place:
        async with host_at(tmp_path / "host", place.transport()) as host:
            assert (await host.job(spec("a", "echo ok"))).stdout == b"ok\n"
            busy = place.transport(control_path=str(place.own()))
            with pytest.raises(HostError, match=r"Session open refused by peer.*MaxSessions") as caught:
                await busy.open()
            assert caught.value.kind == "unreachable"
            assert (await host.job(spec("b", "echo ok"))).stdout == b"ok\n"


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


@pytest.mark.slow
async def test_a_named_master_without_room_for_a_session_is_left_alone(tmp_path: Path) -> None:
    with place_at(tmp_path, MaxSessions=1) as place:
        place.add(f"ControlPath {place.folder}/named")
        session = ["ssh", "-F", place.config, "box", "echo; exec sleep 60"]
        with place.operators(place.folder / "named") as master, begun(session) as busy:
            transport = place.transport()
            await (await transport.open()).close()
            assert place.master(place.own()) not in (None, master)
            await transport.close()
            assert place.master(place.folder / "named") == master and busy.poll() is None


@pytest.mark.slow
async def test_what_the_configuration_says_for_terminals_does_not_disturb(place: Place) -> None:
    said = ("RemoteCommand echo disturbed", "RequestTTY force", f"LocalForward {place.folder}/x 127.0.0.1:1")
    place.add(*said, "ControlMaster auto", "LogLevel QUIET", "PermitLocalCommand yes", "LocalCommand touch /disturbed")
    transport = place.transport()
    channel = await transport.open()
    assert [path.name for path in place.folder.iterdir()] == [place.own().name]
    await channel.close()
    await transport.close()


@pytest.mark.slow
async def test_a_master_whose_daemon_was_killed_is_taken_over(place: Place) -> None:
    script = (
        "import asyncio; from pathlib import Path; from kpd.hosts.openssh.master import ControlMaster\n"
        "async def main():\n"
        f"    await ControlMaster('box', False, 'python3', '', False, Path({str(place.folder)!r}), '',"
        f" Path({str(place.config)!r})).open()\n"
        "    print(flush=True); await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    with begun([sys.executable, "-c", script]):
        master = place.master(place.own())
    transport = place.transport()
    channel = await transport.open()
    assert place.master(place.own()) == master
    await channel.close()
    await transport.close()
    await until(lambda: place.processes() == [])


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


@pytest.mark.slow
async def test_owners_do_not_end_each_others_masters(place: Place) -> None:
    ours, theirs = place.transport(owner="ours"), place.transport(owner="theirs")
    channels = [await ours.open(), await theirs.open()]
    assert len(list(place.folder.glob("ssh-*"))) == 2
    await ours.close()
    await until(lambda: len(list(place.folder.glob("ssh-*"))) == 1)  # it answers first, and removes its socket then
    assert place.master(place.own()) is not None
    await theirs.close()
    for channel in channels:
        await channel.close()


async def test_through_a_jump_host(tmp_path: Path, place: Place) -> None:
    with sshd(tmp_path, "gate") as gate:
        place.config = ssh_config(tmp_path / "config", gate, place.server, box={"ProxyJump": "gate"})
        async with host_at(tmp_path / "host", place.transport()) as host:
            assert (await host.job(spec("a", "echo ok"))).stdout == b"ok\n"
        assert "Accepted publickey" in gate.log()


def through(network: Proxy, place: Place) -> None:
    """Lets the client's configuration lead through a proxy."""
    place.config.write_text(place.config.read_text().replace(f"Port {place.server.port}", f"Port {network.port}"))
    place.server.known_hosts.write_text(f"[127.0.0.1]:{network.port} {place.server.host_key_pub}\n")


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


@pytest.mark.slow
async def test_a_master_that_answers_and_leads_nowhere_is_ended(place: Place) -> None:
    async with proxy(place.server.port) as network:
        through(network, place)
        transport = place.transport()
        await (await transport.open()).close()
        master = place.master(place.own())
        network.freeze()
        opening = asyncio.create_task(transport.open())
        await until(lambda: any("ControlMaster=no" in line for line in place.processes()))
        await asyncio.sleep(0.1)  # for asyncio to take up its pipes
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await gone(master)
        network.thaw()
        channel = await transport.open()
        await channel.close()
        await transport.close()


@pytest.mark.slow
async def test_a_network_that_is_gone_without_a_word_ends_the_master(place: Place) -> None:
    async with proxy(place.server.port) as network:
        through(network, place)
        transport = place.transport()
        channel = await transport.open()
        network.freeze()
        with pytest.raises(ConnectionResetError):
            await channel.reader.readexactly(1)
        network.thaw()
        await (await transport.open()).close()
        await transport.close()


@pytest.mark.slow
async def test_a_named_master_whose_network_is_gone_is_left_alone(place: Place) -> None:
    async with proxy(place.server.port) as network:
        through(network, place)
        place.add(f"ControlPath {place.folder}/named")
        await asyncio.to_thread(run, place.opens(place.folder / "named"))  # the network needs this loop
        with place.operators(place.folder / "named") as master:
            network.freeze()
            transport = place.transport()
            opening = asyncio.create_task(transport.open())
            await until(lambda: any("-M" in line for line in place.processes()))
            network.thaw()
            await (await opening).close()
            assert place.master(place.own()) not in (None, master)
            await transport.close()
            assert place.master(place.folder / "named") == master
