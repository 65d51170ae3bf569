"""What ends a deployment before it is one: the gate, a person, a build, a result, somebody's edit."""

from pathlib import Path
from typing import Any

import pytest

from kpd.model.deployments import Deployment, Phase
from kpd.production.deploy.deploy import Telling, approved
from kpd.production.deploy.winner import AcceptedKernel
from tests.support.production.provers import place_at
from tests.support.production.sleepers import FAST, PATH, SLOW, accepted, content, deploying, made

NOBODY = Telling(approved)


async def declined(diff: str) -> bool:
    return False


async def deployed(
    folder: Path, won: AcceptedKernel, telling: Telling = NOBODY, **more: Any
) -> tuple[Deployment, bool]:
    """Deploy a kernel in a fresh program; return how it ended, and whether the program is as it was."""
    root = folder / "program"
    project = made(root, **more)
    before = content(root)
    async with place_at(project, folder) as place:
        ended = await deploying(place, folder / "deployments", won, telling, 60.0).deploy(won)
    assert not [path for path in root.rglob("*") if "kpd" in path.name]
    return ended, content(root) == before


def places(folder: Path) -> bool:
    """Whether the host keeps anything for the program."""
    return (folder / "places").exists()


@pytest.mark.parametrize(
    ("kernel", "cause"),
    [
        (SLOW.replace("return", "/* the same */ return"), "same_binary"),
        (FAST.replace("2 * x", "2 * broken(x)"), "build"),
        (FAST.replace("2 * x", "2 * wrong(x)"), "wrong_result"),
        (FAST.replace("2 * x", "2 * fails(x)"), "run_fails"),
        (SLOW.replace("x + x", "x + x + slower(0)"), "no_gain"),
    ],
)
async def test_what_is_no_gain_of_the_program_is_taken_back(tmp_path: Path, kernel: str, cause: str) -> None:
    ended, same = await deployed(tmp_path, accepted(kernel))
    assert (ended.state, ended.cause, ended.rechecked) == ("rolled_back", cause, True)
    assert same


async def test_nothing_is_touched_before_gate_check_and_person_say_yes(tmp_path: Path) -> None:
    ended, _ = await deployed(tmp_path / "small", accepted(sure_pct=0.5))
    assert (ended.state, ended.cause, ended.phase) == ("gated", "gate", "gate")
    ended, _ = await deployed(tmp_path / "unchecked", accepted(), outputs=())
    assert (ended.state, ended.cause) == ("refused", "no_check")
    ended, _ = await deployed(tmp_path / "same", accepted(SLOW))
    assert (ended.state, ended.cause, ended.forbidden) == ("gated", "forbidden", "same")
    ended, _ = await deployed(tmp_path / "declined", accepted(), Telling(declined))
    assert (ended.state, ended.cause, ended.phase) == ("refused", "not_approved", "integrate")
    for name in ("small", "unchecked", "same", "declined"):
        assert not places(tmp_path / name)


@pytest.mark.parametrize("when", ["build", "time"])
async def test_an_edit_in_between_is_never_overwritten(tmp_path: Path, when: Phase) -> None:
    def edit(phase: Phase) -> None:
        if phase == when:
            (tmp_path / "program" / PATH).write_text("somebody's\n")

    ended, _ = await deployed(tmp_path, accepted(), Telling(approved, edit))
    assert (ended.state, ended.cause, ended.about) == ("failed", "conflict", PATH)
    assert (tmp_path / "program" / PATH).read_text() == "somebody's\n"


async def test_a_program_that_is_not_steady_or_fails_by_itself_is_nobodys_fault(tmp_path: Path) -> None:
    ended, same = await deployed(tmp_path / "clock", accepted(), run="target/program; date +%N > target/out")
    assert (ended.state, ended.cause, same) == ("rolled_back", "unsteady", True)
    ended, same = await deployed(tmp_path / "fails", accepted(), run="target/program; exit 3")
    assert (ended.state, ended.cause, same) == ("rolled_back", "program_fails", True)
    ended, same = await deployed(tmp_path / "silent", accepted(), run="true")
    assert (ended.cause, ended.about, same) == ("program_fails", "target/out is not written", True)


async def test_a_check_of_what_the_program_has_left_judges_the_program_that_left_it(tmp_path: Path) -> None:
    project = made(tmp_path / "program", outputs=(), verify="grep -qx right target/out")
    won = accepted(FAST.replace("2 * x", "2 * wrong(x)"))
    async with place_at(project, tmp_path) as place:
        ended = await deploying(place, tmp_path / "deployments", won, Telling(approved), 60.0).deploy(won)
    assert (ended.state, ended.cause, ended.rechecked) == ("rolled_back", "wrong_result", True)
