"""What a task's own tools write: which files that is, and where it would let a candidate plant a result."""

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.workspace.candidate_tree import read_tree, refused
from kpd.workspace.editable import covers, is_area
from kpd.workspace.records import expression, folders, is_record, overlap
from kpd.workspace.task import Task, TaskError, load_task

TOML = """\
[task]
name = "t"
language = "command"
editable = ["kernel.py", "src/"]
records = ["bench.csv", "profile/", "out/*.json"]
[bench]
command = "python3 bench.py --csv bench.csv > out/log.txt"
"""
FILES = ("kernel.py", "src/a.py", "bench.py", "bench.csv", "profile/deep/a.rep", "out/a.json", "out/readme")
NAMES = st.text("ab*?", min_size=1, max_size=3).filter(lambda name: "**" not in name) | st.just("**")
AREAS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATHS = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for path in FILES:
        (tmp_path / "t" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "t" / path).write_text(path)
    (tmp_path / "t" / "task.toml").write_text(TOML)
    return tmp_path / "t"


def loaded(folder: Path, **changes: str) -> Task:
    text = TOML
    for key, value in changes.items():
        text = re.sub(rf"^{key} = .*$", lambda _: f"{key} = {value}", text, flags=re.MULTILINE)  # noqa: B023
    (folder / "task.toml").write_text(text)
    return load_task(folder)


def test_records_are_neither_editable_nor_protected(folder: Path) -> None:
    task = loaded(folder)
    assert task.protected == ("bench.py", "task.toml", "out/readme")
    assert task.editable == ("kernel.py", "src/a.py")
    assert not any(task.allows(path) for path in ("bench.csv", "profile/x", "out/a.json"))
    assert list(read_tree(folder, task)) == ["kernel.py", "src/a.py"]
    for path in ("bench.csv", "profile/new.rep", "out/b.json"):
        (folder / path).write_text("changed")
    assert refused(folder, task) == ()
    (folder / "out/c.txt").write_text("new")
    assert refused(folder, task) == ("out/c.txt",)


def test_many_records_and_links_among_them_are_no_part_of_the_task(folder: Path) -> None:
    for number in range(1001):
        (folder / "profile" / f"{number}.rep").touch()
    (folder / "profile" / "out").symlink_to("/")
    (folder / "out" / "b.json").symlink_to("/etc/passwd")
    assert len(loaded(folder).protected) == 3


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ('["kernel.py"]', "the record 'kernel.py' and the editable 'kernel.py' have files in common"),
        ('["*.py"]', "and the editable 'kernel.py' have files in common"),
        ('["src/log.txt"]', "the record 'src/log.txt' and the editable 'src/' have files in common"),
        ('["SRC/log.txt"]', "and the editable 'src/' have files in common"),
        ('["src"]', "record 'src' is a folder"),
        ('["kernel.py/"]', "and the editable 'kernel.py' have files in common"),
        ('["**"]', "have files in common"),
        ('["task.toml"]', "covers 'task.toml', which judges a candidate"),
        ('["*.toml"]', "covers 'task.toml', which judges a candidate"),
        ('["../x.csv"]', "leaves the folder"),
        ('["/tmp/x.csv"]', "is absolute"),
        ('[".cache/"]', "record '.cache/' cannot be read"),
        ('["a;b"]', "record 'a;b' cannot be read"),
        ('["bench.py"]', "runs 'bench.py', which is a record"),
        ('["be*.py"]', "runs 'bench.py', which is a record"),
    ],
)  # fmt: skip
def test_a_record_where_a_candidate_could_put_a_result(folder: Path, records: str, message: str) -> None:
    with pytest.raises(TaskError, match=re.escape(message)):
        loaded(folder, records=records)


@pytest.mark.parametrize(
    "command",
    ["./bench.csv", "python3 profile/run.py", "cat out/a.json", "python3 bench.py; sh bench.csv",
     "python3 > log.txt bench.csv", "python3 bench.py < x && sh out/a.json"],
)  # fmt: skip
def test_a_command_that_runs_a_record(folder: Path, command: str) -> None:
    with pytest.raises(TaskError, match="which is a record: a candidate may have written it"):
        loaded(folder, command=f'"{command}"')


def test_only_tasks_with_a_benchmark_of_their_own_have_records(folder: Path) -> None:
    text = TOML.partition("[bench]")[0].replace("command", "c").replace('["kernel.py", "src/"]', '["kernel.c"]')
    (folder / "task.toml").write_text(text)
    for name in ("kernel.c", "harness.c"):
        (folder / name).touch()
    with pytest.raises(TaskError, match=r"'records' in \[task\], but kpd's own driver measures a task in c"):
        load_task(folder)


def test_folders_that_a_command_finds() -> None:
    assert folders(("bench.csv", "a/b/", "out/*.json", "*/x/", "**/y.txt", "a/*/c/")) == ("a/b", "out", "a")


@given(AREAS, PATHS)
def test_a_regular_expression_covers_what_the_entry_does(area: str, path: str) -> None:
    assert (re.fullmatch(expression(area), path) is not None) == covers(area, path)


@given(AREAS, AREAS, PATHS)
def test_entries_that_share_a_path_overlap(one: str, other: str, path: str) -> None:
    if covers(one, path) and covers(other, path):
        assert overlap(one, other) and overlap(other, one)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [("*.csv", "*.py", False), ("a*c", "*b", False), ("a*", "*b", True), ("src/", "src2/", False),
     ("src/", "src/a/*.txt", True), ("a.csv", "a.csv/b", True), ("**/x.csv", "src/", True)],
)  # fmt: skip
def test_overlap(one: str, other: str, shared: bool) -> None:
    assert overlap(one, other) is overlap(other, one) is shared


def test_a_file_is_a_record_where_one_entry_covers_it() -> None:
    assert is_record(("a.csv", "p/"), "p/x") and not is_record((), "p/x") and is_area("p/")
