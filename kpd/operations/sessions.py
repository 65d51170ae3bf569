"""Declares the operations on a coding agent at work: answer what it asks for, send it a message, cut its turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from kpd.operations.arguments import Arg
from kpd.operations.operation import RUN, Key, OnRun, Operation, Refused, RunIteration, ended
from kpd.operations.references import iteration_ref

if TYPE_CHECKING:
    from kpd.model.iteration import Iteration
    from kpd.model.run import Run
    from kpd.model.state import State


class AnswerAgent(Operation[RunIteration]):
    """Answer the oldest question of a coding agent."""

    name = "answer"
    keys = (
        Key("allow", "O", "allow", "Review", 1, True, "let the agent do what it asks for", {"reply": "allow"}),
        Key("deny", "X", "deny", "Review", 2, True, "refuse what the agent asks for", {"reply": "deny"}),
    )
    emits = ("permission_answered",)

    iteration: Annotated[str | None, Arg("ITER", "r3.7 (default: the one whose agent asks)")] = None
    question: Annotated[int | None, Arg("N", "its number, as kpd status says it; allow needs it", "--question")] = None
    reply: Annotated[Literal["allow", "deny"], Arg("REPLY", "whether the agent may")]

    def target(self, state: State) -> RunIteration:
        if self.iteration:
            return RunIteration(*iteration_ref(state, self.iteration))
        found = asking(state)
        if not found:
            raise Refused("no agent asks for anything", "ask = true in its table of config.toml lets it ask")
        if len(found) > 1:
            raise Refused(f"the agents of {' and '.join(place.ref for place in found)} ask", "say which one you mean")
        return found[0]

    def why_not(self, state: State, target: RunIteration) -> Refused | None:
        if target not in asking(state) or target.it.session is None:
            return Refused(f"the agent of {target.ref} asks for nothing")
        oldest = target.it.session.asks[0]
        if self.question == oldest.request or (self.question is None and self.reply == "deny"):
            return None
        named = "no question is named" if self.question is None else f"question {self.question} is not the oldest"
        asks = f"the agent of {target.ref} asks to {oldest.tool}: {oldest.about}"
        return Refused(f"{named}; {asks}", f"kpd {self.reply} {target.ref} --question {oldest.request}")

    def answer(self, target: RunIteration) -> dict[str, Any]:
        return {"run": target.run.id, "iteration": target.it.number}

    def told(self, answer: Mapping[str, Any]) -> str:
        did = "allowed" if self.reply == "allow" else "refused"
        return f"{did}: {answer.get('what', '')}"


class InterruptAgent(OnRun):
    """Cut the agent's turn, and send it a note at once."""

    name = "interrupt"
    biases = True
    keys = (Key("interrupt", "I", "interrupt", "Run"),)
    emits = ("steered", "turn_cut")
    done = "the turn is cut, and note {note} is sent"

    run: Annotated[str | None, RUN._replace(option="--run")] = None
    text: Annotated[str, Arg("TEXT", "what the agent should know or do", words=True)]

    def why_not(self, state: State, target: Run) -> Refused | None:
        return _idle(target)


class CutTurn(OnRun):
    """End the agent's turn now, and take what lies in its tree."""

    name = "cut"
    biases = True
    keys = (Key("cut", "H", "cut turn", "Run"),)
    emits = ("turn_cut",)

    def why_not(self, state: State, target: Run) -> Refused | None:
        return None if building(target) else _idle(target)

    def answer(self, target: Run) -> dict[str, Any]:
        return {"run": target.id, "builds": building(target) is not None}

    def told(self, answer: Mapping[str, Any]) -> str:
        taken = "its work on a tool ends" if answer.get("builds") else "what lies in its tree is the candidate"
        return f"the turn of {answer.get('run', 'it')} is cut: {taken}"


def asking(state: State) -> list[RunIteration]:
    """Return the iterations whose agents wait for an answer."""
    return [RunIteration(run, it) for run in state.begun for it in run.open if it.session and it.session.asks]


def at_work(run: Run) -> Iteration | None:
    """Return the iteration whose coding agent has a prompt and works on it, the first where several do."""
    return next((it for it in run.open if it.step == "propose" and it.session and it.session.at_work), None)


def building(run: Run) -> Iteration | None:
    """Return the iteration, which has ended, whose coding agent works on a tool."""
    it = run.iterations[-1] if run.iterations else None
    return it if it is not None and it.session and it.session.builds and not run.over else None


def _idle(run: Run) -> Refused | None:
    if (why := ended(run)) is not None or at_work(run) is not None:
        return why
    return Refused(f"no coding agent of {run.id} is at work", "kpd steer reaches its next turn")
