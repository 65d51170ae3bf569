"""The bytes of parameters, by their types."""

import math
import struct

import pytest
from hypothesis import given, strategies as st

from kpd.production.observe.decoding import decode, normal
from kpd.production.observe.record import LaunchParameter


def one(type: str, *raw: bytes) -> tuple[str, tuple[int | float | str, ...]]:
    [found] = decode([[LaunchParameter(0, each)] for each in raw], [type], ["n"])
    return found.kind, found.values


@pytest.mark.parametrize(
    ("type", "code", "value"),
    [
        ("bool", "?", 1), ("char", "b", -3), ("signed char", "b", -128), ("unsigned char", "B", 200),
        ("short", "h", -30_000), ("unsigned short int", "H", 60_000), ("int", "i", -(2**31)),
        ("unsigned", "I", 2**32 - 1),
        ("const long", "q", -(2**63)), ("unsigned long", "Q", 2**64 - 1), ("long long", "q", 5), ("size_t", "Q", 7),
        ("std::uint32_t", "I", 9), ("int8_t", "b", -1), ("double", "d", 0.1), ("__half", "e", 0.5),
    ],
)  # fmt: skip
def test_types_of_c_are_numbers(type: str, code: str, value: int | float) -> None:
    assert one(type, struct.pack(f"<{code}", value)) == ("number", (value,))


def test_a_bfloat16_is_the_upper_half_of_a_float() -> None:
    assert one("__nv_bfloat16", struct.pack("<f", 1.5)[2:]) == ("number", (1.5,))


@pytest.mark.parametrize("type", ["float*", "float const*", "const float *__restrict__", "void (*)(int)", "int [4]"])
def test_pointers_are_addresses(type: str) -> None:
    assert one(type, (0x7F12345678).to_bytes(8, "little")) == ("pointer", ("0x7f12345678",))


@pytest.mark.parametrize(
    ("type", "raw"),
    [("Mode", b"\7\0"), ("", b"\1\2\3\4"), ("int", b"\1\0"), ("float*", b"\1\0\0\0"), ("Pair", bytes(16))],
)
def test_what_no_type_explains_stays_bytes(type: str, raw: bytes) -> None:
    assert one(type, raw) == ("bytes", (f"0x{raw.hex()}",))


def test_a_parameter_is_a_number_in_all_launches_or_in_none() -> None:
    finite, infinite = struct.pack("<f", 1.0), struct.pack("<f", math.inf)
    assert one("float", finite, finite) == ("number", (1.0, 1.0))
    assert one("float", finite, infinite) == ("bytes", ("0x0000803f", "0x0000807f"))


def test_types_and_names_that_are_not_as_many_as_the_parameters_are_not_used() -> None:
    launch = [LaunchParameter(0, bytes(4)), LaunchParameter(4, bytes(4))]
    found = decode([launch], ["int"], ["n"])
    assert [(each.name, each.kind, each.values) for each in found] == [
        ("arg0", "bytes", ("0x00000000",)), ("arg1", "bytes", ("0x00000000",)),
    ]  # fmt: skip


@given(st.permutations(["unsigned", "long", "int", "const"]), st.sampled_from(["", "volatile "]))
def test_the_order_of_the_words_of_a_type_makes_no_difference(words: list[str], more: str) -> None:
    assert normal(more + " ".join(words)) == "unsigned long"


@given(st.text(max_size=40), st.binary(min_size=1, max_size=32))
def test_any_type_and_bytes_give_a_value(type: str, raw: bytes) -> None:
    kind, [value] = one(type, raw)
    assert kind in ("number", "pointer", "bytes") and not (isinstance(value, float) and not math.isfinite(value))
