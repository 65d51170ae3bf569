"""A host far away, whose round trips are counted."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.c.bench import prepare
from kpd.measure.driver.bench import DriverBench
from kpd.measure.judge import judge
from kpd.measure.samples import samples_from_json
from kpd.model.verdicts import Verdict
from kpd.workspace.task import load_task
from tests.places import READS
from tests.support.hosts.remote_part import Counted, Iterations, remote_part
from tests.support.measure.measured import HARNESS, LOOP, THIS_CPU, kernel

TASK = """
[task]
name = "blend"
summary = "y = 2 x + 1 and t = x s"
language = "c"
editable = ["kernel.c"]
[check]
rtol = 1e-5
[bench]
quads = 6
"""
BUSY_S = 1.0
MOST_PATIENCE = 30


def taking(times: int, comment: str = "") -> bytes:
    """A kernel with so many times the work."""
    return kernel(f"for (volatile int r = 0; r < {times}; r++) {{ {LOOP} }} /* {comment} */").encode()


@dataclass(frozen=True)
class Far:
    """A bench behind a pipe whose requests are counted, and a run whose incumbent does the work four times."""

    host: Host
    pipe: Counted
    bench: DriverBench
    run: Iterations

    def at(self, *path: str) -> Path:
        """A path below the host's root."""
        return Path(self.host.root, *path)

    async def iterate(self, source: bytes) -> tuple[list[str], Verdict]:
        """What one iteration asks, once the machine is quiet enough to measure it, and the verdict."""
        for _ in range(MOST_PATIENCE):
            at = self.run.attempt({"kernel.c": source})
            try:
                with self.pipe.waited_for() as asked:
                    await remote_part(at)
                return asked, judge(samples_from_json(at.folder.read("timing.json")), 2.0)
            except HostError as err:
                if err.kind != "busy":
                    raise
                await asyncio.sleep(BUSY_S)
        raise AssertionError("other work never leaves this machine in peace")


@contextlib.asynccontextmanager
async def far(root: Path) -> AsyncIterator[Far]:
    (root / "blend").mkdir(parents=True)
    (root / "blend" / "task.toml").write_text(TASK)
    (root / "blend" / "harness.c").write_bytes(HARNESS)
    (root / "blend" / "kernel.c").write_bytes(taking(4))
    task = load_task(root / "blend")
    pipe = Counted(Local())
    host = Host("far", PurePosixPath(root / "host"), pipe, leases=str(root / "leases"), reads=READS)
    await host.connect()
    try:
        bench = await prepare(host, task, THIS_CPU, print)
        run = Iterations(root / "workspace", host, bench, task)
        with contextlib.closing(run):
            ready = Far(host, pipe, bench, run)
            await ready.iterate(taking(4))
            yield ready
    finally:
        await host.close()


@pytest.fixture(scope="module", name="far")
async def _far(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Far]:
    async with far(tmp_path_factory.mktemp("far")) as ready:
        yield ready
