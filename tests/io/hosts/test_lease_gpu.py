"""A GPU is one job's alone: by an nvidia-smi that is a shell script here, and lists what the test says."""

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.helper import smi
from kpd.hosts.local import Local
from tests.support.hosts.gpu_leases import GPU, UNSEEN, WAIT, Smi, far, lease, nvidia, process
from tests.support.hosts.local import alive, linux_only, until
from tests.support.hosts.pythons import oldest_python
from tests.support.hosts.remote_daemon import Far, far_end

__all__ = ["far", "nvidia"]

pytestmark = linux_only
OTHER = "GPU-00000000-90a4-3943-f26d-b7c254a86f1a"


async def test_a_free_gpu_is_asked_before_and_after(far: Far, nvidia: Smi) -> None:
    job = await far.run("a", "echo ran", lease())
    assert (job.out, job.end["reason"], job.end["taint"], job.end["token"]) == (b"ran\n", "", "", 1)
    assert job.notes == [{"lease": GPU, "token": 1}, {"clear": 4}]  # bytes of output that were written alone
    question = "--query-compute-apps=pid,process_name,gpu_uuid --format=csv,noheader,nounits"
    assert nvidia.asked.read_text() == f"{question}\n" * 2


async def test_a_device_that_is_no_gpu_is_not_looked_at(far: Far, nvidia: Smi) -> None:
    assert (await far.run("a", "true", {**lease(), "gpu": False})).end["reason"] == ""
    assert nvidia.times() == 0


async def test_a_wait_for_others_ends_at_once_when_the_job_is_killed(far: Far, nvidia: Smi) -> None:
    async with process() as pid:
        nvidia.lists((pid, "train"))
        job = far.begin("a", "echo never", lease())
        await job.until_noted("waits")
        assert (await far.ask("kill", job="a"))["killed"]
        end = await job.ended()
    assert (end["reason"], end["seconds"], job.out) == ("killed", 0, b"")


async def test_some_may_stay_and_other_devices_do_not_matter(far: Far, nvidia: Smi) -> None:
    async with process() as pid, process() as other:
        nvidia.lists((pid, "/usr/bin/nvidia-cuda-mps-server"), (other, "train", OTHER))
        job = await far.run("a", "true", lease("Xorg", "nvidia-cuda-mps-server"))
    assert (job.end["reason"], job.end["taint"]) == ("", "")
    assert not job.noted("waits")


async def test_the_jobs_own_processes_do_not_count(far: Far, nvidia: Smi) -> None:
    script = f"""
        sleep 300 & child=$!
        (env -i setsid sh -c 'echo $$ > orphan; exec sleep 300' &)
        while [ ! -s orphan ]; do sleep 0.01; done
        for pid in $child $(cat orphan) $$; do echo "$pid, sleep, {GPU}"; done > {nvidia.path}
        wc -l < {nvidia.path}
    """
    job = await far.run("a", script, lease())
    assert int(job.out) == 3
    assert (job.end["reason"], job.end["taint"]) == ("", "")


async def test_who_is_there_at_the_end_taints_the_job(far: Far, nvidia: Smi) -> None:
    async with process() as pid:
        line = f"{pid}, python3, {GPU}"
        job = await far.run("a", f"echo 12345; echo '{line}' > {nvidia.path}", lease())
    assert job.end["taint"] == f"foreign processes on the GPU: python3 ({pid})"
    assert job.noted("foreign") == [{"foreign": [{"pid": pid, "name": "python3"}], "from": 0, "to": 6}]


async def test_what_a_dead_job_has_left_is_ended(far: Far, nvidia: Smi, tmp_path: Path) -> None:
    async with process(KPD_JOB=str(tmp_path / "elsewhere/jobs/gone")) as pid:
        nvidia.instead(f"case $(cut -d ' ' -f 3 /proc/{pid}/stat) in Z|'') : > {nvidia.path} ;; esac")
        nvidia.lists((pid, "bench"))
        job = await far.run("a", "true", lease())
        assert job.noted("killed") == [{"killed": pid, "name": "bench"}]
        assert not alive(pid)
    assert (job.end["reason"], job.end["taint"]) == ("", "")


async def test_what_a_living_job_does_is_waited_for(far: Far, nvidia: Smi, tmp_path: Path) -> None:
    async with far_end(tmp_path / "other") as other:
        busy = other.begin("busy", f"echo $$\n{WAIT}")
        await until(lambda: b"\n" in busy.out)
        nvidia.lists((int(busy.out), "bench"))
        job = far.begin("a", "true", lease())
        await job.until_noted("waits", "foreign")
        (other.root / "jobs/busy/go").touch()
        assert (await busy.ended())["reason"] == ""
        nvidia.lists()
        assert (await job.ended())["reason"] == ""
    assert not job.noted("killed")


