"""Declares the operations on a run: queue, pause, resume, steer, stop, change its terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from kpd.operations.arguments import Arg, Count, Few, Percent, Positive, Text
from kpd.operations.operation import RUN, Key, OnDaemon, OnRun, Operation, Refused, ended
from kpd.operations.references import iteration_ref, run_ref

if TYPE_CHECKING:
    from kpd.model.iteration import Iteration
    from kpd.model.run import Run
    from kpd.model.state import State

WHO = "who proposes: {agents}; claude,sweep take turns, script:FOLDER has its candidates in a folder"
"""`{agents}` are the installed ones."""
STARTS = "coding agents begin with the incumbent (continue), or with the task's own files (reset)"
ITERATIONS = Arg("N", "number of attempts, without the baseline", "--iterations")
PATIENCE = Arg("N", "end after N attempts in a row without an accepted one", "--patience")
APART = Arg("", "work on a copy, beside other runs of the task; kpd adopt takes a result", "--apart")
SKIPPED = Arg("RUN|ITER", "r3.7, or a run with one under way (default: that of the active run)")
DEVICES = Arg("N|all", "work on so many devices of one host at once, an iteration on each", "--devices")
DEPLOY = Arg(
    "PROJECT", "bring the winner into this project at the end; its change waits for kpd project approve", "--deploy"
)
HOURS = Arg("H", "end so many hours after the beginning, also while it waits", "--hours")
GPU_HOURS = Arg("H", "end once it has had so many GPU hours of a cluster's allocations", "--gpu-hours")
MIN_GAIN = Arg("PCT", "accept gains of at least this", "--min-gain")


class QueueRun(OnDaemon):
    """Queue a run of a task.

    A budget given here goes before the task's, which goes before config.toml's.
    """

    name = "run"
    keys = (Key("run", "n", "new run", "Run", rank=11),)
    emits = ("run_queued",)
    done = "{task} is queued as {run}"

    task: Annotated[Text, Arg("TASK", "a task's name or folder")]
    agent: Annotated[str | None, Arg("AGENT", WHO, "--agent")] = None
    host: Annotated[str | None, Arg("HOST", "a host of config.toml", "--host")] = None
    approve: Annotated[
        bool | None, Arg("", "let candidates wait for kpd approve before they are built", "--approve")
    ] = None
    evolve: Annotated[bool | None, Arg("", "let coding agents build tools for later sessions", "--evolve")] = None
    task_state: Annotated[Literal["continue", "reset"] | None, Arg("", STARTS, "--task-state")] = None
    task_text: Annotated[str, Arg("FILE|TEXT", "your words on the task, for agents that read", "--task-text")] = ""
    iterations: Annotated[Count | None, ITERATIONS] = None
    patience: Annotated[Count | None, PATIENCE] = None
    min_gain_pct: Annotated[Percent | None, MIN_GAIN] = None
    stop_score: Annotated[Positive | None, Arg("X", "end once the score is this good", "--stop-score")] = None
    usd: Annotated[Positive | None, Arg("DOLLARS", "spend no more than this on models", "--usd")] = None
    hours: Annotated[Positive | None, HOURS] = None
    gpu_hours: Annotated[Positive | None, GPU_HOURS] = None
    apart: Annotated[bool, APART] = False
    devices: Annotated[Few | Literal["all"] | None, DEVICES] = None
    deploy: Annotated[str, DEPLOY] = ""
    order: dict[str, Any] | None = None


class PauseRun(OnRun):
    """Finish the current step, then wait."""

    name = "pause"
    keys = (Key("pause", "p", "pause", "Run", rank=4),)
    emits = ("run_paused",)
    done = "{run} is paused; a step that it is at is finished first"
    then = "kpd resume goes on"

    def why_not(self, state: State, target: Run) -> Refused | None:
        if target.paused:
            return Refused(f"{target.id} is paused already", "kpd resume")
        if not target.begun and not target.over:
            return Refused(f"{target.id} has not begun", "kpd move puts it elsewhere in the queue, kpd stop ends it")
        return ended(target)


class ResumeRun(Operation["Run | None"]):
    """Continue a paused run, or a held queue."""

    name = "resume"
    keys = (Key("resume", "r", "resume", "Run", rank=3),)
    emits = ("queue_released", "run_resumed")

    run: Annotated[str | None, RUN] = None

    def target(self, state: State) -> Run | None:
        paused = [run for run in state.begun if run.paused]
        if self.run:
            return run_ref(state, self.run)
        if len(paused) > 1 and not state.held:
            raise Refused(f"{' and '.join(run.id for run in paused)} are paused", "say which one: kpd resume RUN")
        return paused[0] if len(paused) == 1 else state.active

    def why_not(self, state: State, target: Run | None) -> Refused | None:
        if state.held:
            return None
        if target is None:
            return Refused("nothing is paused or held")
        reviewed = any(it.review == "waits" for it in target.open)
        if target.paused or (target.waiting and not reviewed):
            return None
        return ended(target) or Refused(f"{target.id} is not paused")

    def answer(self, target: Run | None) -> dict[str, Any]:
        return {"run": target.id if target is not None else None}

    def told(self, answer: Mapping[str, Any]) -> str:
        return f"{answer.get('run') or 'the queue'} goes on"


class SteerRun(OnRun):
    """Write, edit or withdraw notes to the agent.

    With `note` that line is replaced, or withdrawn where the text is empty.
    """

    name = "steer"
    biases = True
    keys = (Key("steer", "s", "steer", "Run", rank=5),)
    emits = ("steered",)

    run: Annotated[str | None, RUN._replace(option="--run")] = None
    text: Annotated[str, Arg("TEXT", "what the agent should know or try", words=True)] = ""
    note: Annotated[int | None, Arg("N", "replace note N by TEXT, unless it was read", "--note")] = None

    def told(self, answer: Mapping[str, Any]) -> str:
        note = answer.get("note", self.note)
        if not self.text:
            return f"note {note} is withdrawn"
        if at := answer.get("at_work"):
            return f"note {note} is sent when the agent of {at} ends its turn"
        return f"note {note} waits for the next iteration"


class NoteRun(OnRun):
    """Add a line to the run's log, for later readers."""

    name = "note"
    keys = (Key("note", "L", "note", "Run"),)
    emits = ("noted",)
    done = "kept in the log of {run}"

    run: Annotated[str | None, RUN._replace(option="--run")] = None
    text: Annotated[str, Arg("TEXT", "what happened, or what to look at", words=True)]

    def why_not(self, state: State, target: Run) -> None:
        """Return None: a note can be added to a run that has ended, too."""


