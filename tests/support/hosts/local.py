"""What the tests of hosts share: a host on a folder of its own, and the proof that no test leaves a process behind."""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import psutil
import pytest

from kpd.hosts.host import LEASES, Host, JobSpec
from kpd.hosts.link import Transport
from kpd.hosts.local import Local
from tests.support.patience import PATIENCE_S

LEAVE_S = 30.0  # for what has been told to end
CAN_MOUNT = sys.platform == "linux" and subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0
may_mount = pytest.mark.skipif(not CAN_MOUNT, reason="needs a mount namespace of one's own (unshare -rm)")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")


def spec(id: str, script: str, limit_s: float = 30.0, **more) -> JobSpec:
    return JobSpec(id, script, limit_s, **more)


def at(host: Host, *parts: str) -> Path:
    """A path below the root of a host that is this machine."""
    return Path(host.root, *parts)


def names(host: Host, *parts: str) -> list[str]:
    return sorted(path.name for path in at(host, *parts).iterdir())


def helper_pid(host: Host) -> int:
    return host._keeper._link._channel.pid


def supervisor_pid(host: Host, id: str) -> int:
    return int(at(host, "jobs", id, "pgid").read_text().split()[1])


def alive(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


async def until(condition) -> None:
    """Waits for something that another process does and nobody announces."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if (left := end - time.monotonic()) < 0:
            raise TimeoutError
        await asyncio.sleep(min(0.01 + (PATIENCE_S - left) / 20, 0.1))  # what has taken long may take longer


def processes_of(root: PurePosixPath) -> list[psutil.Process]:
    """Supervisors (they sit in the job's folder) and whatever carries a job's mark."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ours = process.environ().get("KPD_JOB", "").startswith(f"{root}/") or process.cwd().startswith(f"{root}/")
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@contextlib.asynccontextmanager
async def host_at(
    root: Path, transport: Transport | None = None, writes: tuple[str, ...] = (), leases: str = LEASES
) -> AsyncIterator[Host]:
    """A connected host; at the end nothing of it may still run."""
    host = Host("local", PurePosixPath(root), transport or Local(), writes=writes, leases=leases)
    await host.connect()
    try:
        yield host
    finally:
        helper = helper_pid(host) if host.up else None
        await host.close()
        psutil.wait_procs(processes_of(host.root), timeout=LEAVE_S)
        left = processes_of(host.root)
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        assert left == []
        assert helper is None or not psutil.pid_exists(helper)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    async with host_at(tmp_path / "host") as host:
        yield host
