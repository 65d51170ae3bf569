"""Deploys in a process of its own, which is killed in one of its phases."""

import asyncio
import sys
from pathlib import Path

import msgspec

from kpd.model.deployments import Phase
from kpd.production.deploy.winner import AcceptedKernel
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.projects import ProjectConfig
from tests.places import ROOT
from tests.support.patience import PATIENCE_S
from tests.support.production.sleepers import FAST, accepted, content, made

PHASES: tuple[Phase, ...] = (
    "gate", "integrate", "begin", "baseline", "put", "build", "verify", "time", "commit", "restore", "recheck"
)  # fmt: skip
LEASE_S = 120.0


async def deployer(
    folder: Path, project: ProjectConfig, won: AcceptedKernel, stops: str, lease_s: float, config: str = ""
) -> asyncio.subprocess.Process:
    """Start a process that deploys, over SSH where `config` configures it. In phase `stops` it stops itself."""
    (folder / "project.json").write_bytes(msgspec.json.encode(project))
    (folder / "winner.json").write_bytes(msgspec.json.encode(won))
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.production.deployer", str(folder), stops, str(lease_s), config,
        stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip


async def begun(process: asyncio.subprocess.Process, phase: Phase) -> None:
    """Wait until the process begins the phase."""
    assert process.stdout is not None
    while (await process.stdout.readline()).decode().strip() != phase:
        assert not process.stdout.at_eof(), f"{phase} never began"


async def killed(
    folder: Path, phase: Phase, wait_s: float | None = None, lease_s: float = LEASE_S
) -> tuple[tuple[str, str], DeploymentJournal]:
    """Deploy in a process of its own, and kill that so long after the phase has begun; return the content before.

    Without a time it stops by itself right after the phase has begun, and is killed there.
    """
    root = folder / "program"
    project = made(root)
    before = content(root)
    won = accepted(FAST.replace("2 * x", "2 * fails(x)") if phase in ("restore", "recheck") else FAST)
    process = await deployer(folder, project, won, phase if wait_s is None else "", lease_s)
    async with asyncio.timeout(PATIENCE_S):
        await begun(process, phase)
        await asyncio.sleep(wait_s or 0.0)
        process.kill()
        await process.communicate()
    return before, DeploymentJournal(folder / "deployments")
