"""The changes that `make mutants` makes: each alone, and none in what is only shown."""

import ast

import pytest

from benchmarks.mutants import mutants


def changed(source: str) -> set[str]:
    return {ast.unparse(tree) for _, _, tree in mutants(ast.parse(source))}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("SHARE = 0.1", {"SHARE = 0.101", "SHARE = 0.2"}),
        ("MOST = 8", {"MOST = 9", "MOST = 16"}),
        ("NONE = 0", {"NONE = 1"}),
        ("x = a < b", {"x = a <= b"}),
        ("x = a is None", {"x = a is not None"}),
        ("x = a and b", {"x = a or b"}),
        ("x = a * b", {"x = a / b"}),
        ("x = max(a)", {"x = min(a)"}),
        ("x = any(a)", {"x = all(a)"}),
        ("x = b if a else c", {"x = b if not a else c"}),
        ("x = f(a, b=c, d=e)", {"x = f(a, d=e)", "x = f(a, b=c)"}),
        ("x = True", {"x = False"}),
        ("x = lambda a: a == b", {"x = lambda a: a != b"}),
        ("x = f'{a + b}'", set()),
        ("@dataclass(frozen=True)\nclass A:\n    pass", set()),
    ],
)
def test_every_change_is_made_alone(source: str, expected: set[str]) -> None:
    assert changed(source) == expected
    assert len(list(mutants(ast.parse(source)))) == len(expected)
