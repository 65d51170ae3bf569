"""The driver's input values and its arithmetic on half precision, against Python's own. With a real C compiler."""

import itertools
import math
import os
import struct
import subprocess
from pathlib import Path

import pytest

from tests.support.measure.cuda_driver import NATIVE

# What it does is its first argument.
PROGRAM = r"""
#include "numbers.h"
#include <stdio.h>
#include <stdlib.h>
enum { COUNT = 300001 };
static uint32_t values[COUNT];
static void filled(int distribution) {
    static const size_t sizes[] = {4, 2, 2, 4};
    for (int type = 0; type < 4; type++) {
        kpd_rng rng = {42};
        if (type == 0) kpd_fill(&rng, distribution, values, COUNT);
        if (type == 1) kpd_fill_f16(&rng, distribution, values, COUNT);
        if (type == 2) kpd_fill_bf16(&rng, distribution, values, COUNT);
        if (type == 3) kpd_fill_int(&rng, distribution, values, COUNT, -5, 1000);
        fwrite(values, sizes[type], COUNT, stdout);
    }
}
static void widened(void) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float both[2] = {kpd_f16((uint16_t)bits), kpd_bf16((uint16_t)bits)};
        fwrite(both, sizeof both, 1, stdout);
    }
}
static void rounded(void) {
    double value;
    while (fread(&value, sizeof value, 1, stdin)) {
        uint16_t both[2] = {(uint16_t)value_bits(KPD_F16, value), (uint16_t)value_bits(KPD_BF16, value)};
        fwrite(both, sizeof both, 1, stdout);
    }
}
/* Of each byte as either 8-bit type: its value, and to what this and values close to it are rounded. */
static void bytes(void) {
    for (uint32_t bits = 0; bits < 256; bits++) {
        for (int five = 0; five < 2; five++) {
            kpd_type type = five ? KPD_E5M2 : KPD_E4M3;
            float value = five ? kpd_e5m2((uint8_t)bits) : kpd_e4m3((uint8_t)bits);
            double step = copysign(step_at(type, value), value); /* towards 0 it may be half as long */
            unsigned is = value_bits(type, value), out = value_bits(type, value + 0.49 * step);
            unsigned in = value_bits(type, value - 0.24 * step);
            printf("%.17g %u %u %u\n", value, is, out, in);
        }
    }
}
static void integers(int distribution) {
    static const kpd_type types[] = {KPD_I8, KPD_U8, KPD_I16, KPD_I64, KPD_BOOL};
    static const int64_t least[] = {-128, 0, -32768, INT64_MIN, 0};
    static const int64_t most[] = {127, 255, 32767, INT64_MAX, 1};
    for (int t = 0; t < 5; t++) {
        kpd_rng rng = {42};
        static uint64_t into[COUNT];
        kpd_fill_integers(&rng, distribution, types[t], into, 3000, least[t], most[t]);
        for (int i = 0; i < 3000; i++) printf("%d %.0f\n", t, value_of(types[t], into, (size_t)i));
    }
}
int main(int argc, char **argv) {
    if (argv[1][0] == 'f') filled(atoi(argv[2]));
    if (argv[1][0] == 'w') widened();
    if (argv[1][0] == 'r') rounded();
    if (argv[1][0] == 'b') bytes();
    if (argv[1][0] == 'i') integers(atoi(argv[2]));
    return argc < 2;
}
"""
COUNT = 300_001
DISTRIBUTIONS = ["normal", "constant", "heavy_tail", "denormal", "large"]


@pytest.fixture(scope="module", name="program")
def _program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("values")
    (folder / "values_main.c").write_text(PROGRAM)
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-pthread", f"-I{NATIVE}", "values_main.c"]
    subprocess.run(
        [*command, *(f"{NATIVE}/{name}.c" for name in ("crew", "numbers", "values")), "-o", "values", "-lm"],
        cwd=folder,
        check=True,
    )
    return folder / "values"


def filled(program: Path, distribution: int) -> tuple[list[list[float]], list[int]]:
    raw = subprocess.run([program, "f", str(distribution)], capture_output=True, check=True).stdout
    singles = struct.unpack_from(f"<{COUNT}f", raw)
    halves = struct.unpack_from(f"<{COUNT}e", raw, 4 * COUNT)
    brains = [brain(bits) for bits in struct.unpack_from(f"<{COUNT}H", raw, 6 * COUNT)]
    return [list(singles), list(halves), brains], list(struct.unpack_from(f"<{COUNT}i", raw, 8 * COUNT))


def brain(bits: int) -> float:
    """The value of a bfloat16: the upper half of a float."""
    value: float = struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return value


def least_and_most(values: list[float]) -> tuple[float, float]:
    sizes = [abs(value) for value in values]
    return min(sizes), max(sizes)


