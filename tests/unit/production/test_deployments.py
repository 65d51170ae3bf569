"""What a deployment was is read from its rows, whatever was cut off."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kpd.agents.answers import KeptAnswer
from kpd.measure.judge import judge
from kpd.model.budget import Budget
from kpd.model.deployments import NOT_THE_CANDIDATES, DeployCause, Deployment, DeploymentCard, lesson
from kpd.model.iteration import Iteration
from kpd.model.projects import ProgramRun
from kpd.model.run import Run
from kpd.production.deploy.remember import remember
from kpd.production.deploy.trial import quad
from kpd.text.deployments import headline, lines, why
from kpd.text.foreign import escaped
from kpd.workspace.deployments import DeploymentJournal, DeploymentRunning, OpenDeployment
from kpd.workspace.paths import Workspace


def test_the_last_row_of_each_kind_counts(tmp_path: Path) -> None:
    journal = DeploymentJournal(tmp_path / "p")
    opened = journal.begin("r-1", 3, "ada", "abcd")
    opened.begins("gate")
    opened.ends("gate", alone=7.5)
    opened.begins("build")
    now = opened.now
    assert (now.state, now.phase, now.alone, now.run, now.iteration, now.change) == (
        "open",
        "build",
        7.5,
        "r-1",
        3,
        "abcd",
    )
    ended = opened.close(state="rolled_back", cause="build", about="no such name")
    assert (ended.state, ended.cause, ended.ended is not None) == ("rolled_back", "build", True)
    assert journal.begin("r-2", 1, "ada", "efgh").number == 2
    assert [one.number for one in journal.all()] == [1, 2]


def test_a_row_that_was_cut_off_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    opened = DeploymentJournal(tmp_path).begin("r-1", 3, "ada", "abcd")
    with (tmp_path / "0001.jsonl").open("ab") as file:
        file.write(b'{"written": 1, "pha')
    assert opened.now.phase is None
    opened.begins("put")
    assert OpenDeployment(tmp_path, 1).now.phase == "put"


@pytest.mark.parametrize(
    ("ended", "word", "said"),
    [
        ({"state": "deployed"}, "deployed", "p #1: "),
        ({"state": "deployed", "of": 4}, "rolled back in production", "p #1: somebody has taken deployment 4 back"),
        ({"state": "gated", "cause": "gate", "alone": 0.5}, "short circuit",
         "p #1: the gain alone is not surely large enough, at least +0.50 %"),
        ({"state": "rolled_back", "cause": "wrong_result", "about": "a\nout"}, "rolled back in production",
         "p #1: the program's result is wrong: out"),
        ({"state": "rolled_back", "cause": "cut"}, None, ""),
        ({"state": "rolled_back", "cause": "unsteady"}, None, ""),
        ({"state": "refused", "cause": "not_approved"}, None, ""),
        ({"state": "failed", "cause": "conflict"}, None, ""),
    ],
)  # fmt: skip
def test_what_says_something_of_the_candidate_is_remembered_once(
    tmp_path: Path, ended: dict[str, Any], word: str | None, said: str
) -> None:
    ws, journal = Workspace(tmp_path), DeploymentJournal(tmp_path / "p")
    run = Run("r1", "norm", "sweep", "local", Budget(), 0.0, iterations=(Iteration(3, "sweep", 0, 60.0),))
    opened = journal.begin("r1", 3, "ada", "abcd")
    remember(ws, "p", journal, {"r1": run}.get)
    assert not opened.now.remembered  # it has not ended
    one = opened.close(**ended)
    remember(ws, "p", journal, {}.get)
    assert opened.now.remembered == (word is None)  # nobody knows the run now: later perhaps
    for _ in range(2):
        remember(ws, "p", journal, {"r1": run}.get)
    path = ws.memory / "norm.md"
    text = path.read_text() if path.exists() else ""
    assert (lesson(one), opened.now.remembered, text.count("### r1.3 · ")) == (word, True, int(word is not None))
    assert word is None or f"\n- {word}: {escaped(said)}" in text


def test_what_says_nothing_of_the_candidate_can_be_tried_again() -> None:
    edited = Deployment(2, "r1", 3, 1.0, "rolled_back", cause="conflict", about="k.cu")
    command = "kpd project deploy p r1 --iteration 3"
    assert lines("p", edited)[-1] == f"again: {command}"
    told = "ROLLED BACK p #2, r1.3: somebody else has changed the program meanwhile: k.cu"
    assert headline(DeploymentCard("p", edited)) == f"{told}; {command} tries again"
    for other in (replace(edited, cause="wrong_result"), replace(edited, of=1), replace(edited, cause="no_gain")):
        assert not any("kpd project deploy" in line for line in lines("p", other))
        assert "tries again" not in headline(DeploymentCard("p", other))


def test_who_declined_is_named_and_nobody_else() -> None:
    one = Deployment(1, "r1", 3, 0.0, "refused", cause="not_approved")
    assert [why(one), why(replace(one, answered_by="ada"))] == ["nobody has approved it", "ada has declined it"]


def test_another_run_that_has_the_same_id_by_now_is_left_alone(tmp_path: Path) -> None:
    ws, journal = Workspace(tmp_path), DeploymentJournal(tmp_path / "p")
    journal.begin("r1", 3, "ada", "abcd").close(state="deployed")
    later = Run("r1", "norm", "sweep", "local", Budget(), 0.0, iterations=(Iteration(3, "sweep", 0, 9e9),))
    remember(ws, "p", journal, {"r1": later}.get)
    assert not (ws.memory / "norm.md").exists()


def test_one_process_deploys_at_a_time(tmp_path: Path) -> None:
    journal = DeploymentJournal(tmp_path)
    with journal.locked(), pytest.raises(DeploymentRunning), DeploymentJournal(tmp_path).locked():
        pass
    with journal.locked():
        pass


def test_the_verdict_of_the_program_is_that_of_any_timing(tmp_path: Path) -> None:
    def runs(old: float, new: float) -> list[ProgramRun]:
        return [ProgramRun(side, int(old if side == "A" else new), 0, "", {}) for side in "ABBA"]

    samples = [quad(number, runs(1e9 + number * 1e5, 0.8e9 + number * 2e5)) for number in range(9)]
    verdict = judge(samples, 1.0)
    assert verdict.accepted
    assert verdict.gain.pct == pytest.approx(20.0, abs=0.5)
    opened = DeploymentJournal(tmp_path).begin("r-1", 3, "ada", "abcd")
    opened.note(verdict=verdict)
    assert opened.now.verdict == verdict
    told = lines("prover", opened.close(state="deployed"))
    assert told[0] == "DEPLOYED prover #1: r-1, iteration 3"
    assert told[-1] == "back: kpd project rollback prover 1"
    assert not judge([quad(number, runs(1e9, 1e9 + (-1) ** number * 1e6)) for number in range(15)], 1.0).accepted


def test_tries_of_an_iteration_that_say_nothing_of_it_are_a_chain(tmp_path: Path) -> None:
    journal = DeploymentJournal(tmp_path)

    def tried(iteration: int, cause: DeployCause | None, of: int | None = None) -> int:
        opened = journal.begin("r1", iteration, "ada", "abcd", of)
        return opened.close(state="deployed" if cause is None else "failed", cause=cause).number

    def before(iteration: int) -> list[int]:
        return [one.number for one in journal.undecided("r1", iteration)]

    assert before(1) == []
    chain = [tried(1, cause) for cause in NOT_THE_CANDIDATES]
    assert before(1) == chain
    assert before(2) == [], "another iteration"
    for cause in ("wrong_result", "not_approved", None):
        tried(1, cause)
        assert before(1) == [], f"{cause}: the iteration was decided on"
        chain = [tried(1, "cut"), tried(1, "taken")]
        assert before(1) == chain
    tried(1, "cut", of=1)
    assert before(1) == [], "a rollback"


def test_an_answer_that_cannot_be_read_takes_no_other_with_it(tmp_path: Path) -> None:
    opened = DeploymentJournal(tmp_path).begin("r1", 1, "ada", "abcd")
    assert opened.fixes(KeptAnswer) == []
    opened.fixed(prompt="p", text="one", stop="end")
    opened.fixed(prompt="p", text="no end")
    opened.fixed(prompt="p", text="two", stop="end")
    assert [one.text for one in opened.fixes(KeptAnswer)] == ["one", "two"]
