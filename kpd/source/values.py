"""Computes with numbers as C does, and never guesses: an uncertain value raises Unknown, with the reason."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

LARGEST = 2**63 - 1


class Unknown(Exception):
    """A value that cannot be told; the text says why."""


class Dim3(NamedTuple):
    """The size of a grid or of a block."""

    x: int
    y: int = 1
    z: int = 1

    def __str__(self) -> str:
        return f"{self.x} x {self.y} x {self.z}"


class Array(NamedTuple):
    """An array, its elements by their index."""

    items: tuple["Value", ...]


class StructValue(NamedTuple):
    """A struct whose fields are known by name."""

    fields: Mapping[str, "Value"]


Value = int | float | Dim3 | Array | StructValue

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)[uUlLzZ]{0,3}")
_DOUBLE = re.compile(r"(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?")
_BITS = {
    "char": (True, 8), "signed char": (True, 8), "unsigned char": (False, 8), "int8_t": (True, 8),
    "uint8_t": (False, 8),
    "short": (True, 16), "unsigned short": (False, 16), "int16_t": (True, 16), "uint16_t": (False, 16),
    "int": (True, 32), "signed": (True, 32), "signed int": (True, 32), "unsigned": (False, 32),
    "unsigned int": (False, 32), "uint": (False, 32), "int32_t": (True, 32), "uint32_t": (False, 32),
    "u32": (False, 32), "long": (True, 64), "long int": (True, 64), "long long": (True, 64),
    "long long int": (True, 64), "unsigned long": (False, 64), "unsigned long int": (False, 64),
    "unsigned long long": (False, 64), "int64_t": (True, 64), "uint64_t": (False, 64), "size_t": (False, 64),
    "ptrdiff_t": (True, 64), "u64": (False, 64),
}  # fmt: skip
SIZES = {
    "bool": 1, "half": 2, "__half": 2, "__half2": 4, "__nv_bfloat16": 2, "float": 4, "float2": 8, "float4": 16,
    "double": 8, "double2": 16, "int2": 8, "int4": 16, "uint2": 8, "uint4": 16,
    **{name: bits // 8 for name, (_, bits) in _BITS.items()},
}  # fmt: skip
_NO_MEANING = frozenset(
    ("const", "constexpr", "static", "inline", "volatile", "extern", "register", "mutable", "std", "::")
)
_WORDS = frozenset(word for name in (*SIZES, "auto") for word in name.split()) | {"const", "std", "::"}


def number(text: str) -> int | float:
    """Parse a literal. Raises Unknown for one that kpd does not follow."""
    plain = text.replace("'", "")
    if match := _INTEGER.fullmatch(plain):
        digits = match[1]
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        return checked(int(digits, 8) if octal else int(digits, 0))
    if _DOUBLE.fullmatch(plain):
        return float(plain)
    if plain[-1:] in "fF" and _DOUBLE.fullmatch(plain[:-1]):
        raise Unknown(f"{text} is in single precision, whose rounding is not followed here")
    raise Unknown(f"{text} is not a number that is understood here")


def checked(value: int) -> int:
    if abs(value) > LARGEST:
        raise Unknown(f"{value:.3e} does not fit 64 bits")
    return value


def numeric(value: Value) -> int | float:
    if isinstance(value, int | float):
        return value
    raise Unknown("a number is needed where there is none")


def integer(value: Value) -> int:
    found = numeric(value)
    if isinstance(found, float):
        raise Unknown(f"{found} is not an integer")
    return int(found)


def kind_of(type: str) -> str:
    """Return the type without the words that make no difference to a value."""
    words = [word for word in re.findall(r"::|\w+|[^\w\s]", type) if word not in _NO_MEANING]
    return " ".join(words).removesuffix(" &").strip()


def plain(type: str) -> bool:
    """Return whether the text consists only of words of types, so that a cast can name it."""
    words = re.findall(r"::|\w+|[^\w\s]", type)
    return bool(words) and all(word in _WORDS for word in words)


def converted(type: str, value: Value) -> Value:
    """Convert `value` to a type, as C does on assignment. Raises Unknown where the result is not certain."""
    kind = kind_of(type)
    if kind == "dim3":
        return dim3((value,)) if isinstance(value, int | float) else value
    if not isinstance(value, int | float):
        return value
    if kind == "bool":
        return int(value != 0)
    if kind == "double":
        return float(value)
    if kind == "float":
        raise Unknown("a float rounds in single precision, which is not followed here")
    if kind not in _BITS:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise Unknown(f"{value} is not an integer")
    signed, bits = _BITS[kind]
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    whole = math.trunc(value)
    if not least <= whole <= most:
        raise Unknown(f"{whole} does not fit {kind}")
    return whole


def dim3(given: Sequence[Value]) -> Dim3:
    """Build the size of a grid or block from up to three values. Raises Unknown."""
    if len(given) == 1 and isinstance(given[0], Dim3):
        return given[0]
    if len(given) > 3:
        raise Unknown("a dim3 has three sizes")
    sizes = tuple(integer(converted("unsigned", value)) for value in given)
    return Dim3(*sizes) if sizes else Dim3(1)


def _divided(a: int | float, b: int | float) -> int | float:
    if b == 0:
        raise Unknown("divides by zero")
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _left_over(a: int | float, b: int | float) -> int:
    x, y = integer(a), integer(b)
    return x - y * integer(_divided(x, y))


def _less(a: int | float, b: int | float) -> int | float:
    """Subtract. Raises Unknown below zero: for unsigned types C wraps there, and the types are not known here."""
    if a < b:
        raise Unknown(f"{a} - {b} is below zero, which means another number in some types")
    return a - b


def _shifted(a: int | float, b: int | float, left: bool) -> int:
    x, by = integer(a), integer(b)
    if not 0 <= by < 64 or x < 0:
        raise Unknown(f"shifts {x} by {by}")
    return x << by if left else x >> by


BINARY: dict[str, tuple[int, Callable[[int | float, int | float], int | float]]] = {
    "||": (1, lambda a, b: int(bool(a) or bool(b))),
    "&&": (2, lambda a, b: int(bool(a) and bool(b))),
    "|": (3, lambda a, b: integer(a) | integer(b)),
    "^": (4, lambda a, b: integer(a) ^ integer(b)),
    "&": (5, lambda a, b: integer(a) & integer(b)),
    "==": (6, lambda a, b: int(a == b)),
    "!=": (6, lambda a, b: int(a != b)),
    "<": (7, lambda a, b: int(a < b)),
    ">": (7, lambda a, b: int(a > b)),
    "<=": (7, lambda a, b: int(a <= b)),
    ">=": (7, lambda a, b: int(a >= b)),
    "<<": (8, lambda a, b: _shifted(a, b, True)),
    ">>": (8, lambda a, b: _shifted(a, b, False)),
    "+": (9, lambda a, b: a + b),
    "-": (9, lambda a, b: _less(a, b)),
    "*": (10, lambda a, b: a * b),
    "/": (10, _divided),
    "%": (10, _left_over),
}
"""Operators, with their precedence and their function."""


def combine(operator: str, a: Value, b: Value) -> int | float:
    """Apply a binary operator. Raises Unknown."""
    found = BINARY[operator][1](numeric(a), numeric(b))
    return checked(found) if isinstance(found, int) else found


def _rounded(how: Callable[[float], int]) -> Callable[..., Value]:
    def rounded(value: Value) -> float:
        found = numeric(value)
        if not math.isfinite(found):
            raise Unknown(f"{found} cannot be rounded")
        return float(how(found))

    return rounded


def _kpd_dim3(sizes: Value) -> Dim3:
    if not isinstance(sizes, Array):
        raise Unknown("kpd_dim3 takes the grid or the block of a case")
    return Dim3(*(integer(size) or 1 for size in sizes.items))


_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Value]]] = {
    "min": (2, 2, lambda a, b: min(numeric(a), numeric(b))),
    "max": (2, 2, lambda a, b: max(numeric(a), numeric(b))),
    "umin": (2, 2, lambda a, b: min(integer(a), integer(b))),
    "umax": (2, 2, lambda a, b: max(integer(a), integer(b))),
    "ceil": (1, 1, _rounded(math.ceil)),
    "floor": (1, 1, _rounded(math.floor)),
    "abs": (1, 1, lambda a: abs(numeric(a))),
    "dim3": (0, 3, lambda *sizes: dim3(sizes)),
    "kpd_dim3": (1, 1, _kpd_dim3),
}
"""Known functions that no source defines: least and most arguments, and the result; kpd_dim3 is in kpd_task.h."""


def builtin(name: str, given: Sequence[Value]) -> Value:
    """Call a known function. Raises Unknown for any other, and for a wrong number of arguments."""
    least, most, function = _FUNCTIONS.get(name, (0, 0, None))
    if function is None:
        raise Unknown(f"what {name}() returns is not known here")
    if not least <= len(given) <= most:
        raise Unknown(f"{name}() of {len(given)} values")
    return function(*given)
