"""Which winner is to be deployed now is a function of the state, so that every daemon decides the same."""

from dataclasses import replace

import pytest

from kpd.model import events as e
from kpd.model.causes import Stopped
from kpd.model.deploying import MOST_BEGUN, due, goes_on, outcome
from kpd.model.deployments import Deployment, DeploymentCard
from kpd.model.run import Budget
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
    assert is_due(seen(won(), replace(deployed, iteration=2)))
    assert is_due(seen(won(), replace(deployed, of=7)))
    assert is_due(seen(won(), replace(deployed, at=1.0))), "of a former log with the same ids"


def test_one_that_was_cut_off_is_begun_again_but_not_for_ever() -> None:
    log = won()
    for number in range(1, MOST_BEGUN + 1):
        assert is_due(log)
        log.emit(e.DeployBegun("r1", "p"))
        seen(log, replace(OPEN, number=number))
        assert not is_due(log)
        assert outcome(log.state, log.state.runs["r1"]) is None
        seen(log, replace(OPEN, number=number), cut=True)
        assert goes_on(log.state, log.state.runs["r1"]) == (number < MOST_BEGUN), "one is still to be begun"
    assert not is_due(log)
    last = outcome(log.state, log.state.runs["r1"])
    assert last is not None
    assert last.cut
    assert "CUT OFF p #3" in told(log.state.notices[-1])
    assert not is_due(seen(log, replace(OPEN, number=3, state="rolled_back", cause="cut")))
    assert log.state.notices == (), "it is restored: nobody has to look any more"


def test_one_that_cannot_begin_is_told_and_not_tried_for_ever() -> None:
    log = won().emit(e.DeployBegun("r1", "p")).emit(e.DeployNotBegun("r1", "p", "kpd: gpu1: no answer\x1b[2J"))
    assert not is_due(log)
    assert told(log.state.notices[-1]) == (
        "r1 is not deployed: kpd: gpu1: no answer [2J; kpd project deploy p r1 tries again"
    )
