"""A confined job that takes too much of the machine is ended, whichever of its processes does so."""

import os
import signal
import subprocess
import sys
import time

import pytest

from kpd.hosts.helper import usage
from kpd.hosts.host import JobSpec
from tests.support.hosts.local import linux_only
from tests.support.measure.measured import local_host

pytestmark = linux_only
MIB = 1 << 20
TAKES = "kept = bytearray({bytes})\nfor at in range(0, len(kept), 4096): kept[at] = 1\n"
LIMIT = 64 * MIB
JOBS = {
    "at once": TAKES.format(bytes=LIMIT * 3 // 2) + "time.sleep(60)",
    "in two processes": f"os.fork()\n{TAKES.format(bytes=LIMIT * 3 // 4)}time.sleep(60)",
    "in an orphan": f"os.fork() and os._exit(0)\nos.setsid()\n{TAKES.format(bytes=LIMIT * 3 // 2)}time.sleep(60)",
}


@pytest.mark.parametrize("how", JOBS)
async def test_a_job_has_no_more_memory_than_its_limit(tmp_path, how: str) -> None:
    script = f"exec {sys.executable} -S -c 'import os, time\n{JOBS[how]}'\n"
    if how == "in an orphan":
        script = script.replace("exec ", "") + "sleep 60\n"
    async with local_host(tmp_path / "host") as host:
        result = await host.job(JobSpec("job", script, 30.0, confined=True, memory=LIMIT))
    assert (result.reason, result.excess) == ("memory", "1/2 of the host's memory")


async def test_pages_that_processes_share_count_once(tmp_path) -> None:
    shares = f"{TAKES.format(bytes=LIMIT * 2 // 3)}\n[os.fork() for _ in range(2)]\ntime.sleep(1.5)"
    script = f"exec {sys.executable} -S -c 'import os, time\n{shares}'\n"
    async with local_host(tmp_path / "host") as host:
        result = await host.job(JobSpec("job", script, 30.0, confined=True, memory=LIMIT))
    assert (result.rc, result.reason) == (0, "")


def test_a_job_may_have_half_of_what_there_is() -> None:
    whole = usage.machine_memory()
    assert whole > 64 * MIB
    assert usage.JobUsage(0).memory == whole // 2
    assert usage.JobUsage(0).exceeds() == ""


def test_threads_are_counted_over_all_processes() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60; exit"]) as shell:
        while len(found := usage.descendants()) < 3:
            time.sleep(0.01)
        assert usage.JobUsage(0, threads=3).exceeds() == ""
        assert usage.JobUsage(0, threads=2).exceeds() == "threads"
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        shell.wait()
