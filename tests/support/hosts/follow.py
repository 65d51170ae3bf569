"""A follower of a job's output that is interrupted."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts.local import until
from tests.support.hosts.remote_daemon import far_end
from tests.support.patience import PATIENCE_S

STEP = 16 << 20


async def interrupted(tmp_path: Path, steps: int) -> None:
    """A job writes `steps` times so many random bytes, each when it is told to; its helper dies in between."""
    script = (
        f"n=0; while [ $n -lt {steps} ]; do while [ ! -e go$n ]; do sleep 0.01; done;"
        f" head -c {STEP} /dev/urandom | tee -a copy; n=$((n + 1)); done; exit 7"
    )
    async with far_end(tmp_path / "host") as first:
        job = first.begin("a", script, limit_s=PATIENCE_S)
        folder = first.root / "jobs/a"
        await until(folder.exists)
        for step in range(steps // 2):
            (folder / f"go{step}").touch()
            await until(lambda step=step: len(job.out) >= STEP * step + STEP // 2)
        os.kill(first.pid, signal.SIGKILL)
        with pytest.raises(HostError):
            await job.ended()
        async with far_end(tmp_path / "host") as second:
            rest = second.follow("a", stdout=len(job.out))
            await asyncio.sleep(0)  # the request is sent first
            await second.ask("ping")  # and has been read: else the job may have ended before it is followed
            for step in range(steps // 2, steps):
                (folder / f"go{step}").touch()
                await until(lambda step=step: len(job.out) + len(rest.out) >= STEP * (step + 1))
            end = await rest.ended()
            assert (end["rc"], end["reason"], end["cached"]) == (7, "", False), end
            assert job.out + rest.out == (folder / "copy").read_bytes()
