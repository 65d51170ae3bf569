"""A connection over SSH that fails."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import PurePosixPath

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from tests.support.hosts.local import until
from tests.support.hosts.ssh import ssh_to
from tests.support.hosts.sshd import Sshd


@contextlib.asynccontextmanager
async def host_that_fails(server: Sshd, kind: str, **more) -> AsyncIterator[HostError]:
    """What `connect` raises for a host whose helper does not start; afterwards no connection is left."""
    transport = ssh_to(server, **more)
    host = Host("box", PurePosixPath("unused"), transport)
    with pytest.raises(HostError) as caught:
        await host.connect()
    await host.close()
    assert caught.value.kind == kind
    yield caught.value
    await until(lambda: not server.sessions())
