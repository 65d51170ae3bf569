"""A sweep's context and its iterations."""

from dataclasses import replace

from kpd.agents.agent import Context
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Verdict
from kpd.workspace.task import Task
from tests.support.agents.asked import asked
from tests.support.model.samples import done


def context(task: Task, run: Run, number: int) -> Context:
    files = {"kernel.c": b"#define TILE 8\nint x;\n"}
    return replace(asked(task.folder, task, files), run=run, number=number)


def iteration(
    number: int, parent: int, outcome: Outcome | None, gain: float | None, point: dict[str, str]
) -> Iteration:
    verdict = (
        None if gain is None else Verdict("same", Gain(gain, gain, gain), 5, outcome == "accepted", "told", told="")
    )
    return Iteration(number, "sweep", parent, 0.0, status=done(outcome), verdict=verdict, point=point)
