"""A host in a container of podman, entered as `enter` in config.toml says."""

import asyncio
import os
import sys
from pathlib import Path, PurePosixPath

import psutil

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from tests.support.hosts.container import ROOM
from tests.support.hosts.local import helper_pid, spec, until
from tests.support.hosts.podman import PROGRAM, podman
from tests.support.patience import PATIENCE_S


def test_a_job_in_a_container_of_podman_outlives_its_helper_and_leaves_nothing_outside() -> None:
    room = Path(ROOM) / f"kpd-{os.getpid()}"
    with podman() as enter:
        asyncio.run(goes_on_without_its_helper(room, enter))
        assert not room.exists()


async def goes_on_without_its_helper(room: Path, enter: tuple[str, ...]) -> None:
    host = Host("box", PurePosixPath(room), Local(sys.executable, enter=enter))
    await host.connect()
    try:
        assert (await host.run("cat /proc/1/comm", PATIENCE_S)).stdout.decode().strip() == PROGRAM
        waits = "echo ran >> count; echo began; while [ ! -e go ]; do sleep 0.01; done; cat count"
        began = asyncio.Event()
        job = asyncio.create_task(host.job(spec("j1", f"cd {room}; {waits}", PATIENCE_S), lambda *_: began.set()))
        await began.wait()
        psutil.Process(helper_pid(host)).kill()
        await until(lambda: not host.up)
        await host.run(f"touch {room}/go", PATIENCE_S)
        ended = await job
        assert (ended.rc, ended.stdout) == (0, b"began\nran\n"), "it went on, and did not begin again"
    finally:
        await host.close()
