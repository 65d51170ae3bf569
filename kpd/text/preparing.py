"""Renders the phases before a run's first iteration."""

from collections.abc import Iterator
from pathlib import PurePath

from kpd.model.preparation import BeforePhase, Phase, PhaseResult
from kpd.model.preparing import PhaseEnded
from kpd.model.run import Run
from kpd.text import money
from kpd.text.numbers import duration

PHASES: dict[BeforePhase, str] = {
    "check": "the host, and the project's files",
    "observe": "one run of the program: what it launches",
    "task": "the kernel as it is in production, with a harness",
}


def came_to(phase: BeforePhase, result: PhaseResult) -> str:
    """Say what a phase came to."""
    if result.failed:
        return f"FAILED: {result.failed}" + (f"; {result.remedy}" if result.remedy else "")
    if phase == "check":
        lacks = "; ".join(result.lacks)
        return f"the project is as it should be; its host lacks {lacks}" if lacks else "the project is as it should be"
    if phase == "observe":
        return "observed" if result.anew else "what was observed is current"
    if not result.anew:
        return f"{result.task} has it"
    return f"made {result.task}" + (f", with the harness of {result.of}" if result.of else "")


def cost(phase: Phase) -> str:
    """Say what a phase has cost, by purpose; empty where it asked no model."""
    return ", ".join(f"{purpose} {money.cost(spend)}" for purpose, spend in phase.spend.items())


def headline(phase: Phase) -> str:
    """Say in one line where a phase stands: what it does, or what it came to, its time and its cost."""
    again = f", begun {phase.times} times" if phase.times > 1 else ""
    if phase.result is None:
        return f"{phase.name}: {PHASES[phase.name]}{again}"
    took = ", ".join(filter(None, (f"{duration(phase.seconds)}{again}", cost(phase))))
    return f"{phase.name}: {came_to(phase.name, phase.result)} ({took})"


def row(phase: Phase, when: str) -> tuple[str, ...]:
    """Return a phase as a row of a table: its name, when it began, its time, its cost, and what it came to."""
    if phase.result is None:
        return phase.name, when, "", cost(phase), "UNDER WAY"
    return phase.name, when, duration(phase.seconds), cost(phase), came_to(phase.name, phase.result)


def ended(fact: PhaseEnded) -> str:
    """Say in one line what a phase that has just ended came to."""
    return headline(Phase(fact.phase, 0.0, 1, fact.result, fact.seconds, fact.spend))


def now(run: Run) -> str:
    """Say which phase a run is at, or which comes next, and who is awaited; empty for one that has its task."""
    if run.order is None or run.over or (phase := run.next_phase) is None:
        return ""
    again = f", begun {at.times} times" if (at := run.at_phase) is not None and at.times > 1 else ""
    return f"{phase}: {does(run, phase)}{again}"


def does(run: Run, phase: BeforePhase) -> str:
    """Say what a phase of a run does, and where it asks whoever writes the harness."""
    asks = f": {question(run)} asks for it, reply.md beside it answers"
    return PHASES[phase] + (asks if phase == "task" and run.order is not None and run.order.mailbox else "")


def question(run: Run, workspace: str = "") -> str:
    """Return the file that asks in a mailbox for the harness of a run's task."""
    return str(PurePath(workspace, "onboarding", run.task, "prompt.md"))


def lines(run: Run) -> Iterator[str]:
    """Yield a headline for each phase so far."""
    return (headline(phase) for phase in run.phases)
