"""kill -9 of a deployment in each phase: the program is as before, or wholly deployed, and history tells which."""

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from kpd.model.deployments import Deployment, Phase
from kpd.production.deploy.journal import DeploymentJournal
from kpd.production.deploy.settle import settle
from kpd.workspace.projects import ProjectConfig
from tests.places import ROOT
from tests.support.hosts.local import until
from tests.support.production.provers import place_at
from tests.support.production.sleepers import FAST, SLOW, content, made

PHASES: tuple[Phase, ...] = (
    "gate", "integrate", "begin", "baseline", "put", "build", "verify", "time", "commit", "restore", "recheck"
)  # fmt: skip
PATIENCE_S = 240.0


async def killed(folder: Path, phase: Phase, wait_s: float = 0.0) -> tuple[tuple[str, str], DeploymentJournal]:
    """Deploy in a process of its own, and kill that so long after the phase has begun; return the content before."""
    root = folder / "program"
    project = made(root)
    before = content(root)
    (folder / "project.json").write_bytes(msgspec.json.encode(project))
    taken_back = phase in ("restore", "recheck")
    (folder / "kernel.c").write_text(SLOW.replace("return x", "return  x") if taken_back else FAST)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.production.deployer", str(folder), str(folder / "kernel.c"),
        stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        while (await process.stdout.readline()).decode().strip() != phase:
            assert not process.stdout.at_eof(), f"{phase} never began"
        await asyncio.sleep(wait_s)
        process.kill()
        await process.communicate()
    return before, DeploymentJournal(folder / "deployments")


def told(one: Deployment, phase: Phase) -> bool:
    """Whether the history says of a deployment that was killed what has happened."""
    if one.state == "deployed":
        return phase == "commit"
    unchanged = phase in ("gate", "integrate", "begin")
    return one.state in (("rolled_back", "failed") if unchanged else ("rolled_back",)) and one.phase == phase


@pytest.mark.parametrize("phase", PHASES)
async def test_the_next_command_restores_and_tells(tmp_path: Path, phase: Phase) -> None:
    before, journal = await killed(tmp_path, phase)
    project = msgspec.convert(msgspec.json.decode((tmp_path / "project.json").read_bytes()), ProjectConfig)
    assert [one.state for one in journal.all()] == ["open"]
    async with place_at(project, tmp_path) as place:
        [one] = await settle(place, journal)
    assert told(one, phase)
    source, binary = content(tmp_path / "program")
    whole = source == FAST and FAST in binary
    assert whole if one.state == "deployed" else (source, binary) == before


async def test_the_host_restores_by_itself(tmp_path: Path) -> None:
    before, _ = await killed(tmp_path, "time")

    def restored() -> bool:
        return content(tmp_path / "program") == before

    await until(restored)
