"""A kernel that computes nothing, or nearly the right thing, still compiles and can be called."""

from collections.abc import Callable
from typing import Any

import pytest

from kpd.imports.breaking import PROBES, broken, nearly_right


def run(text: str) -> dict[str, object]:
    scope: dict[str, object] = {}
    exec(broken({"kernel.py": text.encode()})["kernel.py"], scope)
    return scope


PYTHON = """
def f(x):
    return [x, (2 * x, "a")], {"k": x}, None


class M:
    def forward(self, x):
        return x
"""
C = """
#include "k.h"
#define TWICE(x) \\
  (2 * (x))
/* { */ static inline int g(int a) { return a; }
void f(float *x, int n) {
  if (n) { x[0] = g(n); }
}
char *h(void) { return 0 ? "}" : 0; }
"""
EMPTY = """
#include "k.h"
#define TWICE(x) \\
  (2 * (x))
/* { */ static inline int g(int a) { return 0; }
void f(float *x, int n) { }
char *h(void) { return 0; }
"""


def test_python_functions_return_zeros_of_what_they_returned() -> None:
    found = run(PYTHON)
    f, model = found["f"], found["M"]
    assert callable(f) and callable(model)
    assert f(3.0) == ([0.0, (0.0, "a")], {"k": 0.0}, None)
    assert model().forward(4) == 0


def test_a_function_that_returns_nothing_is_emptied() -> None:
    out = [1]
    found = run("def f(out):\n    out[0] = 5\n")
    assert callable(found["f"])
    found["f"](out)
    assert out == [1]


def test_what_is_compiled_has_no_bodies() -> None:
    assert broken({"k.c": C.encode()}) == {"k.c": EMPTY.encode()}


@pytest.mark.parametrize("name", ["a.json", "b.txt", "c.py", "d.h"])
def test_what_cannot_be_broken_is_none(name: str) -> None:
    assert broken({name: b"N = 1\n"}) == {}


SCALE = """
def blocks(n):
    return n // 2

def scale(x):
    return [2.0 * value for value in x] if blocks(len(x)) else []

if __name__ == "__main__":
    print(scale([1.0, 2.0]))
"""


def probed(text: str) -> list[Callable[..., Any]]:
    """Return `scale` with results that are all 1, with those of its first call, and with results a little off."""
    found = []
    for probe in PROBES:
        scope: dict[str, Any] = {"__name__": "kernel"}
        exec(nearly_right({"kernel.py": text.encode(), "k.c": C.encode()}, probe)["kernel.py"], scope)
        found.append(scope["scale"])
    return found


def test_what_others_call_is_nearly_right() -> None:
    ones, first, off = probed(SCALE)
    assert ones([3.0, 4.0]) == [1.0, 1.0]
    assert (first([3.0, 4.0]), first([5.0, 6.0]), first([5.0, 6.0, 7.0])) == (
        [6.0, 8.0],
        [6.0, 8.0],
        [10.0, 12.0, 14.0],
    )
    assert off([512.0, -1.0]) == [1024.5, -2.0 * (1 + 2.0**-11)]


def test_what_has_no_more_precision_is_no_rounding() -> None:
    off = probed(SCALE.replace("2.0 * value", "value"))[2]
    with pytest.raises(TypeError, match="no more precision"):
        off([3, 4])
    assert not nearly_right({"k.py": b"def f(out):\n    out[0] = 1\n", "k.c": C.encode()}, PROBES[0])


def test_a_function_that_the_file_itself_calls_is_right() -> None:
    scope: dict[str, Any] = {"__name__": "kernel"}
    exec(broken({"kernel.py": SCALE.encode()})["kernel.py"], scope)
    assert (scope["blocks"](8), scope["scale"]([3.0, 4.0])) == (4, [0.0, 0.0])
