"""How jobs end: at their limit, killed, cancelled; and nothing of them is left."""

import asyncio
import os
import shlex
import signal
import sys

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from tests.support.hosts.local import alive, at, helper_pid, host, linux_only, spec

__all__ = ["host"]


@pytest.mark.parametrize("reconnect", [False, True])
async def test_the_limit_ends_the_whole_group_even_what_ignores_term(host: Host, reconnect: bool) -> None:
    script = "trap '' TERM; sleep 300 & echo $! $$; while :; do sleep 300; done"
    seen = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", script, limit_s=0.4), lambda *_: seen.set()))
    if reconnect:  # the limit is the supervisor's, not the helper's
        await seen.wait()
        os.kill(helper_pid(host), signal.SIGKILL)
    result = await job
    assert (result.reason, result.rc) == ("timeout", -signal.SIGKILL)
    assert result.seconds >= 0.4
    assert not any(alive(int(pid)) for pid in result.stdout.split())


async def test_term_gives_a_script_the_chance_to_leave_by_itself(host: Host) -> None:
    result = await host.job(spec("a", "trap 'echo bye; exit 7' TERM; while :; do sleep 0.02; done", limit_s=0.3))
    assert (result.rc, result.reason, result.stdout) == (7, "timeout", b"bye\n")


COUNTS_TERMS = """
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("ready", flush=True)
signal.sigwait({signal.SIGTERM})
count, until = 1, time.monotonic() + 0.05
while time.monotonic() < until:
    count += signal.sigtimedwait({signal.SIGTERM}, 0) is not None
print(count)
"""


async def test_a_script_is_asked_to_end_once(host: Host) -> None:
    for name in "abcdefgh":  # a second signal that comes at once is one with the first, unless the script was quick
        job = spec(name, f"exec {shlex.quote(sys.executable)} -c {shlex.quote(COUNTS_TERMS)}")
        ready = asyncio.Event()
        result = asyncio.create_task(host.job(job, lambda *_, ready=ready: ready.set()))
        await ready.wait()
        await host.kill(name)
        assert (await result).stdout == b"ready\n1\n"


async def test_what_a_script_leaves_behind_is_ended_even_if_it_ignores_term(host: Host) -> None:
    script = "(trap '' TERM; : > ready; exec sleep 300) & while [ ! -e ready ]; do sleep 0.01; done; echo $!"
    result = await host.job(spec("a", script))
    assert (result.rc, result.reason) == (0, "")
    assert not alive(int(result.stdout))


@linux_only
async def test_a_process_that_leaves_for_a_session_of_its_own_is_ended_too(host: Host) -> None:
    code = "import os, time; os.fork() and os._exit(0); os.setsid(); print(os.getpid(), flush=True); time.sleep(300)"
    script = f"'{sys.executable}' -c '{code}' > pid; while [ ! -s pid ]; do sleep 0.01; done; cat pid"
    result = await host.job(spec("a", script))
    assert result.rc == 0 and not alive(int(result.stdout))


async def test_kill_ends_the_group_and_says_so(host: Host) -> None:
    seen = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", "sleep 300 & echo $! $$; wait"), lambda *_: seen.set()))
    await seen.wait()
    assert await host.kill("a") is True
    assert not any(alive(int(pid)) for pid in at(host, "jobs/a/stdout").read_text().split())
    result = await job
    assert (result.reason, result.rc, result.cached) == ("killed", -signal.SIGTERM, False)
    assert await host.kill("a") is False
    assert (await host.job(spec("a", "true"))).reason == "killed"


async def test_kill_reaches_a_job_that_an_earlier_helper_started(host: Host) -> None:
    seen = asyncio.Event()
    job = asyncio.create_task(host.job(spec("a", "echo $$; sleep 300"), lambda *_: seen.set()))
    await seen.wait()
    await host.close()
    await asyncio.wait([job])
    assert isinstance(job.exception(), HostError)
    await host.connect()
    assert await host.kill("a") is True
    assert (await host.job(spec("a", "true"))).reason == "killed"


async def test_cancelling_the_waiting_task_kills_the_group(host: Host) -> None:
    seen = asyncio.Event()
    script = "trap '' TERM; sleep 300 & echo $! $$; while :; do sleep 300; done"
    job = asyncio.create_task(host.job(spec("a", script), lambda *_: seen.set()))
    await seen.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not any(alive(int(pid)) for pid in at(host, "jobs/a/stdout").read_text().split())
    assert await host.running() == []


async def test_a_job_cancelled_at_once_is_killed_or_never_starts(host: Host) -> None:
    job = asyncio.create_task(host.job(spec("a", "sleep 300")))
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await host.running() == []
