"""Which files of a tree a compiler gets by themselves."""

from kpd.measure.c.build import SUFFIXES
from kpd.measure.driver.units import units

C = SUFFIXES["kernel.c"]


def test_a_source_that_nobody_includes_is_a_unit_after_the_kernel() -> None:
    files = {
        "src/b.c": b"int b(void);",
        "kernel.c": b'#include "a.h"\n',
        "a.c": b"",
        "a.h": b"",
        "readme.md": b"",
        "x.cpp": b"",
    }
    assert units({}, files, "kernel.c", C) == ("kernel.c", "a.c", "src/b.c")


def test_what_another_file_includes_is_no_unit_however_it_names_it() -> None:
    files = {
        "kernel.c": b'#include "src/one.c"\n  #  include <src/two.c>\n',
        "src/one.c": b'#include "three.c"\n#include "../four.c"\n',
        "src/two.c": b"",
        "src/three.c": b"",
        "four.c": b"",
        "src/five.c": b'// "src/five.c"\n',
    }
    assert units({}, files, "kernel.c", C) == ("kernel.c", "src/five.c")


def test_protected_files_are_no_units_but_what_they_include_is_included() -> None:
    files = {"kernel.c": b"", "src/part.c": b""}
    assert units({"src/shared.h": b'#include "part.c"'}, files, "kernel.c", C) == ("kernel.c",)
    assert units({"other.c": b""}, files, "kernel.c", C) == ("kernel.c", "src/part.c")


def test_a_file_that_includes_itself_is_a_unit_all_the_same() -> None:
    assert units({}, {"kernel.c": b"", "a.c": b'#include "a.c"'}, "kernel.c", C) == ("kernel.c", "a.c")
