"""An edit is a difference in content; kpd's own writes never are."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.engine import edits
from kpd.model.causes import IterationsUsed
from kpd.model.notices import OwnBaseline
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Ended, Running
from kpd.text.notices import told
from kpd.workspace.paths import Workspace
from kpd.workspace.task import Task, TaskError
from tests.support.model.samples import run_of, task_of

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
    files = edits.hashes({"kernel.c": KERNEL})
    return replace(run_of(), files=files, folder=files, pinned=edits.hashes({"harness.c": HARNESS}))


def test_what_kpd_knows_is_no_edit(live: Path, snapshot: Task, run: Run) -> None:
    assert edits.edit_of(live, snapshot, run) == edits.Edit({}, ())


def test_an_edit_is_its_content(live: Path, snapshot: Task, run: Run) -> None:
    (live / "kernel.c").write_bytes(b"int better;\n")
    assert edits.edit_of(live, snapshot, run) == edits.Edit({"kernel.c": b"int better;\n"}, ())


@pytest.mark.parametrize("state", ["missing", "empty"])
def test_a_save_in_progress_is_no_edit(live: Path, snapshot: Task, run: Run, state: str) -> None:
    (live / "kernel.c").unlink()
    if state == "empty":
        (live / "kernel.c").touch()
    assert edits.edit_of(live, snapshot, run).files == {}


@pytest.mark.parametrize("how", ["changed", "removed", "added"])
def test_protected_files_are_named(live: Path, snapshot: Task, run: Run, how: str) -> None:
    name = "extra.h" if how == "added" else "harness.c"
    if how == "removed":
        (live / name).unlink()
    else:
        (live / name).write_bytes(b"int easier;\n")
    assert edits.edit_of(live, snapshot, run) == edits.Edit({}, (name,))


def test_backups_of_an_editor_are_no_part_of_the_task(live: Path, snapshot: Task, run: Run) -> None:
    for name in ("kernel.c~", ".kernel.c.swp", "harness.c.orig"):
        (live / name).write_bytes(b"old")
    assert edits.edit_of(live, snapshot, run) == edits.Edit({}, ())


ACCEPTED = {"kernel.c": b"int accepted;\n"}


def test_an_edit_that_nobody_has_seen_is_not_lost(live: Path, snapshot: Task, run: Run) -> None:
    (live / "kernel.c").write_bytes(b"int precious;\n")
    with pytest.raises(edits.EditConflict, match=r"kernel\.c"):
        edits.refuse_to_lose(live, ACCEPTED, snapshot, run)


def test_an_edit_that_waits_to_be_measured_is_not_lost(live: Path, snapshot: Task, run: Run) -> None:
    edit = {"kernel.c": b"int precious;\n"}
    (live / "kernel.c").write_bytes(edit["kernel.c"])
    seen = replace(run, folder=edits.hashes(edit), pending_edit=edits.hashes(edit))
    with pytest.raises(edits.EditConflict, match=r"kernel\.c"):
        edits.refuse_to_lose(live, ACCEPTED, snapshot, seen)
    edits.refuse_to_lose(live, ACCEPTED, snapshot, replace(seen, pending_edit={}))


def test_what_is_known_may_be_replaced_and_replaced_again(live: Path, snapshot: Task, run: Run) -> None:
    for _ in range(2):
        edits.refuse_to_lose(live, ACCEPTED, snapshot, run)
        edits.write(live, ACCEPTED, snapshot, run.folder)
    assert (live / "kernel.c").read_bytes() == ACCEPTED["kernel.c"]


def test_a_run_s_own_copy_that_is_gone_is_not_taken_for_a_task_that_is(tmp_path: Path) -> None:
    run = run_of()
    copy = edits.snapshot_folder(Workspace(tmp_path), run)
    with pytest.raises(TaskError, match=rf"^{copy}: {run.id}'s own copy of the task is missing; put it back"):
        edits.snapshot_of(Workspace(tmp_path), run)


def test_a_run_that_begins_with_a_rejected_edit_says_so() -> None:
    ended = Ended("no_gain", IterationsUsed(1), 1.0)
    before = replace(run_of(status=ended, incumbent=4), files={"kernel.c": "a", "build.json": "b"})
    begins = replace(run_of(), id="r2", folder={"kernel.c": "edit", "build.json": "b"})
    state = State(runs={"r1": before, "r2": begins})
    notice = edits.own_baseline(state, begins)
    assert notice == OwnBaseline("r2", "r1.4", ("kernel.c",))
    assert "kpd rollback r1.4" in told(notice)


@pytest.mark.parametrize(
    ("status", "task", "folder"),
    [
        ("ended", "task", {"kernel.c": "a"}),
        ("ended", "another", {"kernel.c": "edit"}),
        ("runs", "task", {"kernel.c": "x"}),
    ],
)
def test_a_run_that_goes_on_from_the_last_one_has_nothing_to_say(
    status: str, task: str, folder: dict[str, str]
) -> None:
    ended = Ended("no_gain", IterationsUsed(1), 1.0) if status == "ended" else Running()
    before = replace(run_of(status=ended, incumbent=4), task=task, files={"kernel.c": "a"})
    begins = replace(run_of(), id="r2", folder=folder)
    assert edits.own_baseline(State(runs={"r1": before, "r2": begins}), begins) is None
