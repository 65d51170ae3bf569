"""Makes the run's own copy of its task when it begins, and checks that nobody has changed it since."""

import shutil
from pathlib import Path

from kpd.engine import edits
from kpd.engine.journal import Journal, run_of
from kpd.model import events as e
from kpd.model.run import Run
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.paths import Workspace
from kpd.workspace.task import Task, TaskError


def pinned_task(workspace: Workspace, journal: Journal, run_id: str) -> Task:
    """Copy the task when the run begins; iterations are staged from this copy, whatever happens to the folder.

    Raises TaskError when a protected file of the copy was changed later: it could judge differently.
    """
    run = run_of(journal, run_id)
    copy = edits.snapshot_folder(workspace, run)
    live = edits.live_folder(workspace, run)
    if not run.pinned:
        partial = copy.with_name(f".{copy.name}.partial")
        for leftover in (partial, copy):
            shutil.rmtree(leftover, ignore_errors=True)
        shutil.copytree(live, partial, symlinks=True)
        partial.rename(copy)
    task = edits.snapshot_of(workspace, run)
    protected = edits.hashes(edits.present(copy, task.protected))
    if not run.pinned:
        editable = edits.hashes(read_tree(copy, task))
        _refuse_other_start(journal, run, live, {**protected, **editable})
        journal.emit(e.TaskPinned(run_id, protected, editable, task.check.unchecked, task.baseline))
        if (notice := edits.own_baseline(journal.state, run_of(journal, run_id))) is not None:
            journal.emit(e.Noticed("warning", notice))
    elif protected != run.pinned:
        raise TaskError(copy, 0, f"{run_id}'s own copy of the task was changed", "queue a new run")
    return task


def _refuse_other_start(journal: Journal, run: Run, live: Path, files: dict[str, str]) -> None:
    """Raise TaskError where a run of a comparison would not start from the same files as the others."""
    place = run.compared
    if place is not None and files != journal.state.comparisons[place.of].files:
        raise TaskError(live, 0, f"the files that {place.of} keeps were changed", "begin a new comparison")