class SkipIteration(OnRun):
    """Give up an iteration under way and continue.

    Where a run works on several devices, several are under way: then it has to be named.
    """

    name = "skip"
    biases = True
    keys = (Key("skip", "x", "skip", "Run", rank=8),)
    emits = ("iteration_ended",)
    done = "{run}: the iteration that was under way is given up"

    run: Annotated[str | None, SKIPPED] = None

    def target(self, state: State) -> Run:
        return iteration_ref(state, self.run or "")[0] if self._named else super().target(state)

    @property
    def _named(self) -> bool:
        """Whether an iteration is named, not only a run."""
        return self.run is not None and ("." in self.run or self.run.isdigit())

    def iteration(self, state: State, target: Run) -> Iteration | None:
        """Return the iteration that is given up; None where the run only waits for what follows one."""
        return iteration_ref(state, self.run or "")[1] if self._named else target.current

    def why_not(self, state: State, target: Run) -> Refused | None:
        if (why := ended(target)) is not None:
            return why
        from kpd.model.waits import ForSanitizer

        refs = [f"{target.id}.{it.number}" for it in target.open]
        if self._named and (it := self.iteration(state, target)) is not None and it.outcome is not None:
            told = f"under way: {', '.join(refs)}" if refs else ""
            return Refused(f"{target.id}.{it.number} is not under way", told)
        if not self._named and len(refs) > 1:
            return Refused(f"{' and '.join(refs)} are under way: select one of them", f"kpd skip {refs[0]}")
        if not refs and not isinstance(target.waiting, ForSanitizer):
            return Refused(f"{target.id} has no iteration under way")
        return None


class StopRun(OnRun):
    """End the run now and kill its jobs.

    The comparison of a compared run ends with it: without that run nothing can be concluded.
    """

    name = "stop"
    keys = (Key("stop", "S", "stop", "Run", rank=10),)
    emits = ("run_ended", "comparison_stopped")
    done = "{run} is stopped; what was accepted stays"


class PruneRun(OnRun):
    """Remove the files of candidates that were not accepted.

    The run must have ended. The baseline, what was accepted and what is held stay;
    with `keep_best` only the baseline and the incumbent do.
    """

    name = "prune"
    verb = "runs"
    keys = (Key("prune", "Z", "prune", "Run"),)
    emits = ("pruned",)
    done = "{run} gave back {mib} MiB; pruned candidates: {count}"

    run: Annotated[str | None, RUN] = None
    keep_best: Annotated[bool, Arg("", "keep only the baseline and the best", "--keep-best")] = False

    def target(self, state: State) -> Run:
        return run_ref(state, self.run)

    def why_not(self, state: State, target: Run) -> Refused | None:
        if not target.over:
            return Refused(f"{target.id} has not ended", "kpd stop ends it")
        if not prunable(target, self.keep_best) and not target.pruned:
            return Refused(f"{target.id} has nothing to prune", "kpd runs lists what takes space")
        return None


def prunable(run: Run, keep_best: bool) -> tuple[int, ...]:
    """Return the iterations whose files may be removed: neither the run's best, nor what a person may bring back."""
    stays = {run.incumbent} | {it.number for it in run.iterations if it.outcome == "baseline"}
    if not keep_best:
        stays |= {it.number for it in run.iterations if it.outcome == "accepted" or it.override or it.held}
    return tuple(it.number for it in run.iterations if it.number not in stays and it.number not in run.pruned)


class MoveRun(Operation["Run"]):
    """Move a run within the queue."""

    name = "move"
    verb = "move"
    keys = (
        Key("move_up", "K", "move up", "Run", 6, True, "let a queued run begin earlier", {"to": "up"}),
        Key("move_down", "J", "move down", "Run", 7, True, "let a queued run begin later", {"to": "down"}),
    )
    emits = ("queue_ordered",)
    done = "{run} is number {place} in the queue"

    run: Annotated[str, Arg("RUN", "a run that kpd queue shows as queued")]
    to: Annotated[Literal["up", "down", "top", "bottom"], Arg("WHERE", "move by one place, or to an end")]

    def target(self, state: State) -> Run:
        return run_ref(state, self.run)

    def why_not(self, state: State, target: Run) -> Refused | None:
        if target.begun:
            return Refused(f"{target.id} has begun: only what is queued can be moved", "kpd queue shows what waits")
        return ended(target)

    def answer(self, target: Run) -> dict[str, Any]:
        return {"run": target.id}
