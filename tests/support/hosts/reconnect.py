"""A link that can be cut, under a host that reconnects."""

import os
import signal
from pathlib import Path

import pytest

from kpd.hosts.channel import Channel
from kpd.hosts.errors import HostError, HostErrorKind
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from tests.support.hosts.local import helper_pid, host_at, until


class Shaky(Local):
    """This machine, that cannot be reached for the first few tries."""

    def __init__(self, kind: HostErrorKind, tries: int) -> None:
        super().__init__()
        object.__setattr__(self, "ends", [HostError(kind, "away")] * tries)

    async def open(self) -> Channel:
        if self.ends:
            raise self.ends.pop()
        return await super().open()


@pytest.fixture
async def host(tmp_path: Path):
    async with host_at(tmp_path / "host") as host:
        yield host


async def cut(host: Host) -> None:
    """Kill the helper, and wait until that has been noticed."""
    pid = helper_pid(host)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not host.up)
