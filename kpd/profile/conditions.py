"""Parses and evaluates conditions over metrics: `0 < waves < 2, (ipc ≥ 1 or grid ≤ 0.5 · ⌈waves⌉), fma_pct = 0`.

A condition is a list of comparisons of sums and products, with commas between them, which must all hold; `or` is used
in brackets.
"""

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType

_SPELLED = {" = ": " == ", "≥": ">=", "≤": "<=", "·": "*", "⌈": "ceil(", "⌉": ")"}
_KNOWN = (
    ast.Expression, ast.Tuple, ast.Load, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.BinOp, ast.operator,
    ast.Name, ast.Constant, ast.Call,
)  # fmt: skip
_FUNCTIONS = {"__builtins__": {}, "ceil": math.ceil, "min": min, "max": max}


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition. `names` are the metrics that it uses, in their order."""

    names: tuple[str, ...]
    code: CodeType

    @staticmethod
    @cache
    def of(text: str) -> "Condition":
        """Parse a condition. Raises ValueError when the text is not one."""
        spelled = text
        for sign, python in _SPELLED.items():
            spelled = spelled.replace(sign, python)
        try:
            tree = ast.parse(f"({spelled},)", mode="eval")
        except (SyntaxError, RecursionError, MemoryError) as err:
            raise ValueError(f"{text!r} is not a condition") from err
        nodes = list(ast.walk(tree))
        if odd := next((node for node in nodes if not isinstance(node, _KNOWN)), None):
            raise ValueError(f"{text!r} is not a condition: it has {type(odd).__name__} in it")
        found = [node for node in nodes if isinstance(node, ast.Name) and node.id not in _FUNCTIONS]
        names = [node.id for node in sorted(found, key=lambda node: node.col_offset)]
        return Condition(tuple(dict.fromkeys(names)), compile(tree, "condition", "eval"))

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Return whether all comparisons hold. A comparison without a value, such as a division by zero, does not."""
        try:
            return all(eval(self.code, _FUNCTIONS, dict(metrics)))
        except (ArithmeticError, ValueError):
            return False
