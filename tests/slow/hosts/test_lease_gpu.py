"""A GPU is one job's alone: by an nvidia-smi that is a shell script here, and lists what the test says."""

from pathlib import Path

import pytest

from tests.support.hosts.gpu_leases import GPU, UNSEEN, WAIT, Smi, far, lease, nvidia, process
from tests.support.hosts.local import linux_only, until
from tests.support.hosts.remote_daemon import Far

__all__ = ["far", "nvidia"]

pytestmark = linux_only


async def test_others_are_waited_for(far: Far, nvidia: Smi) -> None:
    async with process() as pid:
        nvidia.lists((pid, "/opt/a, b/train, er"))
        job = far.begin("a", "echo ran", lease(), limit_s=0.9)
        assert await job.until_noted("waits") == {
            "waits": "foreign", "processes": [{"pid": pid, "name": "train, er"}],
        }  # fmt: skip
        await until(lambda: nvidia.times() >= 3)
        assert not job.noted("lease") and len(job.noted("waits")) == 1
        nvidia.lists()
        end = await job.ended()
    assert (job.out, end["reason"], end["taint"]) == (b"ran\n", "", "")
    assert job.noted("lease") == [{"lease": GPU, "token": 1}]


async def test_who_comes_and_goes_is_noted_with_the_part_of_the_output_it_may_have_spoilt(
    far: Far, nvidia: Smi
) -> None:
    script = f"echo one\n{WAIT}echo two; rm go\n{WAIT}echo three"
    job = far.begin("a", script, lease())
    await until(lambda: {"clear": 4} in job.noted("clear"))
    async with process() as pid:
        seen = {"foreign": [{"pid": pid, "name": "train"}], "from": 4}
        nvidia.lists((pid, "train"))
        (far.root / "jobs/a/go").touch()
        await until(lambda: {**seen, "to": 8} in job.noted("foreign"))  # a look may have come before the second line
        nvidia.lists()
        await until(lambda: {"clear": 8} in job.noted("clear"))
    (far.root / "jobs/a/go").touch()
    end = await job.ended()
    assert {note["from"] for note in job.noted("foreign")} == {4}
    assert end["taint"] == f"foreign processes on the GPU: train ({pid})" and end["reason"] == ""


async def test_processes_that_only_the_driver_sees_are_waited_for(far: Far, nvidia: Smi) -> None:
    """Those of another container."""
    nvidia.lists((UNSEEN, "[Not Found]"))
    job = far.begin("a", "true", lease())
    assert (await job.until_noted("waits"))["processes"] == [{"pid": UNSEEN, "name": "[Not Found]"}]
    nvidia.lists()
    assert (await job.ended())["reason"] == ""


@pytest.mark.parametrize("ours_is_seen", [True, False])
async def test_a_container_in_which_the_pids_of_nvidia_smi_mean_nothing(
    far: Far, nvidia: Smi, ours_is_seen: bool
) -> None:
    """What only the driver sees may be the job itself, unless the job is seen beside it."""
    ours = f"echo $$, sh, {GPU};" if ours_is_seen else ""
    job = far.begin("a", f"({ours} echo '{UNSEEN}, [Not Found], {GPU}') > {nvidia.path}; {WAIT}", lease())
    if ours_is_seen:
        assert (await job.until_noted("foreign"))["foreign"][0]["pid"] == UNSEEN
    else:
        assert "cannot see" in (await job.until_noted("unwatched"))["unwatched"]
    (far.root / "jobs/a/go").touch()
    assert bool((await job.ended())["taint"]) is ours_is_seen


async def test_an_nvidia_smi_that_hangs_holds_up_neither_a_kill_nor_the_job_for_ever(
    far: Far, nvidia: Smi, tmp_path: Path
) -> None:
    nvidia.instead(f"sleep 300 & touch {tmp_path}/hangs; wait")
    killed = far.begin("killed", "echo never", lease())
    await until((tmp_path / "hangs").exists)
    assert (await far.ask("kill", job="killed"))["killed"]
    assert (await killed.ended())["reason"] == "killed"
    job = await far.run("a", "echo ran", lease())
    assert job.noted("unwatched") == [{"unwatched": "nvidia-smi gave no answer within 5 s"}]
    assert (job.out, job.end["reason"], job.end["taint"]) == (b"ran\n", "", "")


async def test_an_nvidia_smi_that_hangs_while_the_script_runs(far: Far, nvidia: Smi) -> None:
    """The limit and the script's end are seen as ever."""
    job = far.begin("a", f"echo 'sleep 300' > {nvidia.does}; sleep 300", lease(), limit_s=3.0)
    assert (await job.ended())["reason"] == "timeout"
    assert nvidia.times() == 2


async def test_a_job_is_watched_again_by_nobody_after_a_hang(far: Far, nvidia: Smi) -> None:
    job = far.begin("a", f"echo 'sleep 300' > {nvidia.does}; {WAIT}", lease())
    await job.until_noted("unwatched")
    (far.root / "jobs/a/go").touch()
    assert ((await job.ended())["reason"], nvidia.times()) == ("", 2)
