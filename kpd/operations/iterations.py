"""Declares the operations on iterations: measure again, accept, roll back, memo, edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from kpd.operations.arguments import Arg
from kpd.operations.operation import (
    Key,
    OnIteration,
    OnRun,
    Refused,
    RunIteration,
    ended,
    pruned,
    under_way,
)

if TYPE_CHECKING:
    from kpd.model.iteration import Iteration
    from kpd.model.run import Run
    from kpd.model.state import State


class AcceptIteration(OnIteration):
    """Make an iteration the incumbent against its verdict, or a winner that is held.

    A winner that is held is measured again if the incumbent has changed since.
    """

    name = "accept"
    biases = True
    decides = True
    keys = (Key("accept", "a", "accept", "Iteration", rank=7),)
    emits = ("accepted", "approved", "again_asked")
    done = "{of} is the incumbent, marked as accepted by hand"

    reason: Annotated[str, Arg("TEXT", "the reason, for the log", "--reason")] = ""

    def why_not(self, state: State, target: RunIteration) -> Refused | None:
        run, it = target
        if it.number == run.incumbent:
            return Refused(f"{target.ref} is the incumbent already")
        if it.outcome in ("baseline", "accepted"):
            return Refused(f"{target.ref} was accepted before: roll back brings it back", f"kpd rollback {target.ref}")
        if (why := under_way(target) or untimed(target) or pruned(target)) is not None:
            return why
        if it.confirms is not None:
            measured = f"{run.id}.{it.confirms}"
            message = f"{target.ref} measured {measured} against the baseline, and is no candidate"
            return Refused(message, f"kpd rollback {measured}")
        if it.verdict is None:  # found wrong after it was timed: by the memcheck, or on the cases that are held out
            from kpd.text.endings import of_iteration

            return Refused(f"{target.ref} has no verdict: {of_iteration(it)}", f"kpd remeasure {target.ref}")
        if is_outdated(target) and run.compared is not None:
            message = f"{target.ref} would be measured again, and its comparison is over"
            return Refused(message, f"kpd decline {target.ref}")
        if is_outdated(target) and any(waiting.of == it.number for waiting in run.again):
            return Refused(f"{target.ref} is to be measured again already")
        return unbased(target) or occupied(state, run)

    def told(self, answer: Mapping[str, Any]) -> str:
        if answer.get("again"):
            return f"{answer['run']}.{answer['iteration']} is measured against today's incumbent, whatever its flags"
        return super().told(answer)


class RollBack(OnIteration):
    """Make an accepted iteration the incumbent again.

    With `force` an edit that waits in the task folder is kept in the run folder instead of being measured.
    """

    name = "rollback"
    biases = True
    keys = (Key("rollback", "b", "roll back", "Iteration", rank=12),)
    emits = ("rolled_back", "again_asked")
    done = "{of} is the incumbent again; its files are in the task folder"

    force: Annotated[
        bool, Arg("", "roll back even if the task folder has an edit that was not measured", "--force")
    ] = False

    def why_not(self, state: State, target: RunIteration) -> Refused | None:
        run, it = target
        if not was_accepted(it):
            what = "only an accepted iteration or the baseline can come back"
            return Refused(f"{target.ref} was never accepted: {what}", "kpd log shows the accepted iterations")
        if it.number == run.incumbent and (run.folder == run.files or not run.shown) and not self.force:
            return Refused(f"{target.ref} is the incumbent already")
        return pruned(target) or unbased(target) or occupied(state, run)


class AdoptIteration(OnIteration):
    """Write an accepted iteration's files into the task folder: the next run begins from them.

    With `force` what nobody has measured in the task folder is kept in the run folder.
    """

    name = "adopt"
    biases = True
    keys = (Key("adopt", "W", "adopt", "Iteration", 10, True),)
    emits = ("adopted",)
    done = "the task folder has the files of {of}; the next run begins from them"

    force: Annotated[bool, Arg("", "also where the task folder has files that were not measured", "--force")] = False

    def why_not(self, state: State, target: RunIteration) -> Refused | None:
        run, it = target
        if not was_accepted(it):
            return Refused(f"{target.ref} was never accepted", "kpd log shows the accepted iterations")
        if run.begun and run.shown:
            return Refused(f"the task folder shows the incumbent of {run.id} already", f"kpd rollback {target.ref}")
        return pruned(target) or taken(state, run)


class UndoDecision(OnRun):
    """Undo the last accept or rollback; again: redo."""

    name = "undo"
    biases = True
    keys = (Key("undo", "u", "undo", "Iteration", 9, True),)
    emits = ("rolled_back", "again_asked")
    done = "{of} is the incumbent again"
    then = "kpd undo {run} takes that back"

    def why_not(self, state: State, target: Run) -> Refused | None:
        before = None if target.before is None else target.iteration(target.before)
        if before is None:
            decided = "since then kpd has accepted something itself, or nobody has decided anything"
            message = f"there is nothing to undo in {target.id}: {decided}"
            return Refused(message, "kpd rollback ITER goes back further")
        return pruned(RunIteration(target, before)) or occupied(state, target)


class WriteMemo(OnIteration):
    """Describe in your own words what an iteration tried."""

    name = "memo"
    keys = (Key("memo", "m", "memo", "Iteration", rank=6),)
    emits = ("memo_given",)
    done = "memo kept for {of}"

    text: Annotated[str, Arg("TEXT", "what was tried, and why", words=True)]


class MeasureAgain(OnIteration):
    """Measure the files of an iteration again."""

    name = "again"
    biases = True
    keys = (
        Key("retry", "t", "try again", "Iteration", 13, fixed={"thorough": False}),
        Key("remeasure", "M", "measure more", "Iteration", 18,
            help="the same, with as many processes as there can be", fixed={"thorough": True}),
    )  # fmt: skip
    emits = ("again_asked",)

    thorough: bool = False

    def why_not(self, state: State, target: RunIteration) -> Refused | None:
        if (why := ended(target.run) or under_way(target) or pruned(target)) is not None:
            return why
        wish = (target.it.number, self.thorough, "")
        if any((waiting.of, waiting.thorough, waiting.confirming) == wish for waiting in target.run.again):
            return Refused(f"{target.ref} is to be measured again already")
        return None

    def told(self, answer: Mapping[str, Any]) -> str:
        how = ", with as many processes as a verdict can use" if self.thorough else ""
        of = f"{answer['run']}.{answer['iteration']}" if "run" in answer else self.iteration
        return f"{of} is measured against the incumbent once more{how}"


class ProfileInFull(OnIteration):
    """Collect the full profile of an iteration."""

    name = "profile"
    verb = "show"
    keys = (Key("profile", "F", "full profile", "Iteration", rank=19),)

    def why_not(self, state: State, target: RunIteration) -> Refused | None:
        if (why := under_way(target) or untimed(target) or pruned(target)) is not None:
            return why
        if target.run.device_id != "cpu":
            return None
        return Refused(f"{target.ref} was measured on a CPU: its profile is all there is", f"kpd show {target.ref}")

    def answer(self, target: RunIteration) -> dict[str, Any]:
        return {}


class EditKernel(OnRun):
    """Change the kernel in $EDITOR; your edit is measured.

    `files` is the text of editable files, by path; those in `removed` are removed from the task folder.
    """

    name = "edit"
    biases = True
    keys = (Key("edit", "e", "edit", "Iteration", rank=9),)
    emits = ("operator_edited",)
    done = "your edit is in the task folder: {run} measures it next"

    files: dict[str, str]
    removed: tuple[str, ...] = ()

    def why_not(self, state: State, target: Run) -> Refused | None:
        if target.apart:
            return Refused(f"{target.id} works apart from the task folder", "kpd run without --apart measures edits")
        return ended(target, f"edit tasks/{target.task} itself; the next run begins with that")


def was_accepted(it: Iteration) -> bool:
    return it.outcome in ("accepted", "baseline") or bool(it.override)


def is_outdated(place: RunIteration) -> bool:
    """Return whether it is a winner that was held, and the incumbent has changed since it was measured.

    A first right candidate was measured without one.
    """
    run, it = place.run, place.it
    before = None if it.parent == it.number else it.parent
    return it.outcome == "held" and before != run.incumbent


def unbased(place: RunIteration) -> Refused | None:
    """Return the refusal where the run has another kind of device since, and has not measured its baseline there."""
    run, it = place
    if not run.begun or run.baseline is not None or it.number >= run.since:
        return None
    message = f"{place.ref} was measured on another kind of device, and {run.id} has no baseline on {run.device} yet"
    return Refused(message, f"try again once kpd log {run.id} shows that baseline")


def untimed(place: RunIteration) -> Refused | None:
    if place.it.score is not None:
        return None
    return Refused(f"{place.ref} was never timed: it did not build, or its results are wrong")


def occupied(state: State, run: Run) -> Refused | None:
    """Return the refusal where another run shows its incumbent in the task folder of this one; None where none does."""
    return taken(state, run) if run.shown else None


def taken(state: State, run: Run) -> Refused | None:
    """Return the refusal while another run shows its incumbent in the folder of the run's task; None when none does."""
    others = (one for one in state.begun if one.id != run.id and one.task == run.task and one.folder and one.shown)
    if (other := next(others, None)) is None:
        return None
    return Refused(f"{other.id} works on {run.task} now", f"stop {other.id}, or roll that run back")
