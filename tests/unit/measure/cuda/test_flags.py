"""The allow-list of nvcc's flags."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kpd.measure.cuda.nvcc import ALLOWED
from kpd.measure.flags import FlagError

TUNING = (
    "-O3", "-maxrregcount=64", "--maxrregcount=128", "-Xptxas=-O3",
    "-Xptxas=-O1,-dlcm=cg,-dscm=wt", "--ptxas-options=-dlcm=ca", "-Xptxas=--allow-expensive-optimizations=true",
    "--fmad=false", "-ftz=false", "--prec-div=true", "--extra-device-vectorization", "-std=c++17", "--std=c++20",
    "--expt-relaxed-constexpr", "--extended-lambda", "-restrict", "-DTILE=32", "-DFAST", "-arch=sm_90a",
)  # fmt: skip
HOSTILE = (
    "-o", "-o/tmp/x", "@flags", "-I/etc", "-include", "-Xcompiler", "-Xcompiler=-fplugin=x.so", "-Xlinker=-rpath",
    "-ccbin=/tmp/gcc", "--compiler-bindir=/tmp", "-Xptxas", "-Xptxas=-o,/tmp/x", "-Xptxas=-O3,--input-as-string",
    "-Xptxas=@x", "--options-file=x", "-lcuda", "-L/tmp", "-shared", "-cubin", "-ptx", "-keep", "--keep-dir=/tmp",
    "-dryrun", "-run", "--run-args=x", "-rdc=true", "-dc", "-g", "-G", "--cudart=shared", "-default-stream=per-thread",
    "-Wno-deprecated-gpu-targets", "-time=/tmp/x", "-MF", "-MD", "-gencode=arch=x", "-arch=native", "-arch=sm_90,x",
    "-code=sm_90", "-DX=$(id)", "-D", "-U__CUDA__", "-std=c++11", "-maxrregcount=", "-fmad=maybe", "kernel2.cu",
)  # fmt: skip


@pytest.mark.parametrize("flag", TUNING)
def test_flags_that_tune_are_allowed(flag: str) -> None:
    assert ALLOWED.parse(flag) == (flag,)


@pytest.mark.parametrize("flag", HOSTILE)
def test_all_others_are_refused(flag: str) -> None:
    with pytest.raises(FlagError):
        ALLOWED.parse(f"-O2 {flag} --restrict")


@pytest.mark.parametrize(
    "flag", ["--use_fast_math", "-use_fast_math", "-ftz=true", "--prec-div=false", "-prec-sqrt=false"]
)
def test_flags_that_change_results_need_the_tasks_word(flag: str) -> None:
    with pytest.raises(FlagError, match=r"changes results; \[check\] fast_math = true would allow it"):
        ALLOWED.parse(flag)
    assert replace(ALLOWED, fast_math=True).parse(flag) == (flag,)


def test_a_value_may_stand_in_a_word_of_its_own() -> None:
    flags = ALLOWED.parse("-Xptxas -O3 -maxrregcount 64 --std c++17 -Xptxas -dlcm=cg")
    assert flags == ("-Xptxas=-O3", "-maxrregcount=64", "--std=c++17", "-Xptxas=-dlcm=cg")


PIECES = st.sampled_from(
    [*TUNING, *HOSTILE, "/", ",", "@", "=", "$", "`", ";", "'", "\\", "..", " ", "\n", "é", "１", "-"]
)


@given(st.lists(PIECES, max_size=5).map("".join))
def test_no_allowed_flag_names_a_file_or_means_anything_to_a_shell(text: str) -> None:
    try:
        flags = ALLOWED.parse(text)
    except FlagError:
        return
    for flag in flags:
        assert flag.isascii()
        assert flag.startswith("-")
        assert not set(flag) & set("/@$`;'\"\\|&<>(){}*?! \t\n\0~#%^:")
