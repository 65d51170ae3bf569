"""Links that break, hosts that fall silent, and servers that behave as no sshd does."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from tests.support.hosts.local import names, until
from tests.support.hosts.ssh import box, host_by, ssh_to
from tests.support.hosts.ssh_loss import GUARD_S, proxied
from tests.support.hosts.sshd import Sshd

__all__ = ["box"]


async def test_an_upload_that_is_cut_leaves_no_half_file(box: Sshd, tmp_path: Path) -> None:
    data = os.urandom(6_000_000)
    async with (
        proxied(box, tmp_path) as (network, config),
        host_by(ssh_to(box, config=config), tmp_path / "host") as host,
    ):
        network.cut_after(2_000_000)
        network.down = True  # for connections to come
        upload = asyncio.create_task(host.stage({"f": data}))
        await until(lambda: not host.up)
        await until(lambda: not box.sessions())
        assert names(host, "blobs") == [] and names(host, "tmp") == []
        network.down = False
        host.retry_now()
        digest = await upload
        assert await host.read(f"trees/{digest}/f", len(data)) == data


async def test_a_network_that_swallows_everything_is_noticed(box: Sshd, tmp_path: Path) -> None:
    """By the keepalive alone: nobody writes, and nobody asks the helper."""
    async with proxied(box, tmp_path) as (network, config):
        channel = await ssh_to(box, config=config, keepalive_s=0.1).open()
        await asyncio.sleep(0.5)  # several answers to it
        network.freeze()
        with pytest.raises(OSError, match="keepalive"):
            async with asyncio.timeout(GUARD_S):
                await channel.reader.readexactly(1)
        await channel.close()


async def test_a_long_upload_over_a_slow_network_is_no_silence(box: Sshd, tmp_path: Path) -> None:
    async with (
        proxied(box, tmp_path) as (network, config),
        host_by(ssh_to(box, config=config, keepalive_s=0.2), tmp_path / "host") as host,
    ):
        network.delay_s = 0.1
        data = os.urandom(8_000_000)
        digest = await host.stage({"f": data})
        assert host.tries == 1 and await host.read(f"trees/{digest}/f", len(data)) == data


async def test_closing_while_the_host_stands_still_does_not_wait_for_it(box: Sshd, tmp_path: Path) -> None:
    async with proxied(box, tmp_path) as (network, config):
        transport = ssh_to(box, config=config)
        channel = await transport.open()
        network.freeze()
        async with asyncio.timeout(GUARD_S):
            await channel.close()
            await channel.close()
            await transport.close()


async def test_opening_can_be_given_up(box: Sshd, tmp_path: Path) -> None:
    """At any point; nothing stays connected."""
    async with proxied(box, tmp_path) as (network, config):
        network.delay_s = 0.02
        for n in range(12):
            opening = asyncio.create_task(ssh_to(box, config=config).open())
            await asyncio.sleep(n * 0.025)
            opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await opening).close()
        network.delay_s = 0
        await until(lambda: not box.sessions())
