"""Agents that cannot be had: said when a run is queued, and when its agents are changed."""

from kpd.agents import catalogue
from kpd.operations.operation import Refused
from kpd.workspace.paths import Workspace


def refuse_agents(names: str, workspace: Workspace) -> None:
    """Raises Refused for an agent that is not there or has nothing to propose, and for those that take no turns."""
    reason, remedy = catalogue.refusal(names, workspace)
    if reason:
        raise Refused(reason, remedy)
