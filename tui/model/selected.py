"""Finds what belongs to the selection: the other side of its diff, its rules, its files."""

from collections.abc import Sequence
from pathlib import Path

from kpd.model.iteration import Iteration
from kpd.model.profiles import Finding
from kpd.workspace.paths import Workspace
from tui.model.answers import RuleRecord
from tui.model.outline import TreePosition
from tui.model.view import View
from tui.model.waits import waits


def compared_with(view: View) -> TreePosition | None:
    """Return the other side of the diff.

    It is None where that is the iteration's parent, or where there is none (see `nothing_to_compare`).
    """
    run = view.run
    if view.against == "baseline" and run is not None and run.baseline is not None:
        return TreePosition(run.task, run.id, run.baseline.number)
    return view.mark if view.against == "mark" else None


def nothing_to_compare(view: View) -> str:
    """Return, in a sentence, why there cannot be a diff of the selected iteration; empty when there can."""
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


def findings(view: View) -> Sequence[Finding]:
    """Return the rules that fired for the selected iteration, then those pinned or banned that did not.

    Rules that fired are ordered by severity.
    """
    return [*fired(view), *not_fired(view)]


def fired(view: View) -> list[Finding]:
    explained = view.shown.detail.explained
    order = {"high": 0, "medium": 1, "low": 2}
    return sorted(explained.findings, key=lambda one: order[one.severity]) if explained else []


def not_fired(view: View) -> list[Finding]:
    """Return rules that operators pinned or banned in this run and that did not fire, so that this can be undone."""
    if view.run is None or view.iteration is None or view.shown.show is None:
        return []
    already = {finding.rule for finding in fired(view)}
    known = {one.id: one for one in known_rules(view)}
    found = []
    for rule in sorted(view.run.stands.keys() - already):
        told = known.get(rule)
        found.append(Finding(rule, told.severity, told.finding, told.action) if told else Finding(rule, "low", "", ""))
    return found


def known_rules(view: View) -> tuple[RuleRecord, ...]:
    """Return all rules, once the daemon has sent them."""
    return view.shown.rules if isinstance(view.shown.rules, tuple) else ()


def path_of(view: View) -> str:
    """Return the file that the selected run waits for, else the selected iteration's folder; empty without either."""
    if view.run is None or not view.state.workspace:
        return ""
    if (wanted := waits(view.run).path) != "":
        return wanted
    if view.iteration is None:
        return ""
    workspace = Workspace(Path(view.state.workspace))
    return str(workspace.iteration_folder(view.run.task, view.run.id, view.iteration.number))


def folder_of(view: View) -> str:
    """Return the folder of the selected iteration, or run, or task; empty where nothing is selected."""
    if not view.state.workspace or not view.at.task:
        return ""
    workspace = Workspace(Path(view.state.workspace))
    if view.run is None:
        return str(workspace.tasks / view.at.task)
    if view.iteration is None:
        return str(workspace.run_folder(view.run.task, view.run.id))
    return str(workspace.iteration_folder(view.run.task, view.run.id, view.iteration.number))


def files_of(view: View) -> tuple[str, ...]:
    """Return the editable files of `source_of`, those that the task has first."""
    proposed, run = view.shown.detail.proposed, view.run
    known = proposed.files if proposed is not None and source_of(view) == view.ref else run.files if run else {}
    own = tuple(name for name in view.editable if name in known)
    return (*own, *sorted(known.keys() - set(own))) or view.editable


def source_of(view: View) -> str:
    """Return the iteration whose files an edit begins with: the selected one once it has files, else the incumbent."""
    it, run = view.iteration, view.run
    if it is not None and (it.outcome is not None or it.review == "waits"):
        return view.ref
    return f"{run.id}.{run.incumbent}" if run is not None and run.incumbent is not None else ""
