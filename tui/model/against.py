"""What the diff compares the selected iteration with: its parent, the baseline, or the marked one."""

from kpd.model.nouns import Iteration
from tui.model.outline import Place
from tui.model.view import View


def compared_with(view: View) -> Place | None:
    """The other side of the diff; None where that is its parent, or nothing (see `nothing_to_compare`)."""
    run = view.run
    if view.against == "baseline" and run is not None and run.baseline is not None:
        return Place(run.task, run.id, run.baseline.number)
    return view.mark if view.against == "mark" else None


def nothing_to_compare(view: View) -> str:
    """Why there cannot be a diff of the selected iteration, in a sentence; empty when there can."""
    it, run = view.iteration, view.run
    if it is None or run is None:
        return "no iteration is selected"
    match view.against:
        case "parent" if it.number == it.parent:
            return "The baseline is the task as it came: there is nothing to compare it with."
        case "baseline" if run.baseline is None:
            return f"{run.id} has no baseline yet. The diff against it appears when the baseline has been measured."
        case "mark" if view.mark is None or view.mark.iteration is None:
            return "No iteration is marked. Mark one, and the diff against it appears here."
    if compared_with(view) == view.at:
        what = "the baseline" if view.against == "baseline" else "the marked iteration"
        return f"{view.ref} is {what} itself. Select another iteration to see how the two differ."
    return _not_proposed(it)


def _not_proposed(it: Iteration) -> str:
    if it.outcome is None and not it.memo and it.number != it.parent:
        return "The diff appears when the propose step is done."
    return ""
