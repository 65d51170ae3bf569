"""Short commands on a host: answered whole, limited, and gone with the helper."""

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest

from kpd.hosts.host import CommandResult, Host
from tests.support.hosts.local import alive, helper_pid, host, until

__all__ = ["host"]

MIB = 1 << 20


@pytest.mark.parametrize(
    ("script", "rc", "stdout", "stderr"),
    [
        ("echo out; echo err >&2; exit 3", 3, b"out\n", b"err\n"),
        ("true", 0, b"", b""),
        ("printf 'a\\0b\\377'", 0, b"a\0b\xff", b""),
        ("no-such-program 2>/dev/null", 127, b"", b""),
        ("cat; echo $KPD_JOB$HOME | tr -d a-z/", 0, b"\n", b""),
        ("exec 3>&-; echo 'a \"quoted\" $PWD' '!'", 0, b'a "quoted" $PWD !\n', b""),
    ],
)
async def test_what_it_says(host: Host, script: str, rc: int | None, stdout: bytes, stderr: bytes) -> None:
    assert await host.run(script, 10.0) == CommandResult(rc, stdout, stderr)


async def test_a_command_is_ended_by_its_limit_with_all_its_processes(host: Host) -> None:
    ran = await host.run("sleep 300 & echo $!; sleep 300", 0.3)
    assert ran.rc is None
    await until(lambda: not alive(int(ran.stdout)))  # a killed process may take a moment to be gone


async def test_what_goes_on_in_the_background_keeps_nobody_waiting(host: Host, tmp_path: Path) -> None:
    ran = await host.run("sleep 5 & echo $!", 10.0)
    assert ran.rc == 0
    os.kill(int(ran.stdout), signal.SIGKILL)


async def test_of_much_output_the_first_mebibyte(host: Host) -> None:
    ran = await host.run("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 4", 10.0)
    assert (ran.rc, len(ran.stdout), len(ran.stderr)) == (4, MIB, MIB)


async def test_many_at_once_beside_a_job(host: Host) -> None:
    ran = await asyncio.gather(*(host.run(f"sleep 0.1; echo {n}", 10.0) for n in range(40)))
    assert [r.stdout for r in ran] == [b"%d\n" % n for n in range(40)]
    assert psutil.Process(helper_pid(host)).num_fds() < 12


async def test_after_a_lost_link_it_is_run_again(host: Host, tmp_path: Path) -> None:
    script = f"echo ran >> {tmp_path}/count; sleep 0.3; echo done"
    running = asyncio.create_task(host.run(script, 10.0))
    await until((tmp_path / "count").exists)
    os.kill(helper_pid(host), signal.SIGKILL)
    assert (await running).stdout == b"done\n"
    assert (tmp_path / "count").read_text() == "ran\nran\n"
