"""Parses arithmetic and conditions over named numbers, for task.toml's [roofline] and [sweep].

Arithmetic has names, numbers, + - * / // % and parentheses; a condition compares its values, also with `and`, `or`
and `not`. Nothing else is allowed.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 200

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
ARITHMETIC = "names, numbers, + - * / // % and parentheses"


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


@dataclass(frozen=True, slots=True)
class PointCondition:
    """A parsed comparison of the values of parameters; `names` are those it needs."""

    text: str
    names: frozenset[str]

    def holds(self, point: Mapping[str, str]) -> bool:
        """Return whether the condition holds for these values, which are numbers where they look like some.

        Where it has no value, as after a division by zero or with a word in arithmetic, it does not.
        """
        try:
            return _truth(_tree(self.text), {name: _number(point[name]) for name in self.names})
        except (ZeroDivisionError, OverflowError, TypeError):
            return False


def parse(text: str) -> Expression:
    """Parse and check `text`.

    Raises ExprError where a part of it is not allowed, which the message names, or where it can never have a value.
    """
    found = Expression(text, frozenset(_names(_tree(text))))
    if not found.names:
        found.evaluate({})
    return found


def condition(text: str) -> PointCondition:
    """Parse and check a condition. Raises ExprError where a part of it is not allowed, which the message names."""
    return PointCondition(text, frozenset(_names_in(_tree(text))))


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
    raise ExprError(f"{ast.unparse(node)!r} is not allowed: only {ARITHMETIC} are")


def _names_in(node: ast.expr) -> set[str]:
    match node:
        case ast.BoolOp(_, parts):
            return set().union(*map(_names_in, parts))
        case ast.UnaryOp(ast.Not(), operand):
            return _names_in(operand)
        case ast.Compare(left, comparisons, others) if all(type(one) in _COMPARISONS for one in comparisons):
            return set().union(*(set() if _is_text(part) else _names(part) for part in (left, *others)))
    raise ExprError(f"{ast.unparse(node)!r} is no condition: compare {ARITHMETIC} with < <= > >= == or !=")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _truth(node: ast.expr, values: Mapping[str, Any]) -> bool:
    match node:
        case ast.BoolOp(ast.And(), parts):
            return all(_truth(part, values) for part in parts)
        case ast.BoolOp(_, parts):
            return any(_truth(part, values) for part in parts)
        case ast.UnaryOp(_, operand):
            return not _truth(operand, values)
        case ast.Compare(left, comparisons, others):
            found = [_value(part, values) for part in (left, *others)]
            pairs = zip(found, comparisons, found[1:], strict=False)
            return all(_COMPARISONS[type(how)](one, other) for one, how, other in pairs)
    raise ExprError(f"{ast.unparse(node)!r} is not allowed")


def _value(node: ast.expr, dims: Mapping[str, Any]) -> Any:
    match node:
        case ast.BinOp(left, op, right):
            operands = _value(left, dims), _value(right, dims)
            if any(isinstance(one, str) for one in operands):  # Python would repeat a text, or format it
                raise TypeError(f"arithmetic with a text in {ast.unparse(node)!r}")
            return _OPERATORS[type(op)](*operands)
        case ast.UnaryOp(_, operand):
            return -_value(operand, dims)
        case ast.Name(name):
            return dims[name]
        case ast.Constant(int() | float() | str() as value):
            return value
    raise ExprError(f"{ast.unparse(node)!r} is not allowed")


def _number(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
