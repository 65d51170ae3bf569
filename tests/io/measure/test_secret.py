"""The driver's secret numbers: from a key, each by itself."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

NATIVE = files("kpd") / "measure" / "native"
# A counter's numbers, and as many of a generator that the harness could have seeded with the first of them.
MAIN = """
#include "driver.h"
#include <stdio.h>
int main(void) {
    if (!secret_read()) return 2;
    for (int i = 0; i < 4; i++) printf("%016llx\\n", (unsigned long long)secret_draw());
    return 0;
}
"""
KEY = "07060504030201000f0e0d0c0b0a0908"
"""That of the vectors of SipHash's authors: bytes 0 to 15."""


@pytest.fixture(scope="module", name="program")
def _program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secret")
    (folder / "main.c").write_text(MAIN)
    compiler = shutil.which("cc")
    assert compiler is not None
    sources = [str(folder / "main.c"), str(NATIVE / "secret.c")]
    subprocess.run([compiler, "-D_GNU_SOURCE", f"-I{NATIVE}", *sources, "-o", str(folder / "draw")], check=True)
    return folder / "draw"


def drawn(program: Path, key: str) -> list[str]:
    return subprocess.run([program], input=key, capture_output=True, text=True, check=True).stdout.split()


def rotated(x: int, by: int) -> int:
    return (x << by | x >> (64 - by)) & (1 << 64) - 1


def siphash(key: tuple[int, int], message: bytes) -> int:
    """SipHash-2-4 as its authors describe it, of a message of whole words."""
    mask = (1 << 64) - 1
    v = [key[i % 2] ^ start for i, start in enumerate(
        (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    )]  # fmt: skip

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & mask
            v[1] = rotated(v[1], 13) ^ v[0]
            v[0] = rotated(v[0], 32)
            v[2] = (v[2] + v[3]) & mask
            v[3] = rotated(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask
            v[3] = rotated(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask
            v[1] = rotated(v[1], 17) ^ v[2]
            v[2] = rotated(v[2], 32)

    words = [int.from_bytes(message[at : at + 8], "little") for at in range(0, len(message), 8)]
    for word in [*words, len(message) << 56 & mask]:
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_the_model_is_that_of_the_authors() -> None:
    assert siphash((0x0706050403020100, 0x0F0E0D0C0B0A0908), bytes(range(8))) == 0x93F5F5799A932462


def test_each_number_is_a_hash_of_its_place_under_the_key(program: Path) -> None:
    key = int(KEY[:16], 16), int(KEY[16:], 16)
    assert drawn(program, KEY) == [f"{siphash(key, i.to_bytes(8, 'little')):016x}" for i in range(4)]


def test_all_bits_of_the_key_count(program: Path) -> None:
    keys = [KEY, KEY[:-1] + "9", "1" + KEY[1:], KEY[:16]]
    assert len({drawn(program, key)[0] for key in keys}) == len(keys)


def test_there_are_no_numbers_without_a_key(program: Path) -> None:
    assert subprocess.run([program], input="", capture_output=True, check=False).returncode == 2
