"""Parses names of runs, iterations and comparisons: `r3`, `r3.7`, or `7` in the newest run, `c1`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kpd.wire import DaemonError

if TYPE_CHECKING:
    from kpd.model.comparison import ToolComparison
    from kpd.model.iteration import Iteration
    from kpd.model.run import Run
    from kpd.model.state import State

_RUN = re.compile(r"r[1-9][0-9]{0,8}")
_ITERATION = re.compile(r"(?:(r[1-9][0-9]{0,8})\.)?([0-9]{1,9})")


def run_ref(state: State, text: str | None = None) -> Run:
    """Return the run that `text` names; without `text` the newest run. Raises DaemonError (usage, unknown)."""
    if not state.runs:
        raise DaemonError("unknown", "there is no run yet", "kpd run TASK queues one")
    if text is None:
        return next(reversed(state.runs.values()))
    if not _RUN.fullmatch(text):
        raise DaemonError("usage", f"{text!r} is not a run", "runs are called r1, r2, …")
    if text not in state.runs:
        raise DaemonError("unknown", f"there is no run {text}", f"the newest is {next(reversed(state.runs))}")
    return state.runs[text]


def iteration_ref(state: State, text: str) -> tuple[Run, Iteration]:
    """Return the iteration that `text` names, and its run. Raises DaemonError (usage, unknown)."""
    named = _ITERATION.fullmatch(text)
    if named is None:
        remedy = f"name one of its iterations: {text}.0, {text}.1, …" if _RUN.fullmatch(text) else "r3.7, or 7"
        raise DaemonError("usage", f"{text!r} is not an iteration", remedy)
    run = run_ref(state, named[1])
    found = run.iteration(int(named[2]))
    if found is None:
        has = f"it has 0 to {run.iterations[-1].number}" if run.iterations else "it has none yet"
        raise DaemonError("unknown", f"run {run.id} has no iteration {int(named[2])}", has)
    return run, found


def comparison_ref(state: State, text: str) -> ToolComparison:
    """Return the comparison that `text` names. Raises DaemonError (unknown)."""
    if text in state.comparisons:
        return state.comparisons[text]
    newest = f"the newest is {next(reversed(state.comparisons))}" if state.comparisons else ""
    raise DaemonError("unknown", f"there is no comparison {text!r}", newest or "kpd compare TASK --with TOOLS")
