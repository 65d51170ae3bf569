"""Whatever is accepted, rolled back and edited, in whatever order: nothing is lost, and the folder is the incumbent."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

from kpd.engine import edits
from kpd.model.run import Run
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.editable import clash
from kpd.workspace.task import Task, TaskError
from tests.support.drawn import examples
from tests.support.model.samples import run_of, task_of

Tree = dict[str, bytes]
BASELINE = {"kernel.c": b"0", "src/a.h": b"0"}
HARNESS = b"int harness;\n"
PATHS = ("kernel.c", "src/a.h", "src/b", "src/b/c.h", "src/d/e/f.h")
CHANGES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from([b"1", b"2", b"", None]), min_size=1)
STEPS = st.lists(
    st.tuples(st.sampled_from(["accept", "reject", "person", "measure"]), CHANGES)
    | st.tuples(st.just("rollback"), st.integers(0, 9)),
    max_size=12,
)


def changed(tree: Tree, changes: dict[str, bytes | None]) -> Tree:
    new = dict(tree)
    for path, data in changes.items():
        if data is None:
            if path != "kernel.c":
                new.pop(path, None)
        elif (data or path != "kernel.c") and clash((path,), new) is None:
            new[path] = data
    return new


class Folder:
    """A task folder beside a run, with what the log knows of it; `kept` is all that could be had back."""

    def __init__(self, home: Path) -> None:
        self.live = home / "live"
        snapshot = home / "snapshot"
        for folder in (self.live, snapshot):
            (folder / "src").mkdir(parents=True)
            (folder / "harness.c").write_bytes(HARNESS)
        known = edits.hashes(BASELINE)
        self.task = replace(task_of(snapshot, {}, tuple(BASELINE)), areas=("src/",), kept=("kernel.c",))
        self.run = replace(run_of(), files=known, folder=known, pinned=edits.hashes({"harness.c": HARNESS}))
        edits.write(self.live, BASELINE, self.task, ())
        edits.write(snapshot, BASELINE, self.task, ())
        self.incumbents = [BASELINE]
        self.kept = [BASELINE]

    def become(self, tree: Tree) -> bool:
        """Make a tree the incumbent and show it; return whether the folder has it now."""
        before = read_tree(self.live, self.task)
        self.run = replace(self.run, files=edits.hashes(tree))
        self.incumbents.append(tree)
        self.kept.append(tree)
        try:
            edits.refuse_to_lose(self.live, tree, self.task, self.run)
        except edits.EditConflict:
            assert read_tree(self.live, self.task) == before
            return False
        for path, data in before.items():
            assert not data or any(data == one.get(path) for one in self.kept)
        edits.write(self.live, tree, self.task, self.run.folder)
        self.run = replace(self.run, folder=edits.hashes(tree), pending_edit={})
        assert self.shown() == tree
        return True

    def shown(self) -> Tree:
        """Return the folder's files, but for new ones that are empty."""
        return {path: data for path, data in read_tree(self.live, self.task).items() if data or path in self.run.folder}

    def edit(self, changes: dict[str, bytes | None]) -> None:
        for path, data in changes.items():
            target = self.live / path
            if data is None:
                if target.is_file() and path != "kernel.c":
                    target.unlink()
            elif not target.is_dir() and not any(above.is_file() for above in target.parents):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data or (b"3" if path == "kernel.c" else b""))

    def measure(self) -> None:
        found = edits.edit_of(self.live, self.task, self.run)
        assert found.protected == ()
        if found.files:
            self.kept.append(found.files)
            self.run = replace(self.run, folder=edits.hashes(found.files), pending_edit={})


@contextmanager
def folder() -> Iterator[Folder]:
    with tempfile.TemporaryDirectory() as home:
        yield Folder(Path(home))


@settings(max_examples=examples(150))
@example([("accept", {"src/b": b"1"}), ("person", FOLDER := {"src/b": None, "src/b/c.h": b"1"}), ("accept", FOLDER)])
@example([("accept", {"src/b/c.h": b"1"}), ("person", FILE := {"src/b/c.h": None, "src/b": b"1"}), ("accept", FILE)])
@given(STEPS)
def test_the_folder_follows_the_incumbent(steps: list[tuple[str, object]]) -> None:
    with folder() as it:
        for what, of in steps:
            if what == "rollback":
                assert isinstance(of, int)
                it.become(it.incumbents[of % len(it.incumbents)])
                continue
            assert isinstance(of, dict)
            if what == "accept":
                it.become(changed(it.incumbents[-1], of))
            elif what == "person":
                it.edit(of)
            elif what == "measure":
                it.measure()
        for path in read_tree(it.live, it.task):
            (it.live / path).write_bytes((it.live / path).read_bytes() or b"4")
        it.measure()
        assert it.become(BASELINE)
        assert sorted(read_tree(it.live, it.task)) == sorted(BASELINE)


@pytest.mark.parametrize(
    ("theirs", "new"),
    [
        ({"src/new.h": b"mine"}, {"src/new.h": b"kpd's"}),
        ({"src/a.h": None}, {"src/a.h": b"1"}),
        ({"src/a.h": b"mine"}, {"src/a.h": None}),
        ({"src/other.h": b"mine"}, {"kernel.c": b"1"}),
    ],
    ids=["added by both", "removed by a person", "changed by a person, removed by kpd", "added by a person"],
)
def test_what_a_person_did_is_not_overwritten(theirs: dict[str, bytes | None], new: dict[str, bytes | None]) -> None:
    with folder() as it:
        it.edit(theirs)
        assert not it.become(changed(BASELINE, new))
        it.measure()
        assert it.become(changed(BASELINE, new))


def test_a_folder_that_the_task_names_stays_when_it_is_empty() -> None:
    with folder() as it:
        assert it.become({"kernel.c": b"1", "src/x/y.h": b"2"})
        assert it.become({"kernel.c": b"1"})
        assert [path.name for path in (it.live / "src").parent.iterdir() if path.is_dir()] == ["src"]
        assert list((it.live / "src").iterdir()) == []


def test_an_added_and_a_removed_file_are_an_edit() -> None:
    with folder() as it:
        it.edit({"src/a.h": None, "src/d/e/f.h": b"1", "src/b": b""})
        run: Run = it.run
        task: Task = it.task
        assert edits.edit_of(it.live, task, run) == edits.Edit({"kernel.c": b"0", "src/d/e/f.h": b"1"}, ())


def test_a_folder_that_was_emptied_is_told(tmp_path: Path) -> None:
    known = {"src/a.h": b"0"}
    live, snapshot = tmp_path / "live", tmp_path / "snapshot"
    for folder in (live, snapshot):
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "a.h").write_bytes(b"0")
    task = replace(task_of(snapshot, {}, tuple(known)), areas=("src/",))
    run = replace(run_of(), files=edits.hashes(known), folder=edits.hashes(known))
    (live / "src" / "a.h").unlink()
    with pytest.raises(TaskError, match="no editable file is left"):
        edits.edit_of(live, task, run)
