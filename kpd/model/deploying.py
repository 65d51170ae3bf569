"""Defines the fact of a deployment: commands keep its journal, and the daemon reads that into the log."""

from dataclasses import dataclass, replace

from kpd.model.deployments import DeploymentCard
from kpd.model.fact import RunFact
from kpd.model.notices import InProduction, Notice
from kpd.model.reducers import reduces, with_notice
from kpd.model.state import State


@dataclass(frozen=True, slots=True)
class DeploymentSeen(RunFact):
    """What the daemon has read of a deployment of the run's winner: it began, goes on with a phase, or ended."""

    card: DeploymentCard


@reduces(DeploymentSeen)
def _seen(state: State, at: float, fact: DeploymentSeen) -> State:
    """Note where the deployment stands; what was to be looked at of it, and of earlier ones of its project, is over."""
    card = fact.card
    notices = tuple(one for one in state.notices if not _is_over(one, card))
    state = replace(state, deployments={**state.deployments, card.key: card}, notices=notices)
    if not card.alarming:
        return state
    return with_notice(state, Notice(at, "warning" if card.cut else "error", InProduction(card)))


def _is_over(notice: Notice, now: DeploymentCard) -> bool:
    about = notice.about
    if not isinstance(about, InProduction) or about.card.project != now.project:
        return False
    return about.card.deployment.number <= now.deployment.number
