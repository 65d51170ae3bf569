"""A candidate's files are read from a folder in which anything may lie."""

import os
import stat
from pathlib import Path

import pytest

from kpd.workspace import candidate_tree
from kpd.workspace.candidate_tree import CANDIDATE_BYTES, MOST_REFUSED, read_tree, refused
from kpd.workspace.editable import DEEPEST
from kpd.workspace.task import Task, TaskError, copy_task, load_task

TOML = '[task]\nname = "t"\nlanguage = "c"\neditable = ["kernel.c", "src/", "gen/*.h"]\n'


@pytest.fixture
def task(tmp_path: Path) -> Task:
    home = tmp_path / "t"
    for path in ("kernel.c", "harness.c", "src/one.c", "src/inc/two.h", "data/big.bin"):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(path)
    (home / "task.toml").write_text(TOML)
    return load_task(home)


@pytest.fixture
def tree(task: Task, tmp_path: Path) -> Path:
    copy_task(task.folder, tmp_path / "tree")
    return tmp_path / "tree"


def put(tree: Path, *paths: str) -> None:
    for path in paths:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(path)


def test_a_tree_with_added_and_removed_files(task: Task, tree: Path) -> None:
    assert list(read_tree(tree, task)) == ["kernel.c", "src/inc/two.h", "src/one.c"]
    put(tree, "src/new/deep.h", "gen/a.h", "gen/deep/b.h", "other.c", "src/.cache/x", "src/one.c~")
    (tree / "src/one.c").unlink()
    assert read_tree(tree, task) == {
        path: path.encode() for path in ("gen/a.h", "kernel.c", "src/inc/two.h", "src/new/deep.h")
    }
    assert refused(tree, task) == ("gen/deep/b.h", "other.c")


def test_a_changed_and_a_removed_protected_file_are_refused(task: Task, tree: Path) -> None:
    assert refused(tree, task) == ()
    (tree / "harness.c").write_text("easier")
    (tree / "data/big.bin").unlink()
    (tree / "task.toml").unlink()
    (tree / "task.toml").symlink_to(task.folder / "task.toml")
    assert refused(tree, task) == ("data/big.bin", "harness.c", "task.toml")


def test_what_no_candidate_may_hold(task: Task, tree: Path) -> None:
    def refusal() -> str:
        with pytest.raises(TaskError) as caught:
            read_tree(tree, task)
        return str(caught.value)

    odd = tree / "src" / "odd.h"
    odd.symlink_to("/etc/passwd")
    assert "odd.h: a link among the editable files; put the file itself there" in refusal()
    odd.unlink()
    odd.symlink_to("inc")
    assert "odd.h: a link among the editable files" in refusal()
    odd.unlink()
    os.mkfifo(odd)
    assert "odd.h: not a regular file" in refusal()
    odd.unlink()
    os.mknod(odd, stat.S_IFSOCK | 0o600)
    assert "odd.h: not a regular file" in refusal()
    odd.unlink()
    for name in ("a b.h", "k\u202e.h", "kеrnel.h", "\x1b[2J.h", "a\n.h", os.fsdecode(b"\xff.h")):
        (tree / "src" / name).touch()
        assert f"a file named {'src/' + name!a} among the editable ones" in refusal()
        (tree / "src" / name).unlink()
    put(tree, "/".join(["src", *["d"] * (DEEPEST - 1), "x.h"]))
    assert "use short names" in refusal()


def test_a_link_above_the_files_is_not_followed(task: Task, tree: Path, tmp_path: Path) -> None:
    (tree / "src").rename(tmp_path / "elsewhere")
    (tree / "src").symlink_to(tmp_path / "elsewhere")
    assert list(read_tree(tree, task)) == ["kernel.c"]
    assert refused(tree, task) == ("src",)


def test_sizes_and_counts(task: Task, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = CANDIDATE_BYTES - sum(map(len, read_tree(tree, task).values()))
    (tree / "src/zz.h").write_bytes(b"x" * rest)
    assert len(read_tree(tree, task)["src/zz.h"]) == rest
    (tree / "src/zz.h").write_bytes(b"x" * (rest + 1))
    with pytest.raises(TaskError, match="the editable files have more than 1 MiB; keep data elsewhere"):
        read_tree(tree, task)
    (tree / "src/zz.h").unlink()
    monkeypatch.setattr(candidate_tree, "MOST_FILES", 3)
    assert len(read_tree(tree, task)) == 3
    put(tree, "src/a.h")
    with pytest.raises(TaskError, match="more than 3 editable files; keep data and builds elsewhere"):
        read_tree(tree, task)
    monkeypatch.setattr(candidate_tree, "MOST_FOLDERS", 2)
    with pytest.raises(TaskError, match="more than 2 folders"):
        read_tree(tree, task)


def test_the_list_of_refused_files_has_an_end(task: Task, tree: Path) -> None:
    put(tree, *(f"build/{number}.o" for number in range(MOST_REFUSED + 1)))
    assert len(refused(tree, task)) == MOST_REFUSED
    assert len(read_tree(tree, task)) == 3


def test_a_file_that_is_removed_while_it_is_read_is_left_out(
    task: Task, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tree, "src/4913")
    real = candidate_tree.read_plain

    def read(path: Path, *rest: int, **more: int) -> bytes:
        if path.name == "4913":
            (tree / "src" / "4913").unlink()
        return real(path, *rest, **more)

    monkeypatch.setattr(candidate_tree, "read_plain", read)
    assert list(read_tree(tree, task)) == ["kernel.c", "src/inc/two.h", "src/one.c"]
