"""Declares the operation on deployments: answer one that waits for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from kpd.operations.arguments import Arg, Text
from kpd.operations.operation import Key, Operation, Refused, UnknownName

if TYPE_CHECKING:
    from kpd.model.deployments import DeploymentCard
    from kpd.model.state import State


class AnswerDeployment(Operation["DeploymentCard"]):
    """Answer a deployment that waits for a person: a yes is to the change that they saw, and to no other."""

    name = "answer_deployment"
    verb = "project"
    keys = (
        Key("deploy", "d", "deploy", "Review", 1, True,
            "show the change of a production program that waits for you, and approve it", {"yes": True}),
        Key("keep_program", "G", "keep program", "Review", 2, True,
            "decline the change of a production program that waits for you", {"yes": False}),
    )  # fmt: skip

    deployment: Annotated[Text, Arg("PROJECT", "its project and number, as in prover#2")]
    diff: Annotated[str, Arg("HASH", "the hash of the diff that was shown; a no needs none", "--diff")] = ""
    yes: Annotated[bool, Arg("yes|no", "whether the change may be made")]

    def target(self, state: State) -> DeploymentCard:
        if self.deployment not in state.deployments:
            waits = ", ".join(card.key for card in waiting(state)) or "none"
            raise UnknownName(f"no deployment {self.deployment}", f"those that wait: {waits}")
        return state.deployments[self.deployment]

    def why_not(self, state: State, target: DeploymentCard) -> Refused | None:
        if not target.waits:
            return Refused(f"{target.key} does not wait for a person", f"kpd project history {target.project}")
        if self.yes and self.diff != target.deployment.asks:
            return Refused(f"the change of {target.key} is not the one that you were shown", "look at it again")
        return None

    def told(self, answer: Mapping[str, Any]) -> str:
        return f"the change of {self.deployment} is {'approved' if self.yes else 'declined'}"


def waiting(state: State) -> list[DeploymentCard]:
    """Return the deployments that wait for a person."""
    return [card for card in state.deployments.values() if card.waits]
