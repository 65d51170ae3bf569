"""How a point of a [tune] space is read from and written into the editable files."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.agents import space
from tests.support.model.samples import task_of

KERNEL = b"""\
// TILE in a comment is no define
#define TILE 16   /* rows */
#  define VEC\t1
void kernel(void) { int TILE_ = TILE; }
"""


def test_reads_macros_json_keys_and_constants(tmp_path: Path) -> None:
    task = task_of(tmp_path, {"TILE": ("16", "32"), "flags": ("-O2", "-O3"), "BLOCK": ("1", "2")})
    files = {"kernel.c": KERNEL, "build.json": b'{"flags": "-O2"}', "kernel.py": b"x = 1\nBLOCK = 2  # why\n"}
    assert space.read_point(task, files) == {"TILE": "16", "flags": "-O2", "BLOCK": "2"}


def test_a_parameter_that_is_nowhere_is_named(tmp_path: Path) -> None:
    task = task_of(tmp_path, {"UNROLL": ("1", "2")})
    with pytest.raises(space.SpaceError, match="UNROLL is neither a #define"):
        space.read_point(task, {"kernel.c": KERNEL})
    assert space.point_of(task, {"kernel.c": KERNEL}) == {}


@given(st.sampled_from(["1", "16", "128"]), st.sampled_from(["2", "8"]))
def test_what_is_written_is_read_back_and_all_else_stays(tile: str, vec: str) -> None:
    files = {"kernel.c": KERNEL}
    written = space.write_point(files, {"TILE": tile, "VEC": vec})
    task = task_of(Path("unused"), {"TILE": (tile,), "VEC": (vec,)})
    assert space.read_point(task, written) == {"TILE": tile, "VEC": vec}
    assert space.write_point(written, {"TILE": "16", "VEC": "1"}) == files
    assert b"int TILE_ = TILE;" in written["kernel.c"]


def test_json_numbers_stay_numbers() -> None:
    files = {"build.json": b'{"unroll": 4, "flags": "-O2"}'}
    written = space.write_point(files, {"unroll": "8", "flags": "-O3"})
    assert written["build.json"].split() == b'{ "unroll": 8, "flags": "-O3" }'.split()


@pytest.mark.parametrize("value", ["fast", "", "true", "null", "[1]", "NaN", "1e999", "[" * 100_000, "9" * 5000])
def test_a_word_is_no_number(value: str, tmp_path: Path) -> None:
    files = {"build.json": b'{"BLOCK": 128, "flags": "-O2", "fast": true}'}
    task = task_of(tmp_path, {"BLOCK": ("64", value)}, ("build.json",))
    for tried in (lambda: space.read_point(task, files), lambda: space.write_point(files, {"BLOCK": value})):
        with pytest.raises(space.SpaceError, match=r"\[tune\] BLOCK is a number in build\.json"):
            tried()
    assert b'"-O3"' in space.write_point(files, {"flags": "-O3"})["build.json"]


@pytest.mark.parametrize(("file", "off", "on"), [
    ("plan.json", b'{\n  "KEEP": false\n}\n', b'{\n  "KEEP": true\n}\n'),
    ("kernel.py", b"KEEP = False\n", b"KEEP = True\n"),
])  # fmt: skip
def test_a_boolean_is_written_as_its_file_has_it(tmp_path: Path, file: str, off: bytes, on: bytes) -> None:
    task = task_of(tmp_path, {"KEEP": ("true", "false")})
    assert space.read_point(task, {file: off}) == {"KEEP": "false"}
    assert space.write_point({file: off}, {"KEEP": "true"}) == {file: on}
    assert space.write_point({file: on}, {"KEEP": "false"}) == {file: off}


def test_a_boolean_takes_no_other_value(tmp_path: Path) -> None:
    with pytest.raises(space.SpaceError, match=r"KEEP is a boolean in plan\.json, which '2' is not"):
        space.read_point(task_of(tmp_path, {"KEEP": ("true", "2")}), {"plan.json": b'{"KEEP": false}'})
