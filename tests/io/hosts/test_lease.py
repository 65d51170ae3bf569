"""Leases: one at a time on a device, whoever asks and whatever dies; and the word at the end whether it was so."""

import asyncio
import contextlib
import getpass
import json
import os
import signal
import stat
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from tests.support.hosts.leases import ALONE, held, on
from tests.support.hosts.local import alive, linux_only, may_mount, until
from tests.support.hosts.remote_daemon import Far, Followed, far_end
from tests.support.patience import PATIENCE_S


@pytest.fixture
def leases(tmp_path: Path) -> Path:
    return tmp_path / "leases"


@pytest.fixture
async def far(tmp_path: Path, leases: Path):
    async with far_end(tmp_path / "host", leases) as far:
        yield far


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def queued(path: Path) -> int:
    """How many wait for the lock, as the kernel says."""
    inode = f":{path.stat().st_ino} "
    return sum("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())


async def test_two_helpers_never_have_one_device_at_once(tmp_path: Path, leases: Path, far: Far) -> None:
    script = ALONE.format(tmp_path / "alone")
    async with far_end(tmp_path / "other", leases) as other:
        jobs = await asyncio.gather(*(h.run(f"j{n}", script, on("cpu")) for n in range(12) for h in (far, other)))
    assert [job.out for job in jobs] == [b""] * 24
    assert sorted(job.end["token"] for job in jobs) == list(range(1, 25))
    assert {(job.end["rc"], job.end["reason"], job.end["taint"]) for job in jobs} == {(0, "", "")}


async def kill_when_it_has_the_lease(helper: Far, id: str, job: Followed) -> None:
    await job.until_noted("lease")
    os.kill(helper.supervisor(id), signal.SIGKILL)


@linux_only
async def test_no_two_overlap_while_supervisors_are_killed(tmp_path: Path, leases: Path, far: Far) -> None:
    """A job's end follows on its own begin: nobody else began in between, and nothing went on behind the others."""
    log = tmp_path / "log"
    script = "echo begin {0} >> {1}; (sleep {2}; echo end {0} >> {1}) & wait"
    async with far_end(tmp_path / "other", leases) as other:
        jobs = []
        for n in range(16):
            helper = (far, other)[n % 2]
            seconds = 0.02 if n % 3 else 300
            jobs.append((helper, f"j{n}", helper.begin(f"j{n}", script.format(n, log, seconds), on("cpu"))))
        await asyncio.gather(*(kill_when_it_has_the_lease(*killed) for killed in jobs[::3]))
        reasons = [(await job.ended())["reason"] for *_, job in jobs]
    assert reasons == ["" if n % 3 else "lost" for n in range(16)]
    lines = log.read_text().splitlines()
    assert sum(line.startswith("end") for line in lines) == 10
    for before, line in zip(["", *lines], lines, strict=False):
        assert line.startswith("begin") or before == line.replace("end", "begin")


async def test_other_devices_are_others_business(leases: Path, far: Far) -> None:
    with held(leases / "cpu.lock"):
        job = await far.run("a", "true", on("GPU-0123-abc"))
    assert (job.end["reason"], job.end["token"]) == ("", 1)
    assert job.notes == [{"lease": "GPU-0123-abc", "token": 1}]


@linux_only
async def test_first_come_first_served(tmp_path: Path, leases: Path, far: Far) -> None:
    log = tmp_path / "log"
    async with far_end(tmp_path / "other", leases) as other:
        jobs = []
        with held(leases / "cpu.lock"):
            for n in range(8):
                jobs.append((far, other)[n % 2].begin(f"j{n}", f"echo {n} >> {log}", on("cpu")))
                await until(lambda n=n: queued(leases / "cpu.lock") == n + 1)
        await asyncio.gather(*(job.ended() for job in jobs))
    assert log.read_text().split() == [str(n) for n in range(8)]
    assert [job.end["token"] for job in jobs] == list(range(1, 9))


async def test_the_file_and_the_notes_say_who_has_it(leases: Path, far: Far) -> None:
    go = far.root / "go"
    first = far.begin("a", f"while [ ! -e '{go}' ]; do sleep 0.01; done", on("cpu", "anna@box: " + "é" * 500))
    assert await first.until_noted("lease") == {"lease": "cpu", "token": 1}
    said = json.loads((leases / "cpu.lock").read_text())
    assert (said["token"], said["pid"]) == (1, far.supervisor("a"))
    assert said["holder"].startswith("anna@box: éé") and len(said["holder"]) == 200
    second = far.begin("b", "true", on("cpu"))
    assert await second.until_noted("waits") == {
        "waits": "lease", "holder": said["holder"], "pid": said["pid"], "since": said["since"], "foreign": "",
    }  # fmt: skip
    go.touch()
    assert (await first.ended())["reason"] == ""
    assert (await second.ended())["token"] == 2
    assert second.notes[-1] == {"lease": "cpu", "token": 2}
    assert [mode(leases), mode(leases / "cpu.lock")] == [0o1777, 0o644]


@linux_only
async def test_a_killed_supervisor_frees_the_device_and_what_it_leaves_is_ended_first(
    tmp_path: Path, leases: Path, far: Far
) -> None:
    async with far_end(tmp_path / "other", leases) as other:
        first = other.begin("a", "setsid sleep 300 & echo $!; wait", on("cpu"))
        await until(lambda: b"\n" in first.out)
        supervisor = other.supervisor("a")
        os.kill(other.pid, signal.SIGKILL)  # it would end what is left itself
        with pytest.raises(HostError):
            await first.ended()
        second = far.begin("b", f"grep -s '^State:.*sleeping' /proc/{int(first.out)}/status", on("cpu"))
        await second.until_noted("waits")
        assert not second.task.done()
        os.kill(supervisor, signal.SIGKILL)
        assert (await second.ended())["token"] == 2
        assert second.out == b"" and not alive(int(first.out))
        assert {"killed": int(first.out), "name": "sleep"} in second.notes


@linux_only
async def test_what_goes_on_elsewhere_is_left_alone(tmp_path: Path, leases: Path, far: Far) -> None:
    """Leftovers of another device, jobs that live, and processes that only look like a job's."""
    other_device = far.begin("other", "sleep 300 & echo $!; wait", on("gpu"))
    no_lease = far.begin("free", "echo $$; sleep 300")
    await until(lambda: b"\n" in other_device.out and b"\n" in no_lease.out)
    stranger = await asyncio.create_subprocess_exec("sleep", "300", env={"KPD_JOB": str(tmp_path / "no/such/job")})
    try:
        assert (await far.run("a", "true", on("cpu"))).end["reason"] == ""
        assert alive(int(other_device.out)) and alive(int(no_lease.out)) and stranger.returncode is None
    finally:
        stranger.kill()
        await stranger.wait()


@may_mount
async def test_a_job_of_a_container_with_other_files_is_none_of_ours(leases: Path, far: Far) -> None:
    """Its folder has the path of a finished job of ours, and is another one."""
    await far.run("old", "true", on("cpu"))
    folder = str(far.root / "jobs" / "old")
    script = 'mount -t tmpfs tmpfs "${1%/*}" && mkdir "$1" && echo there && exec sleep 300'
    inside = await asyncio.create_subprocess_exec(
        "unshare", "-rm", "sh", "-c", script, "sh", folder, env={**os.environ, "KPD_JOB": folder}, stdout=PIPE
    )
    try:
        assert inside.stdout is not None and await inside.stdout.readline() == b"there\n"
        assert (await far.run("a", "true", on("cpu"))).end["reason"] == ""
        assert inside.returncode is None and alive(inside.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            inside.kill()
        await inside.wait()


@pytest.mark.parametrize("same_helper", [True, False])
async def test_a_job_that_waits_is_a_running_one_and_can_be_killed(
    tmp_path: Path, leases: Path, far: Far, same_helper: bool
) -> None:
    with held(leases / "cpu.lock"):
        job = far.begin("a", "echo never", on("cpu"))
        await job.until_noted("waits")
        assert (await far.ask("running"))["jobs"] == ["a"]
        with pytest.raises(HostError) as caught:
            await far.ask("forget", job="a")
        assert caught.value.kind == "running"
        if same_helper:
            assert (await far.ask("kill", job="a"))["killed"]
        else:
            async with far_end(far.root, leases) as other:
                assert (await other.ask("kill", job="a"))["killed"]
        end = await job.ended()
    assert (end["reason"], end["rc"], end["seconds"], end["token"], job.out) == ("killed", -15, 0, 0, b"")
    assert not list(job.noted("lease"))


@linux_only
async def test_a_supervisor_that_is_killed_while_it_waits_waits_no_more(leases: Path, far: Far) -> None:
    with held(leases / "cpu.lock"):
        job = far.begin("a", "echo never", on("cpu"))
        await until(lambda: (leases / "cpu.lock").exists() and queued(leases / "cpu.lock") == 1)
        os.kill(far.supervisor("a"), signal.SIGKILL)
        assert (await job.ended())["reason"] == "lost"
        await until(lambda: queued(leases / "cpu.lock") == 0)
    assert job.out == b""
    assert (await far.run("b", "true", on("cpu"))).end["token"] == 1


async def test_the_limit_is_the_scripts_alone(leases: Path, far: Far) -> None:
    with held(leases / "cpu.lock"):
        job = far.begin("a", "echo ran", on("cpu"), limit_s=0.5)
        await job.until_noted("waits")
        await asyncio.sleep(1.0)
    end = await job.ended()
    assert (end["reason"], job.out) == ("", b"ran\n")
    late = await far.run("b", "sleep 300", on("cpu"), limit_s=0.2)
    assert (late.end["reason"], late.end["token"]) == ("timeout", end["token"] + 1)


async def test_a_lease_file_that_is_replaced_while_it_is_held_taints_the_job(leases: Path, far: Far) -> None:
    first = far.begin("a", "while [ ! -e go ]; do sleep 0.01; done", on("cpu"))
    await first.until_noted("lease")
    (leases / "cpu.lock").unlink()
    second = await far.run("b", "true", on("cpu"))
    (far.root / "jobs/a/go").touch()
    assert "the lease on cpu was lost" in (await first.ended())["taint"]
    assert (second.end["token"], second.end["taint"]) == (1, "")
    gone = await far.run("c", f"rm {leases}/cpu.lock", on("cpu"))
    assert gone.end["taint"] == "the lease on cpu was lost: its file was replaced"


async def test_a_loss_is_noted_while_the_script_runs_with_the_last_good_size(leases: Path, far: Far) -> None:
    job = far.begin("a", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two", on("cpu"))
    await job.until_noted("lease")
    (leases / "cpu.lock").unlink()
    note = await job.until_noted("lost")
    assert not job.task.done() and note["lost"] == "the lease on cpu was lost: its file was replaced"
    assert note["from"] in (0, 4)  # what was written when the lock was last looked at and there
    (far.root / "jobs/a/go").touch()
    assert (await job.ended())["taint"] == note["lost"] and len(job.noted("lost")) == 1


# A supervisor's lease, in a process of its own: after a good look at 4 bytes of output, another token comes with more.
LOOKS = """
import os, sys
from pathlib import Path
from kpd.hosts.helper.children import Children
from kpd.hosts.helper.lease import Lease, LeaseTerms
folder = Path(sys.argv[1])
output, notes = (os.open(str(folder / name), os.O_WRONLY | os.O_CREAT) for name in ("stdout", "notes"))
lease = Lease(LeaseTerms("cpu", folder / "cpu.lock", False, [], "me"), Children(), folder, output, notes)
assert lease.take()
os.write(output, b"one\\n")
lease.look()
os.write(output, b"two\\n")
(folder / "cpu.lock").write_text('{"token": 41, "holder": "", "pid": 1, "since": 0}')
lease.look()
lease.look()
"""


def test_a_loss_is_noted_once_with_what_was_written_before_the_last_good_look(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", LOOKS, str(tmp_path)], check=True, timeout=PATIENCE_S)
    notes = [json.loads(line) for line in (tmp_path / "notes").read_text().splitlines()]
    words = "the lease on cpu was lost: its file says token 41, not 1"
    assert notes == [{"lease": "cpu", "token": 1}, {"lost": words, "from": 4}]


async def test_a_lock_that_cannot_be_looked_at_is_lost_and_the_script_goes_on(leases: Path, far: Far) -> None:
    job = far.begin("a", "while [ ! -e go ]; do sleep 0.01; done; echo done", on("cpu"))
    await job.until_noted("lease")
    assert (await far.run("harm", f"mv '{leases}' '{leases}.away' && touch '{leases}'")).end["rc"] == 0
    assert "the lease on cpu was lost: " in (await job.until_noted("lost"))["lost"]
    (far.root / "jobs/a/go").touch()
    assert (await job.ended())["rc"] == 0 and job.out == b"done\n"


async def test_a_token_that_another_has_written_taints_the_job(leases: Path, far: Far) -> None:
    other = '{"token": 41, "holder": "", "pid": 1, "since": 0}'
    job = await far.run("a", f"echo '{other}' > {leases}/cpu.lock", on("cpu"))
    assert job.end["taint"] == "the lease on cpu was lost: its file says token 41, not 1"
    assert (await far.run("b", "true", on("cpu"))).end["token"] == 42


@pytest.mark.parametrize(
    "garbage", [
        "x", "\0\xff" * 3000, "[" * 5000, "[]", "null", '{"token": -5, "holder": "", "pid": 1, "since": 0}',
        '{"token": 1e999, "holder": "", "pid": 1, "since": 0}', '{"token": 3}',
        '{"token": 99999999999999999999999, "holder": "", "pid": 1, "since": 0}',
    ],
)  # fmt: skip
async def test_a_lease_file_with_garbage_counts_as_empty(leases: Path, far: Far, garbage: str) -> None:
    me = f"process {os.getpid()} of user {getpass.getuser()}"
    with held(leases / "cpu.lock", says=garbage):
        job = far.begin("a", "true", on("cpu"))
        assert (await job.until_noted("waits"))["holder"] == me
    assert (await job.ended())["token"] == 1
    assert job.end["taint"] == ""


async def test_a_token_never_goes_back_behind_one_that_was_seen(leases: Path, far: Far) -> None:
    with held(leases / "cpu.lock", says='{"token": 7, "holder": "h", "pid": 1, "since": 0}\n'):
        job = far.begin("a", "true", on("cpu"))
        assert (await job.until_noted("waits"))["holder"] == "h"
        (leases / "cpu.lock").write_text("rubbish")
    assert (await job.ended())["token"] == 8


async def test_who_waits_for_a_file_that_is_replaced_goes_by_the_new_one(leases: Path, far: Far) -> None:
    with held(leases / "cpu.lock"):
        job = far.begin("a", "true", on("cpu"))
        await job.until_noted("waits")
        (leases / "cpu.lock").unlink()
        assert (await job.ended())["token"] == 1


async def test_a_lease_that_fails_during_the_wait_ends_the_job_with_the_reason(leases: Path, far: Far) -> None:
    with held(leases / "cpu.lock"):
        job = far.begin("a", "echo never", on("cpu"))
        await job.until_noted("waits")
        (leases / "cpu.lock").unlink()
        (leases / "cpu.lock").mkdir()
        end = await job.ended()
    assert (end["rc"], end["reason"], job.out) == (-1, "lost", b"")
    assert "there was no lease" in end["taint"] and "cpu.lock" in end["taint"]
    assert len(job.noted("failed")) == 1


@pytest.mark.parametrize("device", ["", "../cpu", "a/b", ".hidden", "-x", "a b", "ä", "a\n", "x" * 101])
async def test_names_that_are_no_devices_are_refused(far: Far, leases: Path, device: str) -> None:
    with pytest.raises(HostError) as caught:
        await far.run("a", "true", on(device))
    assert caught.value.kind == "refused"
    assert not any(path.exists() for path in (far.root / "jobs/a", leases))


@pytest.mark.parametrize(
    "harm",
    [
        "touch {0}",
        "mkdir real; ln -s real {0}",
        "mkdir {0}; touch secret; ln -s ../secret {0}/cpu.lock",
        "mkdir {0}; mkfifo {0}/cpu.lock",
        "mkdir -p {0}/cpu.lock",
    ],
)
async def test_a_folder_that_cannot_hold_leases_is_said_before_the_job_starts(
    far: Far, leases: Path, harm: str
) -> None:
    assert (await far.run("harm", f"cd '{leases.parent}' && {harm.format(leases.name)}")).end["rc"] == 0
    with pytest.raises(HostError, match="lease") as caught:
        await far.run("a", "true", on("cpu"))
    assert caught.value.kind == "host"
    assert not (far.root / "jobs/a").exists()


@pytest.mark.parametrize("folder", ["no/such/place", "relative"])
async def test_leases_need_a_place(tmp_path: Path, folder: str) -> None:
    async with far_end(tmp_path / "host", Path(folder) if folder == "relative" else tmp_path / folder) as far:
        with pytest.raises(HostError, match="lease"):
            await far.run("a", "true", on("cpu"))


async def test_a_lease_outlives_the_link_and_the_helper(tmp_path: Path, leases: Path, far: Far) -> None:
    async with far_end(tmp_path / "other", leases) as first:
        job = first.begin("a", "while [ ! -e go ]; do sleep 0.01; done; echo done", on("cpu"))
        await job.until_noted("lease")
        os.kill(first.pid, signal.SIGKILL)
        with pytest.raises(HostError):
            await job.ended()
        waits = far.begin("b", "true", on("cpu"))
        await waits.until_noted("waits")
        async with far_end(tmp_path / "other", leases) as second:
            again = second.follow("a")
            (second.root / "jobs/a/go").touch()
            assert (await again.ended())["token"] == 1 and again.out == b"done\n"
            assert again.notes == [{"lease": "cpu", "token": 1}]
        assert (await waits.ended())["token"] == 2


async def test_a_script_cannot_keep_the_lease(leases: Path, far: Far) -> None:
    """It has no descriptor of the lock, and what it leaves behind is ended with it."""
    code = "import os; print(sorted(os.listdir('/dev/fd')))"
    job = await far.run("a", f"'{sys.executable}' -c \"{code}\"; (sleep 300 &) ; ls", on("cpu"))
    assert b"'4'" not in job.out.split(b"\n")[0]
    assert (await far.run("b", "true", on("cpu"))).end["token"] == job.end["token"] + 1
