"""Decodes the bytes of a kernel's parameters by their types. Pure."""

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kpd.production.observe.record import LaunchParameter

ParameterKind = Literal["number", "pointer", "bytes"]
Value = int | float | str

_FORMATS = {
    "bool": "?", "char": "b", "signed char": "b", "unsigned char": "B", "short": "h", "unsigned short": "H", "int": "i",
    "unsigned int": "I", "long": "q", "unsigned long": "Q", "long long": "q", "unsigned long long": "Q", "float": "f",
    "double": "d", "__half": "e", "half": "e", "char16_t": "H", "char32_t": "I", "wchar_t": "i", "size_t": "Q",
    "ssize_t": "q", "ptrdiff_t": "q", "intptr_t": "q", "uintptr_t": "Q",
    **{f"{sign}int{bits}_t": code.upper() if sign else code
       for sign in ("", "u") for bits, code in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))},
}  # fmt: skip
"""How a type is stored where CUDA runs with 64 bits: on Linux, little-endian."""
_BFLOAT16 = ("__nv_bfloat16", "nv_bfloat16")
_QUALIFIERS = re.compile(r"\b(const|volatile|restrict|__restrict__|__restrict)\b")
_IGNORED = {"const", "volatile", "__restrict__", "__restrict", "restrict", "struct", "enum", "class"}


@dataclass(frozen=True, slots=True)
class DecodedParameter:
    """One parameter in all launches, in their order. Numbers are numbers in every launch, or in none.

    Pointers are "0x…" addresses, bytes of unknown types "0x…" as they lie in memory.
    """

    name: str
    type: str
    size: int
    kind: ParameterKind
    values: tuple[Value, ...]


def decode(
    launches: Sequence[Sequence[LaunchParameter]], types: Sequence[str] | None, names: Sequence[str] | None
) -> tuple[DecodedParameter, ...]:
    """Decode the parameters of launches of one kernel, which has one layout.

    Where `types` do not fit their number, none is known. Likewise with `names`: then they are arg0, arg1, …
    """
    if not launches:
        return ()
    count = len(launches[0])
    known = types if types is not None and len(types) == count else [""] * count
    named = names if names is not None and len(names) == count and all(names) else [f"arg{n}" for n in range(count)]
    return tuple(_decoded(named[at], known[at], [launch[at].data for launch in launches]) for at in range(count))


def _decoded(name: str, type: str, raw: Sequence[bytes]) -> DecodedParameter:
    size = len(raw[0])
    if _is_pointer(type):
        if all(len(one) == 8 for one in raw):
            return DecodedParameter(name, type, size, "pointer", tuple(f"0x{_address(one):x}" for one in raw))
    else:
        numbers = [_number(type, one) for one in raw]
        if all(number is not None for number in numbers):
            return DecodedParameter(name, type, size, "number", tuple(one for one in numbers if one is not None))
    return DecodedParameter(name, type, size, "bytes", tuple(f"0x{one.hex()}" for one in raw))


def _is_pointer(type: str) -> bool:
    return "(*" in type or _QUALIFIERS.sub("", type).rstrip().endswith(("*", "&", "]"))


def _address(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def _number(type: str, raw: bytes) -> int | float | None:
    """Return the number that the bytes are; None for a type that is not C's, another size, and no finite value."""
    base = normal(type)
    if base in _BFLOAT16 and len(raw) == 2:
        return _finite(struct.unpack("<f", b"\0\0" + raw)[0])
    code = _FORMATS.get(base)
    if code is None or struct.calcsize(f"<{code}") != len(raw):
        return None
    return _finite(struct.unpack(f"<{code}", raw)[0])


def _finite(value: int | float) -> int | float | None:
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int) or math.isfinite(value) else None


def normal(type: str) -> str:
    """Return the type's usual spelling: `const long unsigned int` is `unsigned long`."""
    words = [word for word in type.replace("std::", "").split() if word not in _IGNORED]
    base = {"short", "long", "char", "double", "float", "bool"} & set(words)
    if not {"signed", "unsigned", "short", "long", "int"} & set(words):
        return " ".join(words)
    if not set(words) <= {"signed", "unsigned", "short", "long", "int", "char", "double"}:
        return " ".join(words)
    sign = "unsigned " if "unsigned" in words else "signed " if "signed" in words and "char" in words else ""
    if not base:
        return f"{sign}int"
    return sign + " ".join(word for word in words if word in base)