async def test_a_process_that_the_driver_has_not_forgotten_yet_is_nobody(far: Far, nvidia: Smi) -> None:
    nvidia.lists((UNSEEN, "[Not Found]"))
    nvidia.instead(f"[ $(wc -l < {nvidia.asked}) -lt 3 ] || : > {nvidia.path}")
    job = await far.run("a", f"echo '{UNSEEN}, [Not Found], {GPU}' > {nvidia.path}", lease())
    assert not job.noted("waits") and (job.end["reason"], job.end["taint"]) == ("", "")


def zombie() -> subprocess.Popen[bytes]:
    """A process that has ended, which nobody has taken note of."""
    child = subprocess.Popen(["true"])
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.001)
    return child


async def test_a_process_that_is_ending_is_nobody(far: Far, nvidia: Smi) -> None:
    child = zombie()
    nvidia.lists((child.pid, "[No data]"))
    nvidia.instead(f"[ $(wc -l < {nvidia.asked}) -lt 2 ] || : > {nvidia.path}")
    job = await far.run("a", "true", lease())
    child.wait()
    assert not job.noted("waits") and (job.end["reason"], job.end["taint"]) == ("", "")


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("echo 'NVIDIA-SMI has failed: no driver'; exit 9", "NVIDIA-SMI has failed: no driver"),
        ("exit 3", "nvidia-smi failed"),
        (f"echo '[N/A], [N/A], {GPU}'", "does not say"),
        ("kill -SEGV $$", "nvidia-smi failed"),
    ],
)
async def test_a_job_goes_on_unwatched_when_nvidia_smi_fails(far: Far, nvidia: Smi, does: str, words: str) -> None:
    nvidia.instead(does)
    job = await far.run("a", "echo ran", lease())
    assert (job.out, job.end["reason"], job.end["taint"]) == (b"ran\n", "", "")
    (note,) = job.noted("unwatched")
    assert words in note["unwatched"]
    assert nvidia.times() == 1


async def test_warnings_beside_the_list_are_passed_over(far: Far, nvidia: Smi) -> None:
    nvidia.instead("echo 'WARNING: infoROM is corrupted at gpu 0000:00:06.0'; echo oh >&2")
    job = await far.run("a", "echo ran", lease())
    assert (job.out, job.end["taint"], job.noted("unwatched")) == (b"ran\n", "", [])


@pytest.mark.skipif(any(Path(place, smi.PROGRAM).exists() for place in smi.PLACES), reason="nvidia-smi is there")
async def test_a_job_goes_on_unwatched_without_nvidia_smi(tmp_path: Path) -> None:
    async with far_end(tmp_path / "host") as far:
        job = await far.run("a", "echo ran", lease())
    assert (job.out, job.end["reason"], job.end["taint"]) == (b"ran\n", "", "")
    assert job.notes[0] == {"unwatched": "there is no nvidia-smi on this host"}


async def test_two_jobs_take_turns_on_a_gpu(far: Far, tmp_path: Path) -> None:
    script = f"mkdir {tmp_path}/alone || echo overlap; sleep 0.05; rmdir {tmp_path}/alone"
    jobs = await asyncio.gather(*(far.run(f"j{n}", script, lease()) for n in range(6)))
    assert [job.out for job in jobs] == [b""] * 6
    assert sorted(job.end["token"] for job in jobs) == list(range(1, 7))


async def test_a_job_whose_supervisor_is_killed_on_the_gpu_makes_room(far: Far, nvidia: Smi, tmp_path: Path) -> None:
    async with far_end(tmp_path / "other", far.root / "leases") as other:
        first = other.begin("a", "setsid sleep 300 & echo $!; wait", lease())
        await until(lambda: b"\n" in first.out)
        left, supervisor = int(first.out), other.supervisor("a")
        nvidia.instead(f"case $(cut -d ' ' -f 3 /proc/{left}/stat) in Z|'') : > {nvidia.path} ;; esac")
        nvidia.lists((left, "sleep"))
        os.kill(other.pid, signal.SIGKILL)
        with pytest.raises(HostError):
            await first.ended()
        os.kill(supervisor, signal.SIGKILL)
        job = await far.run("b", "true", lease())
    assert (job.end["reason"], job.end["token"], job.end["taint"]) == ("", 2, "")
    assert not alive(left)


@pytest.mark.skipif(oldest_python() is None, reason="no python3 older than 3.11 here")
async def test_an_older_python_leases_and_watches_too(nvidia: Smi, tmp_path: Path) -> None:
    async with far_end(tmp_path / "host", transport=Local(str(oldest_python()))) as far:
        first = far.begin("a", WAIT, lease())
        await first.until_noted("lease")
        second = far.begin("b", "echo ran", lease())
        await second.until_noted("waits")
        (far.root / "jobs/a/go").touch()
        assert [(await job.ended())["token"] for job in (first, second)] == [1, 2]
        assert (await far.follow("b", stdout=2).ended())["cached"] and nvidia.times() == 4
        await far.ask("clean", older_than_s=-1, keep_bytes=0)
        assert (await far.ask("running"))["jobs"] == []