def test_values_do_not_depend_on_the_number_of_threads(program: Path) -> None:
    """One CPU makes for one thread. 300,001 values are five shares, and end within a block."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs Linux and two CPUs")
    one = min(os.sched_getaffinity(0))
    for distribution in range(len(DISTRIBUTIONS)):
        command = [program, "f", str(distribution)]
        many = subprocess.run(command, capture_output=True, check=True).stdout
        alone = subprocess.run(["taskset", "-c", str(one), *command], capture_output=True, check=True).stdout
        assert len(many) == 12 * COUNT
        assert many == alone


def test_every_kind_of_values_is_what_it_says(program: Path) -> None:
    by_name = {name: filled(program, number) for number, name in enumerate(DISTRIBUTIONS)}
    for values in by_name["normal"][0]:
        assert abs(sum(values) / COUNT) < 0.01
        assert abs(sum(value * value for value in values) / COUNT - 1) < 0.02
        assert 4.0 < max(values) <= 5.95
    single = by_name["normal"][0][0]
    assert len(set(single)) > 0.97 * COUNT  # nobody can have a table of them
    for values in by_name["constant"][0]:
        assert len(set(values)) == 1
        assert 0.5 <= abs(values[0]) <= 2
    for values in by_name["heavy_tail"][0]:
        least, most = least_and_most(values)
        assert least < 0.01 < 1000 < most < 15_000
    for values, least_normal in zip(by_name["denormal"][0], (2.0**-126, 2.0**-14, 2.0**-126), strict=True):
        assert 0.45 < sum(abs(value) < least_normal for value in values) / COUNT < 0.55
    for values, (least, most) in zip(by_name["large"][0], ((1e6, 1e12), (256, 31_100), (1e6, 1e12)), strict=True):
        assert least * 0.99 <= least_and_most(values)[0] <= least_and_most(values)[1] <= most * 1.01
    for name, (reals, integers) in by_name.items():
        assert all(math.isfinite(value) for values in reals for value in values), name
        assert -5 <= min(integers) <= max(integers) <= 1000
    assert {min(by_name["normal"][1]), max(by_name["normal"][1])} == {-5, 1000}
    assert len(set(by_name["constant"][1])) == 1
    assert sorted(by_name["heavy_tail"][1])[COUNT // 2] < 0 < 500 < max(by_name["heavy_tail"][1])
    assert min(by_name["large"][1]) == 1000 - 1006 // 8


def test_blocks_do_not_repeat_each_other(program: Path) -> None:
    values = filled(program, 0)[0][0]
    blocks = {tuple(values[start : start + 8]) for start in range(0, COUNT - 8, 4096)}
    assert len(blocks) == len(range(0, COUNT - 8, 4096))


def test_numbers_of_16_bits_have_the_values_that_python_gives_them(program: Path) -> None:
    raw = subprocess.run([program, "w"], capture_output=True, check=True).stdout
    for bits, (half, brained) in enumerate(struct.iter_unpack("<ff", raw)):
        want = struct.unpack("<e", struct.pack("<H", bits))[0]
        assert half == want or (math.isnan(half) and math.isnan(want)), bits
        assert brained == brain(bits) or (math.isnan(brained) and math.isnan(brain(bits))), bits
        assert math.copysign(1, half) == math.copysign(1, want) or math.isnan(want)


def test_rounding_to_16_bits_is_to_the_nearest_and_ties_to_even(program: Path) -> None:
    """Every half precision number, and what lies between it and the next: a quarter, the middle, three quarters."""
    halves = [struct.unpack("<e", struct.pack("<H", bits))[0] for bits in range(0x7C00)]
    between = [low + (high - low) * part for low, high in itertools.pairwise(halves) for part in (0, 0.25, 0.5, 0.75)]
    values = [sign * value for value in between for sign in (1.0, -1.0)]
    raw = subprocess.run(
        [program, "r"], input=struct.pack(f"<{len(values)}d", *values), capture_output=True, check=True
    )
    for value, (half, brained) in zip(values, struct.iter_unpack("<HH", raw.stdout), strict=True):
        assert half & 0x7FFF == struct.unpack("<H", struct.pack("<e", value))[0] & 0x7FFF
        assert half >> 15 == (math.copysign(1, value) < 0)
        off, below, above = (abs(brain(bits & 0xFFFF) - value) for bits in (brained, brained - 1, brained + 1))
        if brained & 0x7FFF:
            assert off < min(below, above) or (off == min(below, above) and brained % 2 == 0)


def eight_bits(bits: int, exponents: int) -> float:
    """The value of an 8-bit number by its definition; the one with 4 bits of exponent has no infinity."""
    fraction, bias, top = 7 - exponents, 2 ** (exponents - 1) - 1, 2**exponents - 1
    sign, exponent, rest = -1 if bits & 0x80 else 1, bits >> fraction & top, bits & (2**fraction - 1)
    if exponents == 5 and exponent == top:
        return math.nan if rest else sign * math.inf
    if exponents == 4 and bits & 0x7F == 0x7F:
        return math.nan
    least = 2.0 ** (1 - bias - fraction)
    return sign * least * (rest if not exponent else (2**fraction + rest) * 2 ** (exponent - 1))


def test_numbers_of_8_bits_have_their_values_and_are_rounded_to_themselves(program: Path) -> None:
    told = subprocess.run([program, "b"], capture_output=True, check=True, text=True).stdout.splitlines()
    for line, (bits, exponents) in zip(told, itertools.product(range(256), (4, 5)), strict=True):
        value, *again = line.split()
        want = eight_bits(bits, exponents)
        assert float(value) == want or (math.isnan(float(value)) and math.isnan(want)), (bits, exponents)
        if math.isfinite(want) and want:
            assert [int(each) for each in again] == [bits] * 3, (bits, exponents)


def test_integers_of_all_widths_stay_in_their_range_and_reach_its_ends(program: Path) -> None:
    ends = ((-128, 127), (0, 255), (-(2**15), 2**15 - 1), (-(2**63), 2**63), (0, 1))
    for distribution in range(len(DISTRIBUTIONS)):
        told = subprocess.run([program, "i", str(distribution)], capture_output=True, check=True, text=True).stdout
        seen: dict[int, list[int]] = {}
        for line in told.splitlines():
            seen.setdefault(int(line.split()[0]), []).append(int(line.split()[1]))
        for type_, (least, most) in enumerate(ends):
            assert least <= min(seen[type_]) <= max(seen[type_]) <= most
            if DISTRIBUTIONS[distribution] == "normal":
                assert max(seen[type_]) - min(seen[type_]) > 0.99 * (most - least)
