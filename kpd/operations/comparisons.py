"""Declares the operations on comparisons of built tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from kpd.operations.arguments import Arg, Count, Positive, Text, Within
from kpd.operations.operation import OnDaemon, Operation, Refused
from kpd.operations.references import comparison_ref
from kpd.operations.runs import WHO

if TYPE_CHECKING:
    from kpd.model.comparison import ToolComparison
    from kpd.model.state import State

MOST_TRIALS = 25
"""The most runs of a side: the rank test counts every way to deal all runs to two sides. One of each has no order in
which neither side is wholly first."""
Trials = Annotated[int, Within(ge=2, le=MOST_TRIALS)]
Seed = Annotated[int, Within(ge=1, le=2**32)]


class CompareTools(OnDaemon):
    """Compare built tools with no tools: runs of a task with them and without, in a random order, with equal budgets.

    Each run starts from the same files, and is scored by what kpd measures.
    """

    name = "compare"
    verb = "compare"
    emits = ("comparison_queued",)
    done = "{comparison} is queued: {runs} runs of {task}, one after the other"

    task: Annotated[Text, Arg("TASK", "a task's name")]
    tools: Annotated[Text, Arg("TOOLS", "the tools of one side, as in lint,trace@3f2a91c0", "--with")]
    trials: Annotated[Trials, Arg("N", "runs of each side (default: 5)", "--trials")] = 5
    agent: Annotated[str | None, Arg("AGENT", WHO, "--agent")] = None
    host: Annotated[str | None, Arg("HOST", "a host of config.toml", "--host")] = None
    iterations: Annotated[Count, Arg("N", "attempts of each run (default: 1)", "--iterations")] = 1
    usd: Annotated[Positive | None, Arg("DOLLARS", "each run spends no more than this", "--usd")] = None
    seed: Annotated[Seed | None, Arg("N", "draws the order; without it a new one", "--seed")] = None


class StopComparison(Operation["ToolComparison"]):
    """End a comparison early, and its run that is under way."""

    name = "stop_comparison"
    verb = "compare"
    emits = ("comparison_stopped",)
    done = "{comparison} is stopped; what its runs have shown so far proves nothing"

    comparison: Annotated[Text, Arg("ID", "c1, c2, …")]

    def target(self, state: State) -> ToolComparison:
        return comparison_ref(state, self.comparison)

    def why_not(self, state: State, target: ToolComparison) -> Refused | None:
        from kpd.model.comparisons import is_over

        if is_over(state, target):
            return Refused(f"{target.id} is over", f"kpd compare show {target.id}")
        return Refused(f"{target.id} is stopped already") if target.stopped else None

    def answer(self, target: ToolComparison) -> dict[str, Any]:
        return {"comparison": target.id}
