"""Defines the facts of deployments, and decides which run's winner is to be brought into production now.

Commands keep the journal of a deployment, and the daemon reads that into the log.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kpd.model.deployments import DeploymentCard
from kpd.model.fact import RunFact
from kpd.model.notices import InProduction, NotDeployed, Notice
from kpd.model.reducers import on_run, reduces, with_notice
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Ended


@dataclass(frozen=True, slots=True)
class DeploymentSeen(RunFact):
    """What the daemon has read of a deployment of the run's winner: it began, goes on with a phase, or ended."""

    card: DeploymentCard


@dataclass(frozen=True, slots=True)
class DeployBegun(RunFact):
    """The start of a process that brings the winner of an ended run into `project`."""

    project: str


@dataclass(frozen=True, slots=True)
class DeployNotBegun(RunFact):
    """What kpd gives up: the process has begun no deployment, or was ended too often. `said` are its last words."""

    project: str
    said: str


def due(state: State) -> Iterator[Run]:
    """Yield the runs whose winner is to be brought into their project now, if nothing works on that.

    A deployment that was cut off is begun again: whatever it had changed is restored first. One that has ended is not.
    """
    for run in state.runs.values():
        if run.over and goes_on(state, run) and all(_was_cut(card) for card in deployed_by(state, run)):
            yield run


def outcome(state: State, run: Run) -> DeploymentCard | None:
    """Return the last deployment of the run that says how it went; None where none does, or not yet."""
    cards = (card for card in deployed_by(state, run) if card.deployment.state != "open" and not _was_cut(card))
    return max(cards, key=lambda card: card.deployment.number, default=None)


def goes_on(state: State, run: Run) -> bool:
    """Return whether the run, or the deployment of its winner, has still to end; the daemon ends what it gives up."""
    return not run.over or (wants_deployment(run) and not run.undeployed and outcome(state, run) is None)


def wants_deployment(run: Run) -> bool:
    return bool(run.deploy) and isinstance(run.status, Ended) and run.status.outcome == "improved"


def _was_cut(card: DeploymentCard) -> bool:
    return card.cut or card.deployment.cause == "cut"


def deployed_by(state: State, run: Run) -> tuple[DeploymentCard, ...]:
    """Return the deployments of the run's winner into the run's own project, oldest first; no rollbacks.

    One that stayed, or that nobody sat before, counts whatever is the winner by now: what a person makes the incumbent
    afterwards is not what was to be deployed.
    """
    won = run.best.number if run.best is not None else None
    cards = ((card, card.deployment) for card in state.deployments_of(run) if card.project == run.deploy)
    mine = (card for card, one in cards if one.iteration == won or one.unattended or one.state == "deployed")
    return tuple(card for card in mine if card.deployment.of is None)


@reduces(DeployBegun)
def _begun(state: State, at: float, fact: DeployBegun) -> State:
    run = state.runs.get(fact.run)
    return state if run is None else on_run(state, fact.run, deploys=run.deploys + 1)


@reduces(DeployNotBegun)
def _not_begun(state: State, at: float, fact: DeployNotBegun) -> State:
    notice = Notice(at, "error", NotDeployed(fact.run, fact.project, fact.said))
    return with_notice(on_run(state, fact.run, undeployed=fact.said), notice)


@reduces(DeploymentSeen)
def _seen(state: State, at: float, fact: DeploymentSeen) -> State:
    """Note where the deployment stands; what was to be looked at of it, and of earlier ones of its project, is over."""
    card = fact.card
    notices = tuple(one for one in state.notices if not _is_over(one, card))
    state = replace(state, deployments={**state.deployments, card.key: card}, notices=notices)
    if not card.wants_person:
        return state
    return with_notice(state, Notice(at, "error" if card.left_changed else "warning", InProduction(card)))


def _is_over(notice: Notice, now: DeploymentCard) -> bool:
    about = notice.about
    if not isinstance(about, InProduction) or about.card.project != now.project:
        return False
    return about.card.deployment.number <= now.deployment.number
