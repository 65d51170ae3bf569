"""Several channels to one address: how many logins carry them, and what is left of one that ends."""

import asyncio
import contextlib
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.link import Link
from kpd.hosts.ssh.shared import CHANNELS
from kpd.hosts.ssh.transport import Ssh
from tests.support.hosts.local import until
from tests.support.hosts.ssh import box, ssh_to
from tests.support.hosts.ssh_loss import proxied
from tests.support.hosts.sshd import Sshd, sshd

__all__ = ["box"]


def logged_in(server: Sshd) -> int:
    return server.log().count("Accepted publickey")


async def linked(transport: Ssh) -> Link:
    """Return a helper that answers."""
    link = Link("box", await transport.open())
    await link.start()
    return link


async def test_transports_to_one_address_share_a_login_and_end_each_on_its_own(box: Sshd) -> None:
    first, second = ssh_to(box), ssh_to(box)
    links = await asyncio.gather(linked(first), linked(second), linked(ssh_to(box)))
    assert logged_in(box) == 1
    assert len(programs(box)) == 3
    await links[0].close()
    await first.close()
    await second.close()  # ends its channel, which nobody has closed
    await until(lambda: len(programs(box)) == 1)
    await links[2].ask("ping")
    await links[2].close()
    await until(lambda: not box.sessions())
    await links[1].close()


def programs(server: Sshd) -> list[int]:
    """Return the helpers that the server runs."""
    found = []
    for session in server.sessions():
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [one.pid for one in session.children(recursive=True) if one.name().startswith("python")]
    return found


@pytest.mark.parametrize("sessions", [1, 3])
async def test_a_server_that_allows_fewer_sessions_is_logged_in_to_more_often(sessions: int, tmp_path: Path) -> None:
    with sshd(tmp_path, MaxSessions=sessions) as box:
        links = await asyncio.gather(*(linked(ssh_to(box)) for _ in range(4)))
        await asyncio.gather(*(link.ask("ping") for link in links))
        assert logged_in(box) == -(-4 // sessions)
        await asyncio.gather(*(link.close() for link in links))


async def test_more_than_one_login_carries_are_carried_by_the_next(box: Sshd) -> None:
    links = await asyncio.gather(*(linked(ssh_to(box)) for _ in range(CHANNELS + 1)))
    assert logged_in(box) == 2
    await asyncio.gather(*(link.close() for link in links))
    await until(lambda: not box.sessions())


async def test_a_channel_that_is_given_up_leaves_no_program_on_a_login_that_others_use(
    box: Sshd, tmp_path: Path
) -> None:
    async with proxied(box, tmp_path) as (network, config):
        link = await linked(ssh_to(box, config=config))
        network.delay_s = 0.03
        for n in range(6):
            opening = asyncio.create_task(ssh_to(box, config=config).open())
            await asyncio.sleep(n * 0.03)
            opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await opening).close()
        network.delay_s = 0
        await until(lambda: len(programs(box)) == 1)
        await link.ask("ping")
        await link.close()


async def test_who_waits_for_a_login_shares_its_failure(box: Sshd) -> None:
    (box.folder / "authorized_keys").write_text("")
    tries = await asyncio.gather(*(ssh_to(box).open() for _ in range(8)), return_exceptions=True)
    assert {one.kind for one in tries if isinstance(one, HostError)} == {"auth"}
    assert box.log().count("Failed publickey") == 1


def test_what_one_event_loop_has_open_serves_no_other(tmp_path: Path) -> None:
    with sshd(tmp_path) as box:
        transport, other = ssh_to(box), ssh_to(box)

        async def twice() -> None:
            links = await asyncio.gather(linked(transport), linked(other))  # one of them waits for the other's login
            for link in links:
                await link.ask("ping")

        for _ in range(2):
            asyncio.run(twice())
        assert logged_in(box) == 2
