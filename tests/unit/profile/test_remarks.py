"""What gcc and clang say of their vectorisers, as they really said it."""

import pytest

from kpd.profile import remarks
from tests.places import DATA

PROFILES = DATA / "profile"

GCC_NEST = """\
k.c:5:15: missed: couldn't vectorize loop
k.c:5:15: missed: not vectorized: loop nest containing two or more consecutive inner loops cannot be vectorized
k.c:8:9: missed: couldn't vectorize loop
k.c:8:20: missed: not vectorized: control flow in loop.
k.c:9:9: missed: couldn't vectorize loop
k.c:9:9: missed: not vectorized: no vectype for stmt: _6 = *_5;
k.c:9:9: optimized: loop vectorized using 16 byte vectors
k.c:12:3: optimized: basic block part vectorized using 16 byte vectors
"""


def test_gcc() -> None:
    found = remarks.parse((PROFILES / "norm_gcc.txt").read_text())
    assert found.vectorised == {"norm.c:6:23"}
    assert list(found.missed) == ["norm.c:11:23"]
    assert "expf" in found.missed["norm.c:11:23"]
    metrics, missing = remarks.read((PROFILES / "norm_gcc.txt").read_text())
    assert missing == {}
    assert (metrics["loops_vectorised"], metrics["loops_missed"], metrics["missed_call"]) == (1, 1, 1)


def test_clang() -> None:
    metrics, missing = remarks.read((PROFILES / "norm_clang.txt").read_text())
    assert missing == {}
    assert {name: value for name, value in metrics.items() if value} == {
        "loops_missed": 2,
        "missed_reduction": 1,
        "missed_call": 1,
    }


def test_a_loop_counts_once_and_outer_loops_do_not() -> None:
    found = remarks.parse(GCC_NEST)
    assert found.vectorised == {"k.c:9:9"}
    assert found.missed == {"k.c:8:9": "control flow in loop."}


@pytest.mark.parametrize(
    ("reason", "metric"),
    [
        ("cannot prove it is safe to reorder floating-point operations", "missed_reduction"),
        ("value that could not be identified as reduction is used outside the loop", "missed_reduction"),
        ("statement clobbers memory: _10 = expf (_9);", "missed_call"),
        ("call instruction cannot be vectorized", "missed_call"),
        ("cannot prove it is safe to reorder memory operations", "missed_alias"),
        ("possible dependence between data-refs *_3 and *_5", "missed_alias"),
        ("number of iterations cannot be computed", "missed_control"),
        ("could not determine number of loop iterations", "missed_control"),
        ("not suitable for strided load *_10 = _11;", "missed_access"),
        ("a reason of tomorrow's compiler", "missed_other"),
        ("", "missed_other"),
    ],
)
def test_reasons(reason: str, metric: str) -> None:
    assert remarks.classify(reason) == metric


def test_silence_is_missing_not_zero() -> None:
    metrics, missing = remarks.read("kernel.c:3:1: warning: unused variable 'x'\n")
    assert metrics == {}
    assert set(missing) == set(remarks.NAMES)
