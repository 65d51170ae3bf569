"""Declares the review of candidates: which wait for a person before they are built, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from kpd.operations.arguments import Arg
from kpd.operations.operation import (
    Key,
    OnRun,
    Operation,
    Refused,
    RunIteration,
    ended,
)
from kpd.operations.references import iteration_ref

if TYPE_CHECKING:
    from kpd.model.iteration import Iteration
    from kpd.model.run import Run
    from kpd.model.state import State


class SetReview(OnRun):
    """Let candidates wait for your approval before they are built, or not."""

    name = "review"
    biases = True
    keys = (Key("review", "g", "review gate", "Review", rank=17),)
    emits = ("review_set",)

    on: Annotated[bool, Arg("on|off", "whether candidates wait for you")]

    def why_not(self, state: State, target: Run) -> Refused | None:
        return ended(target, "set [run] approve in config.toml, or queue a run with --approve")

    def told(self, answer: Mapping[str, Any]) -> str:
        how = "wait for your review before they are built" if self.on else "are built without waiting for you"
        return f"candidates of {answer.get('run')} {how}"


class OnWaiting(Operation[RunIteration]):
    """An operation on a candidate that waits for a person: the one that is named, else the only one."""

    iteration: Annotated[str | None, Arg("ITER", "r3.7 (default: the one that waits)")] = None

    def target(self, state: State) -> RunIteration:
        if self.iteration:
            return RunIteration(*iteration_ref(state, self.iteration))
        found = self.places(state)
        if not found:
            raise Refused("no candidate waits for your review", "kpd review on has those to come wait")
        if len(found) > 1:
            refs = " and ".join(place.ref for place in found)
            raise Refused(f"{refs} wait: select one of them", f"name it, as in {found[0].ref}")
        return found[0]

    def places(self, state: State) -> list[RunIteration]:
        """Return the candidates that the operation can be applied to."""
        return [RunIteration(run, it) for run in state.begun for it in run.open if it.review == "waits"]

    def why_not(self, state: State, target: RunIteration) -> Refused | None:
        if target in self.places(state):
            return None
        if target.it.held:
            return Refused(f"{target.ref} was built and won: its flags wait for a person", f"kpd accept {target.ref}")
        return Refused(f"{target.ref} does not wait for a person", "kpd held shows what does")

    def answer(self, target: RunIteration) -> dict[str, Any]:
        return {"run": target.run.id, "iteration": target.it.number}


class ApproveCandidate(OnWaiting):
    """Let the waiting candidate be built."""

    name = "approve"
    biases = True
    keys = (Key("approve", "y", "approve", "Review", 1, True),)
    emits = ("approved",)
    done = "{of} is approved: it is built next"


class DeclineCandidate(OnWaiting):
    """Refuse the waiting candidate, or a winner that is held, with a reason."""

    name = "decline"
    biases = True
    decides = True
    keys = (Key("decline", "D", "decline", "Review", 2, True),)
    emits = ("declined",)
    done = "{of} is declined; its agent reads that when it next proposes"

    reason: Annotated[str, Arg("TEXT", "the reason, for the agent's next proposal", "--reason")] = ""

    def places(self, state: State) -> list[RunIteration]:
        return super().places(state) + [RunIteration(run, it) for run in state.runs.values() for it in run.held]


def waiting(run: Run) -> Iteration | None:
    """Return the run's candidate that waits for a person's review, the first where several do."""
    return next((it for it in run.open if it.review == "waits"), None)
