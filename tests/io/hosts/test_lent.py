"""Jobs on a host that a scheduler lends: how one ended that was taken away says nothing about it."""

from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts.lent import LentMachine
from tests.support.hosts.local import host_at, spec


async def test_a_job_that_a_former_allocation_took_with_it_is_run_again(tmp_path: Path) -> None:
    """The daemon was killed before it had removed it, and the nodes share the folder."""
    once = f"test -e {tmp_path}/there || {{ touch {tmp_path}/there; kill -TERM $$; }}; echo measured"
    async with host_at(tmp_path / "host") as former:
        assert (await former.job(spec("a", once))).rc == -15
    async with host_at(tmp_path / "host", LentMachine()) as lent:
        with pytest.raises(HostError, match="was taken away while job a ran") as caught:
            await lent.job(spec("a", once))
        assert caught.value.kind == "unreachable", "its step is begun again"
        again = await lent.job(spec("a", once))
        assert (again.rc, again.stdout) == (0, b"measured\n")


async def test_how_a_job_ended_by_itself_is_kept(tmp_path: Path) -> None:
    async with host_at(tmp_path / "host") as former:
        await former.job(spec("a", "exit 3"))
    async with host_at(tmp_path / "host", LentMachine()) as lent:
        found = await lent.job(spec("a", "exit 3"))
        assert (found.rc, found.cached) == (3, True)
