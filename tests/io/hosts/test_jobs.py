"""Jobs on a real host: once only, ended whole, followed whole, whatever dies in between."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.helper.wire import KEPT
from kpd.hosts.host import Host
from tests.support.hosts.local import (
    alive,
    at,
    helper_pid,
    host,
    host_at,
    linux_only,
    names,
    spec,
    supervisor_pid,
    until,
)

__all__ = ["host"]

EVERYTHING = 1 << 40  # bytes to keep
COUNT = 'echo ran >> "$TMPDIR/../../count"\n'
WAIT_FOR_GO = 'while [ ! -e "$TMPDIR/../../go" ]; do sleep 0.01; done\n'


def runs(host: Host) -> int:
    return at(host, "count").read_text().count("ran")


def let_go(host: Host) -> None:
    at(host, "go").touch()


async def test_a_job_has_its_folder_its_output_and_its_rc(host: Host) -> None:
    result = await host.job(spec("a", "pwd; ls out; echo bad >&2; echo made > out/file; exit 3"))
    folder = host.root / "jobs" / "a"
    assert (result.rc, result.reason, result.cached) == (3, "", False)
    assert (result.stdout, result.stderr) == (f"{folder}\n".encode(), b"bad\n")
    assert await host.read("jobs/a/out/file", 100) == b"made\n"
    assert at(host, "jobs/a/cmd").read_text().startswith("pwd;")


async def test_a_job_ended_by_its_own_signal_has_a_negative_rc(host: Host) -> None:
    result = await host.job(spec("a", "kill -SEGV $$"))
    assert (result.rc, result.reason) == (-signal.SIGSEGV, "")


async def test_one_id_asked_for_many_times_at_once_runs_once(host: Host) -> None:
    job = spec("same", COUNT + "sleep 0.2; echo done")
    results = await asyncio.gather(*(host.job(job) for _ in range(30)))
    assert {(r.rc, r.stdout, r.cached) for r in results} == {(0, b"done\n", False)}
    assert runs(host) == 1
    assert (await host.job(job)).cached
    assert runs(host) == 1


async def test_two_helpers_at_once_run_one_id_once(host: Host) -> None:
    async with host_at(Path(host.root)) as other:
        for number in range(10):
            job = spec(f"same{number}", COUNT)
            await asyncio.gather(*(h.job(job) for h in (host, other) for _ in range(3)))
            assert runs(host) == number + 1


async def test_many_jobs_run_side_by_side(host: Host) -> None:
    results = await asyncio.gather(*(host.job(spec(f"j{n}", f"echo {n}; exit {n}")) for n in range(40)))
    assert [(r.rc, r.stdout) for r in results] == [(n, f"{n}\n".encode()) for n in range(40)]


async def test_a_finished_job_is_answered_after_a_new_connection(host: Host) -> None:
    first = await host.job(spec("a", COUNT + "echo out; echo err >&2; exit 5"))
    await host.close()
    await host.connect()
    again = await host.job(spec("a", COUNT))
    assert again.cached and not first.cached
    assert (again.rc, again.stdout, again.stderr, again.seconds) == (5, b"out\n", b"err\n", first.seconds)
    assert runs(host) == 1


async def test_a_job_survives_kill_9_of_its_helper_and_is_followed_to_its_end(host: Host) -> None:
    script = (
        COUNT + "echo begin\n" + WAIT_FOR_GO + "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; exit 4"
    )
    started = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", script), lambda *_: started.set()))
    await started.wait()
    os.kill(helper_pid(host), signal.SIGKILL)
    await until(lambda: not host.up)
    assert await host.running() == ["a"]
    let_go(host)
    result = await job
    assert (result.rc, result.reason, result.cached) == (4, "", False)
    assert result.stdout.split(b"\n")[:2] == [b"begin", b"line 0"] and result.stdout.endswith(b"line 1999\n")
    assert runs(host) == 1 and await host.running() == []


async def test_a_job_survives_kill_9_of_the_daemon(host: Host) -> None:
    code = f"""
