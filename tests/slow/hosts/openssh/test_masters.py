"""The `controlmaster` transport against a real sshd: which master it rides, and what is left of it."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts.local import at, host_at, spec, until
from tests.support.hosts.openssh import Place, begun, gone, place_at, run
from tests.support.hosts.openssh_masters import place, through
from tests.support.hosts.slow_pipe import proxy

__all__ = ["place"]


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


async def test_only_one_session_is_needed_and_a_second_one_is_refused_in_words(tmp_path: Path) -> None:
    with place_at(tmp_path, MaxSessions=1) as place:
        async with host_at(tmp_path / "host", place.transport()) as host:
            assert (await host.job(spec("a", "echo ok"))).stdout == b"ok\n"
            busy = place.transport(control_path=str(place.own()))
            with pytest.raises(HostError, match=r"Session open refused by peer.*MaxSessions") as caught:
                await busy.open()
            assert caught.value.kind == "unreachable"
            assert (await host.job(spec("b", "echo ok"))).stdout == b"ok\n"


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


async def test_what_the_configuration_says_for_terminals_does_not_disturb(place: Place) -> None:
    said = ("RemoteCommand echo disturbed", "RequestTTY force", f"LocalForward {place.folder}/x 127.0.0.1:1")
    place.add(*said, "ControlMaster auto", "LogLevel QUIET", "PermitLocalCommand yes", "LocalCommand touch /disturbed")
    transport = place.transport()
    channel = await transport.open()
    assert [path.name for path in place.folder.iterdir()] == [place.own().name]
    await channel.close()
    await transport.close()


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
