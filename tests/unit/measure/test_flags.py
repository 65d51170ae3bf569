"""The allow-list of compiler flags: what tunes passes, what reads, writes, loads or links does not."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.measure.c.toolchain import ALLOWED
from kpd.measure.flags import MOST, FlagError

allowed, parse, of_build_json = ALLOWED.allows, ALLOWED.parse, ALLOWED.of_build_json

TUNING = (
    "-O0", "-O2", "-O3", "-Os", "-Oz", "-march=native", "-march=armv8.2-a+dotprod", "-mcpu=native",
    "-mtune=znver4", "-mavx2", "-mno-avx512f", "-msse4.1", "-mfma", "-mavx512vnni", "-ftree-vectorize",
    "-fno-math-errno", "-fno-trapping-math", "-funroll-loops", "-fprefetch-loop-arrays", "-ffp-contract=off",
    "-fvect-cost-model=unlimited", "-mprefer-vector-width=512", "-falign-loops=32",
    "--param=max-unroll-times=8", "-DBLOCK=64", "-DFAST", "-std=c11",
)  # fmt: skip
HOSTILE = (
    "-o", "-o/tmp/x", "@flags", "-I/etc", "-isystem", "-include", "-include/etc/passwd", "-B/tmp", "-specs=x",
    "-wrapper", "-fplugin=evil.so", "-fpass-plugin=evil.so", "-fplugin-arg-x-y", "-Wl,-rpath,/tmp",
    "-Wa,-a=/tmp/x", "-Wp,-MD,x", "-Xclang", "-Xlinker", "-mllvm", "-load", "-L/tmp", "-lm", "-shared",
    "-static", "-x", "-E", "-S", "-c", "-save-temps", "-save-temps=obj", "-fdump-tree-all",
    "-fdump-tree-all=/tmp/x", "-fopt-info=/tmp/x", "-fprofile-use=/tmp/x", "-fprofile-generate",
    "-fauto-profile=/x", "-frandom-seed=x", "-fdebug-prefix-map=a=b", "-fsanitize=address", "-flto", "-fopenmp",
    "-fpie", "-fno-pic", "-m32", "-mcmodel=large", "-mabi=ms", "-nostdlib", "-imacros", "-MF", "-MD",
    "--sysroot=/", "--param", "--param=x=y", "-D", "-DX=$(id)", "-DX=`id`", "-DX=a;b", "-march=x/y", "-march=",
    "-O9", "-O2;id", "-fstack-usage", "-ftime-report", "-fuse-ld=gold", "-g", "kernel2.c", "/etc/passwd",
    "--version", "-", "--", "-v", "-###",
)  # fmt: skip


@pytest.mark.parametrize("flag", TUNING)
def test_flags_that_tune_are_allowed(flag: str) -> None:
    assert parse(flag) == (flag,)


@pytest.mark.parametrize("flag", HOSTILE)
def test_all_others_are_refused(flag: str) -> None:
    with pytest.raises(FlagError):
        parse(f"-O2 {flag} -funroll-loops")


@given(st.lists(st.sampled_from(TUNING), max_size=MOST), st.sampled_from([" ", "  ", "\t", "\n"]))
def test_allowed_flags_come_back_as_they_were(flags: list[str], blank: str) -> None:
    assert parse(blank.join(flags)) == tuple(flags)


PIECES = st.sampled_from(
    [*TUNING, *HOSTILE, "/", ",", "@", "=", "$", "`", ";", "'", '"', "\\", "..", "\0", "é", "-f", "-m"]
)


@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=4).map("".join)))
def test_no_allowed_flag_names_a_file_or_means_anything_to_a_shell(flag: str) -> None:
    if allowed(flag):
        assert flag.isascii()
        assert flag.startswith(("-O", "-m", "-f", "-D", "-std=", "--param="))
        assert not set(flag) & set("/,@$`;'\"\\|&<>(){}*?! \t\n\0~#%^:")


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_refused_with_a_reason(text: str) -> None:
    try:
        assert all(allowed(flag) for flag in parse(text))
    except FlagError as err:
        assert "compiler flag" in str(err)


def test_a_near_miss_is_named() -> None:
    with pytest.raises(FlagError, match="did you mean -funroll-loops"):
        parse("-O2 -funrolloops")


@pytest.mark.parametrize(
    "flag",
    ["-Ofast", "-ffast-math", "-funsafe-math-optimizations", "-fassociative-math", "-freciprocal-math", "-mrecip=all"],
)
def test_flags_that_change_results_need_the_tasks_word(flag: str) -> None:
    with pytest.raises(FlagError, match=rf"{flag} changes results; \[check\] fast_math = true would allow it"):
        parse(f"-O2 {flag}")
    assert replace(ALLOWED, fast_math=True).parse(f"-O2 {flag}") == ("-O2", flag)


def test_too_many_flags_are_refused() -> None:
    with pytest.raises(FlagError, match="33 compiler flags"):
        parse("-O2 " * 33)


def test_build_json_gives_the_flags() -> None:
    assert of_build_json(b'{"flags": "-O3 -march=native"}') == ("-O3", "-march=native")
    assert of_build_json(b'{"flags": ""}') == ()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"-O2",
        b"[]",
        b"{}",
        b'{"flags": ["-O2"]}',
        b'{"flags": "-O2", "cc": "evil"}',
        b"\xff",
        b"[" * 100_000,
        b"null",
    ],
)
def test_a_build_json_that_holds_anything_else_is_refused(raw: bytes) -> None:
    with pytest.raises(FlagError, match=r"build\.json"):
        of_build_json(raw)


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.dictionaries(st.text(), inner))
)
def test_no_json_makes_it_fail_otherwise(value: object) -> None:
    try:
        of_build_json(json.dumps(value).encode())
    except FlagError:
        return
    assert isinstance(value, dict)
