"""An edit is a difference in content; kpd's own writes never are."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.engine import taskfolder
from kpd.model.nouns import Run
from kpd.workspace.task import Task
from tests.samples import run_of, task_of

KERNEL, HARNESS = b"int kernel;\n", b"int harness;\n"


@pytest.fixture
def live(tmp_path: Path) -> Path:
    folder = tmp_path / "live"
    folder.mkdir()
    (folder / "kernel.c").write_bytes(KERNEL)
    (folder / "harness.c").write_bytes(HARNESS)
    return folder


@pytest.fixture
def snapshot(tmp_path: Path) -> Task:
    folder = tmp_path / "snapshot"
    folder.mkdir()
    (folder / "kernel.c").write_bytes(KERNEL)
    (folder / "harness.c").write_bytes(HARNESS)
    return task_of(folder, {})


@pytest.fixture
def run() -> Run:
    files = taskfolder.hashes({"kernel.c": KERNEL})
    return replace(run_of(), files=files, folder=files)


def test_what_kpd_knows_is_no_edit(live: Path, snapshot: Task, run: Run) -> None:
    assert taskfolder.edit_of(live, snapshot, run) is None


def test_an_edit_is_its_content(live: Path, snapshot: Task, run: Run) -> None:
    (live / "kernel.c").write_bytes(b"int better;\n")
    edit = taskfolder.edit_of(live, snapshot, run)
    assert edit is not None
    assert edit.files == {"kernel.c": b"int better;\n"}
    assert edit.protected == ()


@pytest.mark.parametrize("state", ["missing", "empty"])
def test_a_save_in_progress_is_no_edit(live: Path, snapshot: Task, run: Run, state: str) -> None:
    (live / "kernel.c").unlink()
    if state == "empty":
        (live / "kernel.c").touch()
    assert taskfolder.edit_of(live, snapshot, run) is None


def test_a_protected_file_is_named_once(live: Path, snapshot: Task, run: Run) -> None:
    (live / "harness.c").write_bytes(b"int easier;\n")
    edit = taskfolder.edit_of(live, snapshot, run)
    assert edit is not None
    assert (edit.files, edit.protected) == ({}, ("harness.c",))
    assert taskfolder.edit_of(live, snapshot, replace(run, stale=("harness.c",))) is None


def test_writing_never_loses_an_unmeasured_edit(live: Path, run: Run) -> None:
    (live / "kernel.c").write_bytes(b"int precious;\n")
    with pytest.raises(taskfolder.Conflict, match=r"kernel\.c"):
        taskfolder.write(live, {"kernel.c": b"int accepted;\n"}, run)
    assert (live / "kernel.c").read_bytes() == b"int precious;\n"


def test_writing_again_what_is_there_is_fine(live: Path, run: Run) -> None:
    accepted = {"kernel.c": b"int accepted;\n"}
    taskfolder.write(live, accepted, run)
    taskfolder.write(live, accepted, run)
    assert (live / "kernel.c").read_bytes() == b"int accepted;\n"
