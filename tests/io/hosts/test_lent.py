"""Jobs on a host that a scheduler lends: how one ended that was taken away says nothing about it."""

import asyncio
import sys
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.lent import TAKEN_S
from tests.support.hosts.lent import LentMachine
from tests.support.hosts.local import at, helper_pid, host_at, spec, until


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


async def test_a_job_is_taken_away_also_where_the_pipe_outlives_its_helper(tmp_path: Path) -> None:
    lasts = tmp_path / "lasts"
    lasts.touch()
    enter = ("sh", "-c", f'"$@"; if [ -e {lasts} ]; then sleep 5; fi', "sh")
    async with host_at(tmp_path / "host", LentMachine(sys.executable, enter=enter)) as lent:
        once = f"test -e {tmp_path}/there && exit; touch {tmp_path}/there; exit 92"
        job = asyncio.create_task(lent.job(spec("a", once)))
        await until(lambda: at(lent, "jobs", "a", "rc").exists())
        await asyncio.sleep(TAKEN_S / 4)  # for its end to be told
        (helper,) = psutil.Process(helper_pid(lent)).children()
        helper.kill()
        with pytest.raises(HostError, match="was taken away while job a ran"):
            await job
        lasts.unlink()
        assert (await lent.job(spec("a", once))).rc == 0


async def test_how_a_job_ended_by_itself_is_kept(tmp_path: Path) -> None:
    async with host_at(tmp_path / "host") as former:
        await former.job(spec("a", "exit 3"))
    async with host_at(tmp_path / "host", LentMachine()) as lent:
        found = await lent.job(spec("a", "exit 3"))
        assert (found.rc, found.cached) == (3, True)
