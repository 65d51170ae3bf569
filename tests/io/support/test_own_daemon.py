"""A daemon in a benchmark's own process: what goes wrong in it ends the benchmark, which would wait for ever else."""

import shutil
from pathlib import Path

import pytest

from benchmarks.own_daemon import own_daemon
from kpd.model import events as e
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import TASKS


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
