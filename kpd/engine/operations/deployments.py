"""Implements the answer to a deployment that waits: its process, which no daemon owns, reads that from a file."""

from kpd.engine.engine import Engine
from kpd.model.deployments import DeploymentCard
from kpd.operations.deployments import AnswerDeployment
from kpd.operations.operation import Refused
from kpd.workspace.deployments import DeploymentJournal, GateAnswer, OpenDeployment


def answer_deployment(engine: Engine, op: AnswerDeployment, target: DeploymentCard, by: str) -> None:
    """Answer exactly the change that waits. Raises Refused where nobody would read that, OSError."""
    journal = DeploymentJournal(engine.workspace.deployments / target.project)
    if not journal.busy:
        raise Refused(f"{target.key} waits no more: its process is gone", f"kpd project history {target.project}")
    opened = OpenDeployment(journal.folder, target.deployment.number)
    opened.answer(GateAnswer(target.deployment.asks, op.yes, by))
