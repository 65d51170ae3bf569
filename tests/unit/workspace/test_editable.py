"""What an entry of `editable` covers, and which paths cannot lie in one folder."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.workspace.editable import DEEPEST, LONGEST_PATH, clash, covers, is_area, is_plain, leads_to
from kpd.workspace.task import Task, TaskError, load_task

TOML = """\
[task]
name = "t"
language = "c"
editable = %s
"""


@pytest.mark.parametrize(
    ("area", "inside", "outside"),
    [
        ("src/", ["src/a.c", "src/b/c.h"], ["src", "a.c", "srcs/a.c", "Src/a.c"]),
        ("*.h", ["a.h", ".h"], ["src/a.h", "a.hh"]),
        ("src/*.h", ["src/a.h"], ["a.h", "src/b/a.h"]),
        ("src/**/*.cu", ["src/a.cu", "src/b/a.cu", "src/b/c/a.cu"], ["a.cu", "src/a.cuh"]),
        ("src/**", ["src/a", "src/b/c"], ["src", "b/src/c"]),
        ("**/k?.c", ["k1.c", "x/y/k2.c"], ["k.c", "k12.c", "k/.c"]),
    ],
)
def test_areas(area: str, inside: list[str], outside: list[str]) -> None:
    assert is_area(area)
    assert [path for path in inside if not covers(area, path)] == []
    assert [path for path in outside if covers(area, path)] == []


NAMES = st.text("ab*?", min_size=1, max_size=3).filter(lambda name: "**" not in name) | st.just("**")
AREAS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PATHS = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=5)


@given(AREAS, PATHS)
def test_every_folder_above_a_covered_file_leads_to_it(area: str, path: list[str]) -> None:
    if covers(area, "/".join(path)):
        assert leads_to(area, ".")
        assert all(leads_to(area, "/".join(path[:depth])) for depth in range(1, len(path)))


def test_a_folder_beside_an_area_is_not_searched() -> None:
    assert not leads_to("src/*.h", "build")
    assert not leads_to("src/*.h", "src/deep")
    assert not leads_to("*.h", "src")
    assert leads_to("src/**/*.h", "src/deep")


@pytest.mark.parametrize(
    ("added", "all", "found"),
    [
        (["a.h"], ["a.h", "b.h"], None),
        (["A.h"], ["a.h", "A.h"], ("A.h", "a.h")),
        (["a/b"], ["a", "a/b"], ("a/b", "a")),
        (["a"], ["a/b", "a"], ("a", "a/b")),
        (["A/b/c"], ["a/b", "A/b/c"], ("A/b/c", "a/b")),
        (["x"], ["a", "A", "x"], None),
    ],
)
def test_paths_that_cannot_lie_in_one_folder(added: list[str], all: list[str], found: tuple[str, str] | None) -> None:
    assert clash(added, all) == found


@pytest.mark.parametrize(
    "name",
    ["", "a/", "/a", "../a", "a/../b", ".hidden", "a/.git/x", "a b", "a\\b", "a\0b", "a\u202eb.c", "kеrnel.c", "a~",
     "-o", "x" * (LONGEST_PATH + 1), "/".join("x" * (DEEPEST + 1))],
)  # fmt: skip
def test_names_that_tools_or_people_trip_over(name: str) -> None:
    assert not is_plain(name)


def test_the_longest_and_the_deepest_path() -> None:
    assert is_plain("x" * LONGEST_PATH)
    assert is_plain("/".join("x" * DEEPEST))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "t"
    for path in ("kernel.c", "harness.c", "src/one.c", "src/inc/two.h", "tools/x.c", "src/.hidden", "src/old.c~"):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(path)
    return home


def load(folder: Path, editable: str) -> Task:
    (folder / "task.toml").write_text(TOML % editable)
    return load_task(folder)


def test_a_task_with_areas(folder: Path) -> None:
    task = load(folder, '["kernel.c", "src/"]')
    assert task.editable == ("kernel.c", "src/one.c", "src/inc/two.h")
    assert task.protected == ("harness.c", "task.toml", "tools/x.c")
    assert (task.areas, task.allows("src/new.h"), task.allows("new.h")) == (("src/",), True, False)
    assert (task.may_remove("src/one.c"), task.may_remove("kernel.c"), task.may_remove("harness.c")) == (
        True,
        False,
        False,
    )


def test_an_area_never_makes_a_judge_editable(folder: Path) -> None:
    task = load(folder, '["*.c", "*.toml", "**/*.h"]')
    assert task.editable == ("kernel.c", "src/inc/two.h")
    assert not any(
        map(task.allows, ("harness.c", "HARNESS.c", "harness.cu", "task.toml", "harness.c/x.h", "kernel.cu"))
    )
    assert not task.may_remove("kernel.c")


@pytest.mark.parametrize(
    ("editable", "message"),
    [
        ('["kernel.c", "absent/"]', "editable folder 'absent/' does not exist; create it"),
        ('["src"]', "editable file 'src' is not a regular file; for a folder write 'src/'"),
        ('["/src/"]', "is absolute"),
        ('["../**"]', "leaves the folder"),
        ('["src/", "src/"]', "appears twice"),
        ('["src/a**"]', "cannot be read; write a folder as 'src/'"),
        ('["src/[ab].c"]', "a name that tools trip over"),
        ('["src/[a]*.c"]', "cannot be read"),
        ('[".git/"]', "cannot be read"),
        ('["*.cu"]', "no file of the task is editable; put the file"),
    ],
)
def test_refused_entries(folder: Path, editable: str, message: str) -> None:
    with pytest.raises(TaskError) as caught:
        load(folder, editable)
    assert message in str(caught.value)
    assert caught.value.line == 4


def test_a_link_and_an_odd_name_in_an_area_are_refused(folder: Path) -> None:
    (folder / "src/alias.h").symlink_to("one.c")
    with pytest.raises(TaskError, match=r"'src/alias.h' is a symbolic link, and 'src/' is editable"):
        load(folder, '["src/"]')
    (folder / "src/alias.h").unlink()
    (folder / "src/a b.h").touch()
    with pytest.raises(TaskError, match="has a name that tools trip over"):
        load(folder, '["src/"]')
