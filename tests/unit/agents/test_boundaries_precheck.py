"""How many reasons an agent is given at once, and how much of each line."""

from pathlib import Path

import pytest

from kpd.agents.agent import BadReply
from kpd.agents.precheck import precheck
from tests.support.agents.asked import made

KERNEL = "void scale(float *x, long n) { x[n] = 1.0f; }\n"


def refused(folder: Path, after: str) -> str:
    task = made(folder, {"kernel.c": KERNEL, "kernel.h": "void scale(float *x, long n);\n"}, ("kernel.c",), "c")
    with pytest.raises(BadReply) as caught:
        precheck(task, {"kernel.c": KERNEL.encode()}, {"kernel.c": after.encode()})
    return str(caught.value)


@pytest.mark.parametrize(("gaps", "told"), [(1, 1), (6, 6), (7, 6), (50, 6)])
def test_six_reasons_are_told_at_once(tmp_path: Path, gaps: int, told: int) -> None:
    marks = "".join(f"// rest of the kernel unchanged {at}\n" for at in range(gaps))
    assert refused(tmp_path, KERNEL + marks).count("kernel.c:") == told


@pytest.mark.parametrize(("length", "whole"), [(100, True), (101, False)])
def test_a_hundred_characters_of_a_line_are_quoted(tmp_path: Path, length: int, whole: bool) -> None:
    line = "// rest of the kernel unchanged ".ljust(length, "1")
    assert (f'"{line}"' in refused(tmp_path, KERNEL + line)) is whole
