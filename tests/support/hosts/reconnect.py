"""A link that can be cut, under a host that reconnects."""

import os
import signal

from kpd.hosts.channel import Channel
from kpd.hosts.errors import HostError, HostErrorKind
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from tests.support.hosts.local import helper_pid, until


class Shaky(Local):
    """This machine, that cannot be reached for the first few tries."""

    def __init__(self, kind: HostErrorKind, tries: int) -> None:
        super().__init__()
        object.__setattr__(self, "ends", [HostError(kind, "away")] * tries)

    async def open(self) -> Channel:
        if self.ends:
            raise self.ends.pop()
        return await super().open()


async def cut(host: Host) -> None:
    """Kill the helper, and wait until that has been noticed."""
    pid = helper_pid(host)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not host.up)
