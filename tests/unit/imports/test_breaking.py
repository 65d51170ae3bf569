"""A kernel that computes nothing still compiles and can be called."""

import pytest

from kpd.imports.breaking import broken


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
