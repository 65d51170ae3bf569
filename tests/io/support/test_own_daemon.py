"""A daemon in a benchmark's own process: what goes wrong in it ends the benchmark, which would wait for ever else."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.own_daemon import own_daemon
from kpd.model import events as e
from kpd.workspace.paths import Workspace
from tests.places import TESTS
from tests.support.daemon.real_daemon import TASKS
from tests.support.patience import PATIENCE_S

WAITS = """
import asyncio, sys
from pathlib import Path
from benchmarks.own_daemon import own_daemon
from kpd.model import events as e
from kpd.workspace.paths import Workspace

def told(fact):
    if isinstance(fact, e.TaskPinned):
        print("measures", flush=True)

async def main():
    async with own_daemon(Workspace(Path(sys.argv[1])), told) as daemon:
        await daemon.command("run", task="scale", agent="sweep")
        await daemon.until(e.RunEnded)

asyncio.run(main())
"""


async def test_an_error_of_the_listener_is_raised(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    shutil.copytree(TASKS / "scale", workspace.tasks / "scale")

    def told(fact: e.Fact) -> None:
        if isinstance(fact, e.RunStarted):
            raise AttributeError("a RunStarted has no such field")

    async with own_daemon(workspace, told) as daemon:
        await daemon.command("run", task="scale", agent="operator")
        with pytest.raises(RuntimeError, match=r"kpd's own error.*a RunStarted has no such field"):
            await daemon.until(e.RunEnded)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_benchmark_with_its_daemon_and_all_it_has_started(tmp_path: Path, number: int) -> None:
    """While the machine is measured: alone the daemon would finish that first, and the benchmark wait."""
    shutil.copytree(TASKS / "scale", tmp_path / "tasks" / "scale")
    with subprocess.Popen(
        [sys.executable, "-c", WAITS, str(tmp_path)], cwd=TESTS.parent, stdout=subprocess.PIPE, text=True
    ) as benchmark:
        assert benchmark.stdout is not None and benchmark.stdout.readline() == "measures\n"
        below = psutil.Process(benchmark.pid).children(recursive=True)
        assert below
        benchmark.send_signal(number)
        assert benchmark.wait(PATIENCE_S) == 128 + number
        _, alive = psutil.wait_procs(below, PATIENCE_S)
    assert not alive
