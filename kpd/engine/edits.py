"""Connects a run with the operator's task folder: turns edits into iterations, writes the incumbent, loses nothing."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from kpd.engine.journal import Journal, run_of
from kpd.model import events as e
from kpd.model.notices import EditUnreadable, NotWritten, OwnBaseline, ProtectedChanged
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.waits import EditedDuring
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.paths import OutsideFolder, Workspace, inside
from kpd.workspace.run_files import digest, read_plain, remove_file, write_atomic, write_tree
from kpd.workspace.task import Task, TaskError, load_task, task_files

EMPTY = digest(b"")


class EditConflict(Exception):
    """The folder holds an edit of `paths` that kpd has not measured; writing would overwrite it."""

    def __init__(self, folder: Path, paths: list[str]) -> None:
        super().__init__(f"{folder.name}/{', '.join(paths)} was edited since; that edit is measured first")
        self.paths = paths


@dataclass(frozen=True, slots=True)
class Edit:
    """A person's changes in a task folder.

    `files` are the editable files as they are now (empty when unchanged), `protected` the names of the protected files
    that were changed, added or removed.
    """

    files: dict[str, bytes]
    protected: tuple[str, ...]


def hashes(files: dict[str, bytes]) -> dict[str, str]:
    return {path: digest(data) for path, data in files.items()}


def edit_name(files: dict[str, str]) -> str:
    """Return a short name for a set of files, computed from their content: the same edit has the same name."""
    return digest(repr(sorted(files.items())).encode())[:12]


def own_baseline(state: State, run: Run) -> OwnBaseline | None:
    """Return a notice if a run begins with other files than the last run of its task ended with; else None."""
    others = (other for other in state.runs.values() if other.task == run.task and other.shown)
    ended = [other for other in others if other.over and other.files]
    if not run.shown or not ended or run.folder == ended[-1].files:
        return None
    paths = sorted({path for path, _ in run.folder.items() ^ ended[-1].files.items()})
    return OwnBaseline(run.id, f"{ended[-1].id}.{ended[-1].incumbent}", tuple(paths))


def present(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """Read those of the named files that exist; a file that an editor is just replacing may be missing.

    Raises OSError for a file that is not regular, is too large, or may not be read.
    """
    found = {}
    for name in names:
        try:
            found[name] = read_plain(folder / name)
        except FileNotFoundError:
            continue
    return found


def edit_of(folder: Path, snapshot: Task, run: Run) -> Edit:
    """Compare the folder with what kpd last knew of it, and with the protected files that the run began with.

    A file that has to be there and is missing, or that is empty where it was not, is a save in progress and not an
    edit. Raises TaskError when the folder holds something that no task may hold, or no editable file at all.
    """
    now = _there(folder, snapshot, run)
    before = snapshot.editable if not run.folder else tuple(run.folder)
    may_be_empty = {path for path, data in present(snapshot.folder, snapshot.editable).items() if not data}
    may_be_empty |= {path for known in (run.folder, run.files) for path, it in known.items() if it == EMPTY}
    complete = all(path in now or snapshot.may_remove(path) for path in before)
    complete = complete and all(data or path in may_be_empty for path, data in now.items())
    if complete and not now and run.folder:
        raise TaskError(folder, 0, "no editable file is left", "put one back, or roll back")
    others = tuple(name for name in task_files(folder, snapshot.records) if not snapshot.allows(name))
    protected = hashes(present(folder, others))
    changed = (name for name in protected.keys() | run.pinned.keys() if protected.get(name) != run.pinned.get(name))
    return Edit(now if complete and hashes(now) != run.folder else {}, tuple(sorted(changed)))


def _there(folder: Path, snapshot: Task, run: Run) -> dict[str, bytes]:
    """Read the editable files of the folder; a new one that is empty does not count yet. Raises TaskError, OSError."""
    return {path: data for path, data in read_tree(folder, snapshot).items() if data or path in run.folder}


def refuse_to_lose(folder: Path, files: dict[str, bytes], snapshot: Task, run: Run) -> None:
    """Raise EditConflict when making `files` the folder's editable files would lose an edit that kpd has not measured.

    An edit may also be a file that somebody has added or removed. Raises TaskError, OSError.
    """
    now, wanted = hashes(_there(folder, snapshot, run)), hashes(files)

    def is_foreign(path: str) -> bool:
        it = now.get(path)
        if it is None and path in wanted and _is_blocked(folder, path, run.folder.keys() - wanted.keys()):
            return True
        if it in (wanted.get(path), run.files.get(path)) or (it is None and not snapshot.may_remove(path)):
            return False
        return bool(run.pending_edit) or it != run.folder.get(path)

    if foreign := [path for path in sorted(now.keys() | wanted.keys()) if is_foreign(path)]:
        raise EditConflict(folder, foreign)


def _is_blocked(folder: Path, path: str, gone: Collection[str]) -> bool:
    """Return whether something but the files in `gone` stands where a new file of kpd, or its folder, would."""
    target = folder / path
    above = [one for one in target.parents if one != folder and one.is_relative_to(folder)]
    file = next((one for one in above if one.is_symlink() or one.is_file()), None)
    if file is not None:
        return file.relative_to(folder).as_posix() not in gone
    below = target.rglob("*") if target.is_dir() else ()
    return any(not one.is_dir() and one.relative_to(folder).as_posix() not in gone for one in below)


def write(folder: Path, files: dict[str, bytes], snapshot: Task, known: Iterable[str]) -> None:
    """Make `files` the folder's editable files: remove those of the `known` ones that are not among them.

    Each file is replaced by renaming a temporary one. A folder that `editable` names stays, also when it is empty.
    Raises OutsideFolder, OSError.
    """
    stay = [area.rstrip("/") for area in snapshot.areas]
    for path in known:
        if path not in files and snapshot.may_remove(path):
            remove_file(folder, path, stay)
    for path, data in files.items():
        target = inside(folder, path)
        if target.is_dir():  # without files, or refuse_to_lose would have refused
            for empty in (*sorted(target.rglob("*"), reverse=True), target):
                empty.rmdir()
        write_atomic(target, data)


def snapshot_of(workspace: Workspace, run: Run) -> Task:
    """Load the run's own copy of its task. Raises TaskError when it is missing or damaged."""
    folder = snapshot_folder(workspace, run)
    if not folder.is_dir():
        raise TaskError(folder, 0, f"{run.id}'s own copy of the task is missing", "put it back, or queue a new run")
    return load_task(folder)


