"""Calls of the tools of a session over its socket."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kpd.client import ask
from kpd.wire import DaemonError
from tests.support.e2e.desk_place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path / "w")
    yield found
    found.store.close()


@contextlib.asynccontextmanager
async def called(place: Place, **budget: Any) -> Any:
    async with place.serve(**budget) as path:

        async def call(tool: str, **args: Any) -> Any:
            return await asyncio.to_thread(ask, path, "query", "tool", {"name": tool, "args": args})

        yield call


async def refused(call: Any, tool: str, **args: Any) -> DaemonError:
    with pytest.raises(DaemonError) as caught:
        await call(tool, **args)
    assert caught.value.remedy or caught.value.code == "usage", "what a wrong argument should be is in the message"
    return caught.value
