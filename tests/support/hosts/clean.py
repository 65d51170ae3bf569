"""Jobs' folders in numbers, and what cleans them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import psutil
import pytest

from tests.support.hosts.local import until
from tests.support.hosts.remote_daemon import Far, far_end

EVER = 1e9  # seconds: nothing is as old as that
NOTHING = 0


@pytest.fixture
async def far(tmp_path):
    async with far_end(tmp_path / "host") as far:
        yield far


def names(far: Far, *kinds: str) -> list[str]:
    return sorted(path.name for kind in kinds for path in (far.root / kind).iterdir())


MANY = 8000
MAKE_MANY = f"cd out && seq {MANY} | xargs touch"  # whose sizes take a while to look at


@contextlib.asynccontextmanager
async def stopped(far: Far) -> AsyncIterator[tuple[psutil.Process, asyncio.Task[dict[str, object]]]]:
    """A cleaning of all there is that is held up, as on a slow file system; it goes on at the end."""
    found: list[psutil.Process] = []

    def appears() -> bool:
        found.extend(psutil.Process(far.pid).children())
        return found != []

    await until(lambda: not psutil.Process(far.pid).children())  # supervisors are gone
    cleaning = asyncio.create_task(far.ask("clean", older_than_s=EVER, keep_bytes=NOTHING))
    await until(appears)
    found[0].suspend()
    try:
        assert not cleaning.done()
        yield found[0], cleaning
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            found[0].resume()
