"""The proof that no test of hosts leaves a process behind, on one that does."""

import asyncio
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts import local
from tests.support.hosts.local import at, host_at, processes_of, spec, until


async def test_the_proof_finds_a_process_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LEAVE_S", 0.5)
    with pytest.raises(AssertionError):
        async with host_at(tmp_path / "host") as host:
            job = asyncio.create_task(host.job(spec("long", "sleep 60")))
            await until(lambda: at(host, "jobs/long/pgid").exists())
            await host.close()
            await asyncio.wait([job])
            assert isinstance(job.exception(), HostError)
    await until(lambda: processes_of(host.root) == [])
