"""Connections of OpenSSH's client that are refused."""

import asyncio
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts.local import until
from tests.support.hosts.openssh import Place, place_at
from tests.support.patience import PATIENCE_S


@pytest.fixture
def place(tmp_path: Path):
    with place_at(tmp_path) as place:
        yield place


async def refused(place: Place, **more) -> HostError:
    """The error of a try, which may leave neither a process nor a socket."""
    transport = place.transport(**more)
    with pytest.raises(HostError) as caught:
        async with asyncio.timeout(PATIENCE_S):
            await transport.open()
    await until(lambda: place.processes() == [])
    assert list(place.folder.iterdir()) == []
    return caught.value
