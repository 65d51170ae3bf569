"""A host in a container: the helper starts inside, and so does all that it starts."""

import asyncio
import sys
from pathlib import Path, PurePosixPath

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from tests.support.hosts.container import ROOM, container, has_containers
from tests.support.hosts.local import helper_pid, spec, until
from tests.support.hosts.openssh import place_at
from tests.support.hosts.ssh import ssh_to
from tests.support.patience import PATIENCE_S

PYTHON = sys.executable
OUTSIDE = Path(ROOM)  # as this process sees it


@has_containers
async def test_a_job_in_a_container_outlives_its_helper_and_leaves_nothing_outside() -> None:
    with container() as enter:
        host = Host("box", PurePosixPath(ROOM, "kpd"), Local(sys.executable, enter=enter))
        await host.connect()
        try:
            assert (await host.run("cat /proc/1/comm", PATIENCE_S)).stdout == b"bwrap\n"
            waits = "echo ran >> count; echo began; while [ ! -e go ]; do sleep 0.01; done; cat count"
            began = asyncio.Event()
            job = asyncio.create_task(
                host.job(spec("j1", f"cd {ROOM}/kpd; {waits}", PATIENCE_S), lambda *_: began.set())
            )
            await began.wait()
            (inside,) = psutil.Process(helper_pid(host)).children()
            inside.kill()
            await until(lambda: not host.up)
            await host.run(f"touch {ROOM}/kpd/go", PATIENCE_S)
            ended = await job
            assert (ended.rc, ended.stdout) == (0, b"began\nran\n"), "it went on, and did not begin again"
            assert not (OUTSIDE / "kpd").exists()
        finally:
            await host.close()


@has_containers
@pytest.mark.parametrize("kind", ["ssh", "controlmaster"])
async def test_a_container_behind_ssh_is_entered_in_the_same_way(kind: str, tmp_path: Path) -> None:
    with container() as enter, place_at(tmp_path) as place:
        made = ssh_to(place.server, enter=enter) if kind == "ssh" else place.transport(python=PYTHON, enter=enter)
        host = Host("box", PurePosixPath(ROOM, "kpd"), made)
        await host.connect()
        try:
            assert (await host.run("cat /proc/1/comm", PATIENCE_S)).stdout == b"bwrap\n"
            ended = await host.job(spec("j1", f"echo made >{ROOM}/kpd/file; cat {ROOM}/kpd/file", PATIENCE_S))
            assert (ended.rc, ended.stdout) == (0, b"made\n") and not (OUTSIDE / "kpd").exists()
        finally:
            await host.close()


async def test_a_container_that_is_not_there_is_named() -> None:
    host = Host("box", PurePosixPath("/tmp/none"), Local("python3", enter=("no-such-program", "exec")))
    with pytest.raises(HostError, match="cannot start no-such-program") as caught:
        await host.connect()
    assert caught.value.kind == "no_python"
    await host.close()
