"""Declares the operations that change the terms of a run: its budget, its agents, its rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from kpd.operations.arguments import Arg, Count, NotNegative, Percent, Text
from kpd.operations.operation import Key, OnRun, Refused, ended
from kpd.operations.runs import GPU_HOURS, HOURS, ITERATIONS, MIN_GAIN, PATIENCE

if TYPE_CHECKING:
    from kpd.model.run import Run
    from kpd.model.state import State


class ChangeBudget(OnRun):
    """Show or change the budget of a run.

    What is None stays as it is. No limit in dollars or hours, and no score to stop at, is 0. A run that its hours have
    ended goes on with new ones.
    """

    name = "budget"
    biases = True
    keys = (Key("budget", "B", "budget", "Run", rank=15),)
    emits = ("budget_changed",)
    done = "the budget of {run} is changed"

    iterations: Annotated[Count | None, ITERATIONS] = None
    patience: Annotated[Count | None, PATIENCE] = None
    min_gain_pct: Annotated[Percent | None, MIN_GAIN] = None
    stop_score: Annotated[NotNegative | None, Arg("X", "end once the score is this good; 0: never", "--stop-score")] = (
        None
    )
    usd: Annotated[NotNegative | None, Arg("D", "spend no more than this on models; 0: no limit", "--usd")] = None
    hours: Annotated[NotNegative | None, HOURS._replace(help=f"{HOURS.help}; 0: no limit")] = None
    gpu_hours: Annotated[NotNegative | None, GPU_HOURS._replace(help=f"{GPU_HOURS.help}; 0: no limit")] = None
    fix_attempts: Annotated[Count | None, Arg("N", "how often an agent may repair a candidate", "--fix-attempts")] = (
        None
    )

    def why_not(self, state: State, target: Run) -> Refused | None:
        if not target.out_of_hours:
            return ended(target)
        since = [one for one in state.runs.values() if one.task == target.task and one.queued > target.queued]
        if since:
            return ended(target)
        option = "--gpu-hours" if target.gpus_used else "--hours"
        more = self.gpu_hours if target.gpus_used else self.hours
        return None if more is not None else ended(target, f"kpd budget {target.id} {option} H gives it more")


class ChangeAgent(OnRun):
    """Change the agents that propose, or their model.

    What is None stays as it is; an empty model is config.toml's.
    """

    name = "agent"
    biases = True
    keys = (Key("agent", "A", "agent", "Run", rank=16),)
    emits = ("agent_changed",)

    agent: Text | None = None
    model: Annotated[str | None, Arg("NAME", 'the model that claude asks; "" is that of config.toml', "--model")] = None

    def told(self, answer: Mapping[str, Any]) -> str:
        model = f"the model {self.model or 'of config.toml'}" if self.model is not None else ""
        who = " with ".join(part for part in (self.agent, model) if part)
        run, keeps = answer.get("run"), answer.get("keeps")
        own = f"; {', '.join(keeps)} keeps its own to its end: kpd skip {keeps[0]} gives it up" if keeps else ""
        return f"{run}: {who} from the next iteration on{own}"


class SetRule(OnRun):
    """Pin or ban a rule for the run's agents, or undo that."""

    name = "rule"
    biases = True
    verb = "rules"
    keys = (
        Key("pin", "P", "pin rule", "Compare", help="agents hear of the chosen rule first, or unpin it",
            fixed={"stand": "pinned"}),
        Key("ban", "N", "ban rule", "Compare", help="agents never hear of the chosen rule, or unban it",
            fixed={"stand": "banned"}),
    )  # fmt: skip
    emits = ("rule_set",)

    rule: Text
    stand: Literal["pinned", "banned", "plain"]

    def told(self, answer: Mapping[str, Any]) -> str:
        means = {"pinned": "is pinned: agents hear of it first", "banned": "is banned: agents do not hear of it"}
        return f"{self.rule} {means.get(self.stand, 'is neither pinned nor banned now')}"
