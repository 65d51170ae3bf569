"""The way back from a deployment, and what is said where somebody has changed the program since."""

from pathlib import Path

import pytest

from kpd.production.deploy.deploy import Telling, approved
from kpd.production.deploy.rollback import latest, roll_back
from kpd.text.deployments import lines
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.run_files import digest
from tests.support.production.provers import place_at
from tests.support.production.sleepers import FAST, PATH, accepted, content, deploying, made

NOBODY = Telling(approved)


async def test_a_deployment_is_taken_back_and_can_be_made_again(tmp_path: Path) -> None:
    root = tmp_path / "program"
    project = made(root)
    before = content(root)
    journal = DeploymentJournal(tmp_path / "deployments")
    async with place_at(project, tmp_path) as place:
        for number in (1, 3):
            ended = await deploying(place, journal.folder, accepted(), NOBODY, 60.0).deploy(accepted())
            assert (ended.number, ended.state, ended.cause) == (number, "deployed", None)
            assert content(root)[0] == FAST
            assert latest(journal) == ended
            with journal.locked():
                back = await roll_back(place, journal, ended, "a test", NOBODY)
            assert (back.state, back.of, latest(journal)) == ("deployed", number, None)
            assert content(root) == before
        assert lines("p", journal.all()[0])[0].startswith("TAKEN BACK p #1")
        assert (await place.status()).now == {PATH: "kpd", "target/program": "kpd"}


@pytest.mark.parametrize("path", [PATH, "target/program"])
async def test_a_file_that_somebody_has_changed_since_is_left_alone(tmp_path: Path, path: str) -> None:
    root = tmp_path / "program"
    project = made(root)
    journal = DeploymentJournal(tmp_path / "deployments")
    async with place_at(project, tmp_path) as place:
        ended = await deploying(place, journal.folder, accepted(), NOBODY, 60.0).deploy(accepted())
        assert ended.state == "deployed"
        (root / path).write_text("somebody's\n")
        now = content(root)
        back = await roll_back(place, journal, ended, "a test", NOBODY)
        assert (back.state, back.cause, back.about) == ("failed", "later", path)
        assert content(root) == now
        assert journal.all()[0].taken_back is None


async def test_a_copy_that_is_not_what_was_copied_is_told_and_never_written(tmp_path: Path) -> None:
    root = tmp_path / "program"
    project = made(root)
    journal = DeploymentJournal(tmp_path / "deployments")
    original = digest((root / PATH).read_bytes())
    async with place_at(project, tmp_path) as place:
        ended = await deploying(place, journal.folder, accepted(), NOBODY, 60.0).deploy(accepted())
        now = content(root)
        (kept,) = (tmp_path / "places").glob(f"*/originals/{original}")
        kept.write_text("rotten\n")
        back = await roll_back(place, journal, ended, "a test", NOBODY)
        assert (back.state, back.cause, content(root)) == ("failed", "corrupt", now)
