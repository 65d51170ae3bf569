"""Parses arithmetic over a case's dims for task.toml's [roofline]: names, numbers, + - * / // and parentheses."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

LONGEST = 200

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


class ExprError(ValueError):
    """The error that a text is no allowed expression, or has no finite value; the message says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression; `names` are the dims it needs."""

    text: str
    names: frozenset[str]

    def evaluate(self, dims: Mapping[str, float]) -> float:
        """Compute the value for these dims.

        Raises ExprError for an unknown name, a division by zero or a value that is not finite.
        """
        if missing := sorted(self.names - dims.keys()):
            raise ExprError(f"unknown name {missing[0]!r} in {self.text!r}: a case has {', '.join(sorted(dims))}")
        try:
            value = float(_value(_tree(self.text), dims))
        except (ZeroDivisionError, OverflowError) as err:
            raise ExprError(f"{self.text!r} has no value: {err}") from err
        if not math.isfinite(value):
            raise ExprError(f"{self.text!r} has no finite value")
        return value


def parse(text: str) -> Expression:
    """Parse and check `text`.

    Raises ExprError where a part of it is not allowed, which the message names, or where it can never have a value.
    """
    found = Expression(text, frozenset(_names(_tree(text))))
    if not found.names:
        found.evaluate({})
    return found


def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ExprError(f"longer than {LONGEST} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as err:
        raise ExprError(f"{text!r} is not an expression") from err


def _names(node: ast.expr) -> set[str]:
    match node:
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            return _names(left) | _names(right)
        case ast.UnaryOp(ast.USub(), operand):
            return _names(operand)
        case ast.Name(name):
            return {name}
        case ast.Constant(value) if type(value) in (int, float):
            return set()
    raise ExprError(f"{ast.unparse(node)!r} is not allowed: only names, numbers, + - * / // and parentheses are")


def _value(node: ast.expr, dims: Mapping[str, float]) -> float:
    match node:
        case ast.BinOp(left, op, right):
            return _OPERATORS[type(op)](_value(left, dims), _value(right, dims))
        case ast.UnaryOp(_, operand):
            return -_value(operand, dims)
        case ast.Name(name):
            return dims[name]
        case ast.Constant(int() | float() as number):
            return number
    raise ExprError(f"{ast.unparse(node)!r} is not allowed")
