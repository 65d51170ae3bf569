"""The originals of a deployment that is in place: kept as long as it is, and missed by a rollback before it writes."""

from pathlib import Path

import pytest

from kpd.production.deploy.deploy import Telling, approved, recheck_of
from kpd.production.deploy.rollback import latest, roll_back
from kpd.production.deploy.settle import settle
from kpd.production.far.history import KEPT
from kpd.production.place import ProjectPlace
from kpd.text.deployments import lines
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.run_files import digest
from tests.support.production.provers import FASTER, SOURCE, FarSide, content, made, place_at

PATH = "src/kernel.c"


async def committed(place: ProjectPlace, text: bytes, id: str) -> None:
    async with place.changing("to keep", id=id) as change:
        await change.put(PATH, text)
        await change.commit()


@pytest.mark.parametrize("in_place", [True, False])
async def test_originals_stay_while_their_deployment_is_in_place(tmp_path: Path, in_place: bool) -> None:
    root = tmp_path / "prover"
    journal = DeploymentJournal(tmp_path / "deployments")
    opened = journal.begin("a-run", 1, "a test", "first")
    async with place_at(made(root, run="true"), tmp_path) as place:
        await committed(place, FASTER, "first")
        of = opened.close(state="deployed", shas={PATH: digest(FASTER)})
        assert journal.needed() == ["first"]
        place.needed = journal.needed() if in_place else ()
        for number in range(KEPT + 1):
            await committed(place, FASTER if number == KEPT else b"later\n", f"later {number}")
        back = await roll_back(place, journal, of, "a test", Telling(approved))
    if in_place:
        assert (back.state, back.cause, content(root)[0]) == ("deployed", None, SOURCE)
        journal.taken_back(back)
        assert journal.needed() == []
    else:
        assert (back.state, back.cause, back.about, content(root)[0]) == ("failed", "forgotten", PATH, FASTER)
        assert lines("p", back)[1] == f"why: the host has not kept what was there before: {PATH}"
        assert latest(journal) == of


async def test_a_recheck_that_was_cut_off_is_ended_and_in_nobodys_way(tmp_path: Path) -> None:
    project = made(tmp_path / "prover")
    journal = DeploymentJournal(tmp_path / "deployments")
    opened = journal.begin("a-run", 1, "a test", "first")
    async with place_at(project, tmp_path) as place:
        async with place.changing("to keep", id="first"):
            opened.note(cause="run_fails", about="it ends with 7")
        FarSide(project, tmp_path).begin(recheck_of("first"), 120.0)
        [one] = await settle(place, journal)
        assert (one.state, one.cause, one.rechecked) == ("rolled_back", "run_fails", None)
        async with place.changing("the next one"):
            pass
