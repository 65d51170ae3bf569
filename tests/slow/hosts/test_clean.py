"""Cleaning: what is old goes, then the least recently used until the rest fits; nothing that a running job may use."""

import asyncio

import psutil

from tests.support.hosts.clean import EVER, MAKE_MANY, far, names, stopped
from tests.support.hosts.remote_daemon import Far

__all__ = ["far"]


async def test_one_cleaning_at_a_time(far: Far) -> None:
    await far.run("a", MAKE_MANY)
    async with stopped(far) as (cleaner, first):
        second = asyncio.create_task(far.ask("clean", older_than_s=EVER))
        await far.ask("ping")
        assert psutil.Process(far.pid).children() == [cleaner] and not second.done()
    assert await asyncio.gather(first, second) == [{}, {}]
    assert names(far, "jobs") == []
