"""Deploys in a process of its own, which is killed in one of its phases."""

import asyncio
import os
from pathlib import Path

import msgspec

from kpd.model.deployments import Phase
from kpd.production.deploy.winner import AcceptedKernel
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.projects import ProjectConfig
from tests.support.daemon.forked import Running, started
from tests.support.hosts.local import until
from tests.support.patience import PATIENCE_S
from tests.support.production.sleepers import FAST, accepted, content, made

PHASES: tuple[Phase, ...] = (
    "gate", "integrate", "begin", "baseline", "put", "build", "verify", "time", "commit", "restore", "recheck"
)  # fmt: skip
LEASE_S = 120.0
SAID = "said.txt"


def deployer(
    folder: Path, project: ProjectConfig, won: AcceptedKernel, stops: str, lease_s: float, config: str = ""
) -> Running:
    """Start a process that deploys, over SSH where `config` configures it. In phase `stops` it stops itself."""
    (folder / "project.json").write_bytes(msgspec.json.encode(project))
    (folder / "winner.json").write_bytes(msgspec.json.encode(won))
    return beside("deployer", folder, str(folder), stops, str(lease_s), config)


def beside(program: str, folder: Path, *words: str) -> Running:
    """Start a program of this package, which says its steps in the folder."""
    (folder / SAID).unlink(missing_ok=True)
    return started(["-m", f"{__package__}.{program}", *words], dict(os.environ), folder / SAID)


async def begun(process: Running, folder: Path, step: str) -> None:
    """Wait until the process, which says so in the folder, begins a step."""

    def said() -> bool:
        ended, said = process.poll() is not None, (folder / SAID).read_text() if (folder / SAID).exists() else ""
        assert step in said.splitlines() or not ended, f"{step} never began: {said[-2000:]}"
        return step in said.splitlines()

    await until(said)


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
    process = deployer(folder, project, won, phase if wait_s is None else "", lease_s)
    await begun(process, folder, phase)
    await asyncio.sleep(wait_s or 0.0)
    process.kill()
    process.wait(PATIENCE_S)
    return before, DeploymentJournal(folder / "deployments")
