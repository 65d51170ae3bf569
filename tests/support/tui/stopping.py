"""A run that is being stopped."""

from dataclasses import replace

from kpd.model.budget import Budget
from tests.support.tui import logs
from tests.support.tui.views import view_of
from tui.model.view import View


def stopping(at: float, direction: str = "lower") -> View:
    """The run of every kind with a score that would end it."""
    log = logs.Log().daemon().tasks().run(budget=Budget(iterations=8, stop_score=at)).baseline()
    log.iteration(1, "UNROLL=4", 8.3, "faster")
    view = view_of(log)
    card = replace(view.state.tasks[logs.TASK], direction=direction)
    return replace(view, state=replace(view.state, tasks={**view.state.tasks, logs.TASK: card}))