def snapshot_folder(workspace: Workspace, run: Run) -> Path:
    return workspace.run_folder(run.task, run.id) / "task" / run.task


def live_folder(workspace: Workspace, run: Run) -> Path:
    """Return the folder that a run begins with: the operator's task folder, or the copy that its comparison keeps."""
    return workspace.tasks / run.task if run.compared is None else workspace.start_folder(run.task, run.compared.of)


def edit_folder(workspace: Workspace, run: Run, name: str) -> Path:
    """Return the folder that keeps the files of the edit `name`."""
    return workspace.run_folder(run.task, run.id) / "edits" / name


def is_open(run: Run) -> bool:
    """Return whether the run takes edits of its task's folder."""
    return run.begun and bool(run.pinned) and run.shown


def detect_edit(workspace: Workspace, journal: Journal, run: Run, by: str = "") -> None:
    """Record what a person (`by`, if known) has changed in the task folder of an open run.

    If the folder cannot be read as a task, a notice says so, and the next change is looked at again. Raises
    JournalError.
    """
    try:
        edit = edit_of(live_folder(workspace, run), snapshot_of(workspace, run), run)
        if set(edit.protected) - set(run.stale):
            journal.emit(e.BaselineStale(run.id, edit.protected))
            journal.emit(e.Noticed("warning", ProtectedChanged(run.id, run.task, edit.protected)))
        if not edit.files:
            return
        if hashes(edit.files) == run.files:
            journal.emit(e.FolderKnown(run.id, run.files))  # an edit that was undone, or kpd's own write before a crash
            return
        keep_edit(workspace, run, edit.files)
    except (TaskError, OSError) as err:
        journal.emit(e.Noticed("warning", EditUnreadable(run.task, str(err))))
        return
    conflict = EditedDuring(run.current.number) if run.current is not None else None
    journal.emit(e.OperatorEdited(run.id, hashes(edit.files), conflict, by))


def keep_edit(workspace: Workspace, run: Run, files: dict[str, bytes]) -> Path:
    """Copy an edit's files into the run folder, under the edit's own name. Raises OSError."""
    folder = edit_folder(workspace, run, edit_name(hashes(files)))
    write_tree(folder, files)
    return folder


def show_incumbent(workspace: Workspace, journal: Journal, run_id: str, files: dict[str, bytes]) -> None:
    """Write the incumbent into the task folder, unless a person has edited that: the edit is measured first.

    Events record the files before and after the write, so that kpd knows the folder's content after a crash. A run that
    is not shown writes nowhere. Raises OSError.
    """
    run = run_of(journal, run_id)
    if not run.shown:
        return
    folder = live_folder(workspace, run)
    try:
        snapshot = snapshot_of(workspace, run)
        refuse_to_lose(folder, files, snapshot, run)
        write(folder, files, snapshot, run.folder)
    except (EditConflict, TaskError, OutsideFolder) as err:
        journal.emit(e.Noticed("warning", NotWritten(run_id, str(err), run.incumbent)))
        return
    journal.emit(e.FolderKnown(run_id, hashes(files)))
