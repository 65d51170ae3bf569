"""Between a run and the operator's task folder: edits become iterations, the incumbent is shown, nothing is lost."""

from pathlib import Path

from kpd.engine import taskfolder
from kpd.engine.journal import Journal, run_of
from kpd.model import events as e
from kpd.model.nouns import Run
from kpd.workspace.paths import Workspace
from kpd.workspace.runfolder import write_atomic
from kpd.workspace.task import Task, TaskError, load_task


def snapshot_of(workspace: Workspace, run: Run) -> Task:
    """The run's own copy of its task. Raises TaskError when it is gone or spoiled."""
    folder = snapshot_folder(workspace, run)
    if not folder.is_dir():
        raise TaskError(folder, 0, f"{run.id}'s own copy of the task is missing", "put it back, or queue a new run")
    return load_task(folder)


def snapshot_folder(workspace: Workspace, run: Run) -> Path:
    return workspace.run_folder(run.task, run.id) / "task" / run.task


def edit_folder(workspace: Workspace, run: Run, name: str) -> Path:
    """Where an edit's files are kept, by the edit's name."""
    return workspace.run_folder(run.task, run.id) / "edits" / name


def is_open(run: Run) -> bool:
    """Whether an edit of its task's folder belongs to this run."""
    return run.status in ("running", "paused") and bool(run.folder)


def look(workspace: Workspace, journal: Journal, run: Run, by: str = "") -> None:
    """Record what a person, `by` if that is known, has changed in the task folder of an open run.

    A folder that cannot be read as a task is said, and looked at again at its next change. Raises JournalError.
    """
    try:
        edit = taskfolder.edit_of(workspace.tasks / run.task, snapshot_of(workspace, run), run)
        if set(edit.protected) - set(run.stale):
            journal.emit(e.BaselineStale(run.id, edit.protected))
            names = ", ".join(edit.protected)
            text = f"{run.task}: {names} changed; {run.id} goes on as it began, a new run measures a new baseline"
            journal.emit(e.Noticed("warning", text))
        if not edit.files:
            return
        if taskfolder.hashes(edit.files) == run.files:
            journal.emit(e.FolderKnown(run.id, run.files))  # an edit taken back, or kpd's own write before a crash
            return
        keep(workspace, run, edit.files)
    except (TaskError, OSError) as err:
        journal.emit(e.Noticed("warning", f"an edit of {run.task} cannot be looked at: {err}"))
        return
    conflict = ""
    if run.current is not None:
        conflict = f"edited while iteration {run.current.number} was under way: measured next"
    journal.emit(e.OperatorEdited(run.id, taskfolder.hashes(edit.files), conflict, by))


def keep(workspace: Workspace, run: Run, files: dict[str, bytes]) -> Path:
    """Copy an edit's files into the run folder, under the edit's own name. Raises OSError."""
    folder = edit_folder(workspace, run, taskfolder.name_of(taskfolder.hashes(files)))
    for path, data in files.items():
        write_atomic(folder / path, data)
    return folder


def show(workspace: Workspace, journal: Journal, run_id: str, files: dict[str, bytes]) -> None:
    """Write the incumbent into the task folder, unless a person has changed it: then that edit is measured first.

    Said before and after by events, so that after a crash the folder is known by its content. Raises OSError.
    """
    run = run_of(journal, run_id)
    folder = workspace.tasks / run.task
    try:
        taskfolder.refuse_to_lose(folder, files, run)
    except taskfolder.Conflict as err:
        journal.emit(e.Noticed("warning", f"{run_id}.{run.incumbent} is the incumbent but not written: {err}"))
        return
    taskfolder.write(folder, files)
    journal.emit(e.FolderKnown(run_id, taskfolder.hashes(files)))
