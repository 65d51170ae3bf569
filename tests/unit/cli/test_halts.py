"""What is said to who waits for a run: each reason of a wait once, until an iteration has ended."""

import pytest

from kpd.cli.halts import Halts
from kpd.model import events as e
from kpd.model.causes import Skipped
from kpd.model.deployments import Deployment, DeploymentCard
from kpd.model.waits import DeviceBusy, ForLease, ForService, ForTask, ForTurn, HostTrouble, Silent, Wait

BUSY = HostTrouble("busy", "too busy to measure")


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (ForLease("local: ada measures since 12:00"), ForLease("local: ada measures since 12:01")),
        (ForTurn("local", "r1"), ForTurn("local", "r3")),
        (DeviceBusy(BUSY, 5), DeviceBusy(HostTrouble("busy", "still too busy"), 10)),
        (ForService("overloaded", 5), ForService("overloaded", 10)),
        (Silent(30), Silent(60)),
        (ForTask("r1", "gemm"), ForTask("r1", "gemm")),
    ],
)
def test_a_wait_is_told_once_an_iteration(first: Wait, again: Wait) -> None:
    halts = Halts("r2")
    assert halts.say(e.RunWaits("r2", first)).startswith("r2 waits: ")
    assert not halts.say(e.RunWaits("r2", None))
    assert not halts.say(e.RunWaits("r2", again))
    assert not halts.say(e.IterationEnded("r1", 1, "rejected", Skipped("ada")))
    assert not halts.say(e.RunWaits("r2", again))
    assert not halts.say(e.IterationEnded("r2", 1, "rejected", Skipped("ada")))
    assert halts.say(e.RunWaits("r2", again)).startswith("r2 waits: ")


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (ForLease("ada measures"), ForService("overloaded", 5)),
        (ForService("overloaded", 5), ForService("the connection was refused", 5)),
        (DeviceBusy(BUSY, 5), DeviceBusy(HostTrouble("hot", "the device is hot"), 5)),
        (ForTask("r1", "gemm"), ForTask("r3", "gemm")),
    ],
)
def test_another_reason_is_told(first: Wait, other: Wait) -> None:
    halts = Halts("r2")
    assert all(halts.say(e.RunWaits("r2", wait)).startswith("r2 waits: ") for wait in (first, other))


def test_that_it_waits_for_its_own_last_checks_is_not_told() -> None:
    assert Halts("r2").say(e.RunWaits("r2", ForTurn("local", "r2"))) == ""
    assert Halts("r2").say(e.RunWaits("r2", ForTurn("local", "r1"))) == "r2 waits: local: r1 measures on it"


def test_waits_of_other_runs_are_not_told() -> None:
    assert not Halts("r2").say(e.RunWaits("r1", Silent(5)))


def test_the_deployment_of_the_run_s_winner_is_told_and_no_other() -> None:
    card = DeploymentCard("p", Deployment(1, "r2", 4, 0.0, asks="a-hash"))
    assert Halts("r2").say(e.DeploymentSeen("r2", card)).startswith("p #1, r2.4 waits for you: kpd project approve p")
    said = "r2 is not deployed: no [2J answer; kpd project deploy p r2 tries again"
    assert Halts("r2").say(e.DeployNotBegun("r2", "p", "no\x1b[2J answer")) == said
    assert Halts("r1").say(e.DeploymentSeen("r2", card)) == ""
