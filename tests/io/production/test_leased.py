"""While a project's program runs, nothing else measures on its device; where something does, the program waits."""

import asyncio
import fcntl
from pathlib import Path

from kpd.hosts.host import JobSpec, LeaseRequest
from kpd.production.watch import sight
from tests.support.hosts.local import until
from tests.support.production.provers import content, made, place_at

LOOKS = 'flock -n "$LOCK" echo free >>"$SEEN" || echo leased >>"$SEEN"'
"""The program itself looks whether somebody else could take the device."""


async def test_timed_and_watched_runs_have_the_device_for_themselves(tmp_path: Path) -> None:
    seen, lock = tmp_path / "seen", tmp_path / "leases" / "cpu.lock"
    project = made(tmp_path / "prover", run=LOOKS, env={"LOCK": str(lock), "SEEN": str(seen)})
    before = content(tmp_path / "prover")
    async with place_at(project, tmp_path) as place:
        await place.host.job(JobSpec("before", "true", 9, lease=LeaseRequest("cpu")))  # makes the lock
        async with place.changing("to time") as change:
            assert [run.rc for run in await change.timed("AA", {"A": {}}, project.run)] == [0, 0]
        assert seen.read_text() == "leased\n" * 2
        await sight(place, runs=1)
        assert seen.read_text() == "leased\n" * 4

        with lock.open("a") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            looking = asyncio.create_task(sight(place, runs=0))
            await until(lambda: len(list((tmp_path / "host" / "jobs").glob("watch-*"))) == 1)
            await asyncio.sleep(0.5)
            assert not looking.done() and seen.read_text() == "leased\n" * 4, "another one measures"
        await looking
    assert seen.read_text() == "leased\n" * 5 and content(tmp_path / "prover") == before
