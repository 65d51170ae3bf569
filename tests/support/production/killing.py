"""Deploys in a process of its own, which is killed in one of its phases."""

import asyncio
import sys
from pathlib import Path

import msgspec

from kpd.model.deployments import Phase
from kpd.production.deploy.journal import DeploymentJournal
from tests.places import ROOT
from tests.support.patience import PATIENCE_S
from tests.support.production.sleepers import FAST, content, made

PHASES: tuple[Phase, ...] = (
    "gate", "integrate", "begin", "baseline", "put", "build", "verify", "time", "commit", "restore", "recheck"
)  # fmt: skip
LEASE_S = 120.0


async def killed(
    folder: Path, phase: Phase, wait_s: float | None = None, lease_s: float = LEASE_S
) -> tuple[tuple[str, str], DeploymentJournal]:
    """Deploy in a process of its own, and kill that so long after the phase has begun; return the content before.

    Without a time it stops by itself right after the phase has begun, and is killed there.
    """
    root = folder / "program"
    project = made(root)
    before = content(root)
    (folder / "project.json").write_bytes(msgspec.json.encode(project))
    taken_back = phase in ("restore", "recheck")
    (folder / "kernel.c").write_text(FAST.replace("2 * x", "2 * fails(x)") if taken_back else FAST)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.production.deployer", str(folder), str(folder / "kernel.c"),
        phase if wait_s is None else "", str(lease_s), stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        while (await process.stdout.readline()).decode().strip() != phase:
            assert not process.stdout.at_eof(), f"{phase} never began"
        await asyncio.sleep(wait_s or 0.0)
        process.kill()
        await process.communicate()
    return before, DeploymentJournal(folder / "deployments")
