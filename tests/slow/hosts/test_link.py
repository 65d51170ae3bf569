"""The pipe to a helper: what starts it, what breaks it, and that nobody waits for ever."""

from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from tests.support.hosts.pythons import python_that


async def test_a_shell_that_talks_without_end(tmp_path: Path) -> None:
    host = Host("local", tmp_path, python_that(tmp_path, "exec yes"))
    with pytest.raises(HostError, match="prints without end") as caught:
        await host.connect()
    assert caught.value.kind == "config" and ".bashrc" in caught.value.remedy
    await host.close()
