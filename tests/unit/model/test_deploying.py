"""Which winner is to be deployed now is a function of the state, so that every daemon decides the same."""

from dataclasses import replace

import pytest

from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Stopped
from kpd.model.deploying import due, goes_on, outcome
from kpd.model.deployments import Deployment, DeploymentCard
from kpd.model.status import RunOutcome
from kpd.text.notices import notice as told
from tests.support.tui.logs import Log

OPEN = Deployment(1, "r1", 1, 2e9, phase="build")


def won(deploy: str = "p", outcome: RunOutcome = "improved") -> Log:
    log = Log().emit(e.RunQueued("r1", "t", "sweep", "local", Budget(), deploy=deploy)).baseline()
    return log.iteration(1, "wide", 5.0, "faster").emit(e.RunEnded("r1", outcome, Stopped("op")))


def seen(log: Log, one: Deployment, cut: bool = False, project: str = "p") -> Log:
    return log.emit(e.DeploymentSeen(one.run, DeploymentCard(project, one, cut)))


def is_due(log: Log) -> bool:
    return [run.id for run in due(log.state)] == ["r1"]


def test_only_a_winner_that_was_to_be_deployed_is_due() -> None:
    assert is_due(won())
    assert not is_due(won(deploy=""))
    assert not is_due(won(outcome="no_gain"))
    assert not is_due(won(outcome="stopped"))
    assert not is_due(Log().emit(e.RunQueued("r1", "t", "sweep", "local", Budget(), deploy="p")).baseline())


@pytest.mark.parametrize(
    "ended",
    [
        replace(OPEN, state="deployed"), replace(OPEN, state="rolled_back", cause="no_gain"),
        replace(OPEN, state="refused", cause="not_approved"), replace(OPEN, state="deployed", taken_back=2),
    ],
)  # fmt: skip
def test_a_winner_is_deployed_once_however_that_ended(ended: Deployment) -> None:
    log = seen(won(), ended)
    found = outcome(log.state, log.state.runs["r1"])
    assert found is not None
    assert found.deployment == ended
    assert not is_due(log)
    assert not is_due(log.emit(e.RunEnded("r1", "improved", Stopped("op")))), "measured again, it is the same winner"


def test_other_deployments_do_not_count() -> None:
    deployed = replace(OPEN, state="deployed")
    assert is_due(seen(won(), deployed, project="another"))
    assert is_due(seen(won(), replace(deployed, iteration=2, state="rolled_back", cause="no_gain")))
    assert is_due(seen(won(), replace(deployed, of=7)))
    assert is_due(seen(won(), replace(deployed, at=1.0))), "of a former log with the same ids"


@pytest.mark.parametrize(
    "before",
    [
        replace(OPEN, iteration=2, state="deployed", taken_back=2),
        replace(OPEN, iteration=2, state="rolled_back", cause="no_gain", unattended=True),
    ],
)
def test_what_becomes_the_winner_later_is_not_deployed_by_itself(before: Deployment) -> None:
    """A person went back to another iteration, accepted one, or it gave way: the run ends again."""
    log = seen(won(), before).emit(e.RunEnded("r1", "improved", Stopped("op")))
    assert not is_due(log)
    assert not goes_on(log.state, log.state.runs["r1"])
    log = won().emit(e.DeployNotBegun("r1", "p", "no answer")).emit(e.RunEnded("r1", "improved", Stopped("op")))
    assert not is_due(log)


def test_one_that_was_cut_off_is_begun_again_until_the_daemon_gives_it_up() -> None:
    log = won()
    for number in (1, 2, 3):
        assert is_due(log)
        log.emit(e.DeployBegun("r1", "p"))
        seen(log, replace(OPEN, number=number))
        assert not is_due(log)
        assert goes_on(log.state, log.state.runs["r1"])
        seen(log, replace(OPEN, number=number), cut=True)
    assert goes_on(log.state, log.state.runs["r1"])
    assert "CUT OFF p #3" in told(log.state.notices[-1])
    log.emit(e.DeployNotBegun("r1", "p", "its process was ended"))
    assert not is_due(log)
    assert (goes_on(log.state, log.state.runs["r1"]), outcome(log.state, log.state.runs["r1"])) == (False, None)
    seen(log, replace(OPEN, number=3, state="rolled_back", cause="cut"))
    assert [told(one) for one in log.state.notices] == [
        "r1 is not deployed: its process was ended; kpd project deploy p r1 tries again"
    ], "it is restored: nobody has to look any more"


def test_one_by_hand_that_was_cut_off_afterwards_changes_nothing() -> None:
    ended = replace(OPEN, state="rolled_back", cause="no_gain", unattended=True)
    log = seen(seen(won(), ended), replace(OPEN, number=2), cut=True)
    assert (is_due(log), goes_on(log.state, log.state.runs["r1"])) == (False, False)
    found = outcome(log.state, log.state.runs["r1"])
    assert found is not None
    assert found.deployment == ended


def test_one_that_cannot_begin_is_told_and_not_tried_for_ever() -> None:
    log = won().emit(e.DeployBegun("r1", "p")).emit(e.DeployNotBegun("r1", "p", "kpd: gpu1: no answer\x1b[2J"))
    assert not is_due(log)
    assert told(log.state.notices[-1]) == (
        "r1 is not deployed: kpd: gpu1: no answer [2J; kpd project deploy p r1 tries again"
    )