import asyncio
from pathlib import PurePosixPath
from kpd.hosts.host import Host, JobSpec
from kpd.hosts.local import Local
async def main():
    host = Host("local", PurePosixPath({str(host.root)!r}), Local())
    await host.connect()
    await host.job(JobSpec("a", {COUNT + "echo begin; " + WAIT_FOR_GO + "echo end"!r}, 30.0))
asyncio.run(main())
"""
    daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    await until(lambda: at(host, "jobs/a/stdout").exists() and at(host, "count").exists())
    helpers = psutil.Process(daemon.pid).children()
    daemon.kill()
    await daemon.wait()
    await until(lambda: not any(alive(helper.pid) for helper in helpers))
    assert await host.running() == ["a"]
    let_go(host)
    result = await host.job(spec("a", "exit 9"))
    assert (result.rc, result.stdout) == (0, b"begin\nend\n")
    assert runs(host) == 1


async def test_output_comes_while_the_job_runs(host: Host) -> None:
    pieces: list[tuple[str, bytes]] = []

    def seen(stream: str, data: bytes) -> None:
        pieces.append((stream, data))
        let_go(host)  # the job waits for this: were output held back until the end, there would be none

    result = await host.job(spec("a", "echo first\n" + WAIT_FOR_GO + "echo second >&2"), seen)
    assert result.reason == ""
    assert pieces == [("stdout", b"first\n"), ("stderr", b"second\n")]


async def test_bytes_pass_unchanged_and_stdin_leaves_no_file(host: Host) -> None:
    data = bytes(range(256)) * 5000 + b"\xff\xfe no newline"
    result = await host.job(spec("a", "ls -a >&2; cat", stdin=data))
    assert result.stdout == data
    assert b"stdin" not in result.stderr.split()


async def test_twenty_megabytes_come_whole_and_other_requests_are_answered_meanwhile(host: Host) -> None:
    size = 20 << 20
    got = {"stdout": 0, "stderr": 0}

    def count(stream: str, data: bytes) -> None:
        got[stream] += len(data)

    job = asyncio.create_task(host.job(spec("a", f"head -c {size} /dev/zero; echo end >&2"), count))
    while not job.done():
        await host.running()
    result = await job
    assert result.stdout == bytes(size) and result.stdout_cut == 0
    assert got == {"stdout": size, "stderr": 4}


async def test_of_a_longer_stream_the_end_is_kept_and_the_cut_is_counted(host: Host) -> None:
    size = KEPT + (5 << 20)
    for _ in ("live", "cached"):
        result = await host.job(spec("a", f"head -c {size} /dev/zero; echo end"))
        assert len(result.stdout) == KEPT and result.stdout.endswith(b"\0end\n")
        assert result.stdout_cut == size + 4 - KEPT
    assert at(host, "jobs/a/stdout").stat().st_size == size + 4


async def test_a_jobs_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    async with host_at(tmp_path) as host:
        result = await host.job(spec("a", "env; test -r /proc && cat /proc/$PPID/environ", env={"MINE": "yes é"}))
    text = result.stdout.decode()
    assert "hunter2" not in text
    names = {line.split("=")[0] for line in text.split("\0")[0].splitlines() if "=" in line}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "HOME", "LANG", "TMPDIR", "KPD_JOB", "MINE"}
    assert "MINE=yes é" in text and f"TMPDIR={host.root}/jobs/a" in text


@linux_only
async def test_a_job_has_no_descriptor_of_the_helper(host: Host) -> None:
    result = await host.job(spec("a", "ls /proc/$$/fd"))
    assert set(result.stdout.split()) <= {b"0", b"1", b"2", b"10"}  # 10: the shell's own, its script


@linux_only
async def test_a_job_runs_on_the_cpus_it_was_given(host: Host) -> None:
    for cpu in sorted(os.sched_getaffinity(0)):
        result = await host.job(spec(f"cpu{cpu}", "grep Cpus_allowed_list /proc/self/status", cpus=(cpu,)))
        assert result.stdout.split()[1] == str(cpu).encode()
    with pytest.raises(HostError, match="CPUs"):
        await host.job(spec("nowhere", "true", cpus=(4095,)))
    assert not at(host, "jobs/nowhere").exists()


async def test_a_forgotten_job_runs_again_and_a_running_one_cannot_be_forgotten(host: Host) -> None:
    seen = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", COUNT + "echo go\n" + WAIT_FOR_GO), lambda *_: seen.set()))
    await seen.wait()
    with pytest.raises(HostError) as caught:
        await host.forget("a")
    assert caught.value.kind == "running"
    let_go(host)
    await job
    at(host, "jobs/a/out").chmod(0o500)
    await host.forget("a")
    assert not at(host, "jobs/a").exists()
    assert not (await host.job(spec("a", COUNT))).cached
    assert runs(host) == 2


async def test_a_job_cannot_write_its_own_verdict(host: Host) -> None:
    forged = (
        """echo '{"rc": 0, "reason": "", "seconds": 0, "free": 99999999}' > rc; echo x > alive; sleep 0.1; exit 7"""
    )
    assert (await host.job(spec("a", forged))).rc == 7
    assert (await host.job(spec("a", forged))).rc == 7


@linux_only
async def test_a_job_whose_supervisor_is_killed_is_lost_and_what_is_left_of_it_ended(host: Host) -> None:
    seen = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", COUNT + "echo $$; sleep 300"), lambda *_: seen.set()))
    await seen.wait()
    await until(lambda: at(host, "jobs/a/pgid").exists())
    os.kill(supervisor_pid(host, "a"), signal.SIGKILL)
    result = await job
    assert (result.reason, result.cached) == ("lost", False)
    await until(lambda: not alive(int(result.stdout)))
    assert (await host.job(spec("a", COUNT))).reason == "lost" and runs(host) == 1
    await host.forget("a")
    assert (await host.job(spec("a", COUNT))).reason == "" and runs(host) == 2


async def test_after_a_reboot_a_job_that_ran_is_lost(host: Host) -> None:
    seen = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", "echo $$; sleep 300"), lambda *_: seen.set()))
    await seen.wait()
    await until(lambda: at(host, "jobs/a/pgid").exists())
    script, supervisor = map(int, at(host, "jobs/a/pgid").read_text().split())
    for pid in (helper_pid(host), supervisor):
        os.kill(pid, signal.SIGKILL)
    os.killpg(script, signal.SIGKILL)
    result = await job
    assert (result.reason, result.stdout) == ("lost", f"{script}\n".encode())
    assert await host.running() == []
    result = await host.job(spec("a", "true"))
    assert (result.reason, result.cached, result.stdout) == ("lost", True, f"{script}\n".encode())


async def test_clean_removes_what_is_old_and_has_ended(host: Host) -> None:
    digest = await host.stage({"a": b"1"})
    await host.job(spec("done", "true"))
    seen = asyncio.Event()
    job = asyncio.create_task(host.job(spec("busy", "echo go\n" + WAIT_FOR_GO), lambda *_: seen.set()))
    await seen.wait()
    await host.clean(3600, EVERYTHING)
    assert at(host, "jobs/done").exists()
    await host.clean(-1, EVERYTHING)
    assert not at(host, "jobs/done").exists()
    assert at(host, "jobs/busy").exists() and at(host, "trees", digest).exists()
    let_go(host)
    assert (await job).rc == 0
    await host.clean(-1, EVERYTHING)
    assert [names(host, name) for name in ("jobs", "trees", "blobs", "tmp")] == [[], [], [], []]
    assert await host.stage({"a": b"1"}) == digest


@linux_only
async def test_an_idle_helper_sleeps(host: Host) -> None:
    await host.job(spec("a", "true"))
    process = psutil.Process(helper_pid(host))
    await until(lambda: process.status() == psutil.STATUS_SLEEPING)
    before = process.num_ctx_switches()
    await asyncio.sleep(0.5)
    assert process.num_ctx_switches() == before  # a process that sleeps is never switched to


@linux_only
async def test_no_other_process_can_open_the_input(host: Host) -> None:
    result = await host.job(spec("a", "cat /proc/$$/fd/0; read -r line; echo $line", stdin=b"secret\n"))
    assert result.stdout == b"secret\n" and b"No such device" in result.stderr
