"""Between a run and the operator's task folder: edits become iterations, the incumbent is shown, nothing is lost."""

from pathlib import Path

from kpd.engine import taskfolder
from kpd.engine.journal import Journal, run_of
from kpd.model import events as e
from kpd.model.notices import EditUnreadable, NotWritten, ProtectedChanged
from kpd.model.nouns import Run
from kpd.model.standing import EditedDuring
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
            journal.emit(e.Noticed("warning", ProtectedChanged(run.id, run.task, edit.protected)))
        if not edit.files:
            return
        if taskfolder.hashes(edit.files) == run.files:
            journal.emit(e.FolderKnown(run.id, run.files))  # an edit taken back, or kpd's own write before a crash
            return
        keep(workspace, run, edit.files)
    except (TaskError, OSError) as err:
        journal.emit(e.Noticed("warning", EditUnreadable(run.task, str(err))))
        return
    conflict = EditedDuring(run.current.number) if run.current is not None else None
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
        journal.emit(e.Noticed("warning", NotWritten(run_id, str(err), run.incumbent)))
        return
    taskfolder.write(folder, files)
    journal.emit(e.FolderKnown(run_id, taskfolder.hashes(files)))
