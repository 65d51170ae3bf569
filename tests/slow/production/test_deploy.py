"""Winners brought into the example, a real program: kept where it is faster, else taken back."""

import shutil
from pathlib import Path

import pytest

from kpd.model.deployments import Deployment, Phase
from kpd.production.deploy.deploy import Telling, approved
from kpd.production.deploy.winner import AcceptedKernel
from kpd.workspace.deployments import DeploymentJournal
from tests.support.production.imaging import COLUMNS, LOOPS, SOURCE, alone, candidate, deploying, files, made
from tests.support.production.provers import place_at

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
NOBODY = Telling(approved)


async def deployed(folder: Path, winner: AcceptedKernel, telling: Telling = NOBODY) -> tuple[Deployment, bool]:
    """Deploy a winner in a fresh copy of the example; return how it ended, and whether the program is as it was."""
    root = folder / "imaging"
    project = made(root)
    before = files(root)
    async with place_at(project, folder) as place:
        ended = await deploying(place, folder / "deployments", winner, telling).deploy(winner)
    assert not [path for path in root.rglob("*") if "kpd" in path.name]
    return ended, files(root) == before


async def test_a_kernel_that_makes_the_program_faster_stays(tmp_path: Path) -> None:
    phases: list[Phase] = []
    shown: list[str] = []

    async def approves(diff: str) -> bool:
        shown.append(diff)
        return True

    ended, same = await deployed(tmp_path, candidate(LOOPS, COLUMNS), Telling(approves, phases.append))
    assert (ended.state, ended.cause, same) == ("deployed", None, False)
    assert ended.verdict is not None
    assert ended.verdict.gain.pct > 10
    assert phases == ["gate", "integrate", "begin", "baseline", "put", "build", "verify", "time", "commit"]
    assert shown[0].startswith(f"--- a/{SOURCE}\n+++ b/{SOURCE}\n")
    assert "+        std::vector<int> column(w);\n" in shown[0]
    assert DeploymentJournal(tmp_path / "deployments").all() == [ended]
    assert (tmp_path / "deployments" / "0001.diff").read_text() == shown[0]


async def test_what_wins_alone_and_loses_in_production_is_taken_back(tmp_path: Path) -> None:
    ended, same = await deployed(tmp_path, alone())
    assert (ended.state, ended.cause, ended.rechecked) == ("rolled_back", "no_gain", True)
    assert ended.verdict is not None
    assert not ended.verdict.accepted
    assert same
