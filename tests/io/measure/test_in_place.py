"""Buffers that a kernel changes in place, outputs of a size known only afterwards, and elements of one byte."""

from collections.abc import AsyncIterator
from statistics import median

import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.c.bench import harness
from kpd.measure.judge import log_ratio
from tests.support.measure.in_place import HARNESS, kernel
from tests.support.measure.measured import Lab, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with lab(tmp_path_factory.mktemp("in_place")) as ready:
        made = await harness(ready.host, ready.tools, {"harness.c": HARNESS.encode()}, 60.0)
        yield Lab(ready.host, ready.tools, made, ready.where)


@pytest.mark.parametrize("after", ["", "if (seen < n) found[seen] = -1;"], ids=["right", "writes what does not count"])
async def test_a_kernel_that_is_right_passes_and_is_timed(lab: Lab, after: str) -> None:
    assert (await lab.check(kernel(after))).worst <= 1
    (sample,) = await lab.time(kernel(), kernel(after))
    assert sample.cases.keys() == {"4001", "63"}


WRONG = {
    "adds twice": ("for (long i = 0; i < n; i++) sum[i] += x[i];", r"sum\[\d+\] is .*, should be"),
    "counts one too many": ("*count += 1;", r"count\[0\] is \d+, should be \d+ \(1 of "),
    "leaves out what it counts": ("if (seen) found[seen - 1] = 0;", r"found\[\d+\] is 0, should be \d+"),
    "is wrong by one in a byte": ("bytes[n / 2] += 1;", r"bytes\[(2000|31)\] is \d+, should be \d+"),
    "writes another number for true": ("flags[1] = 2;", r"flags\[1\] is 2, should be [01]"),
    "writes past a byte's end": ("bytes[n] = 0;", r"wrote past the end of bytes, at bytes\[(4001|63)\]"),
    "writes before a byte's start": ("bytes[-1] = 0;", r"wrote before bytes, at bytes\[-1\]"),
    "changes an input": ("((int8_t *)k)[3] ^= 1;", r"wrote to its input k, at k\[3\]"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_kernel_that_is_wrong_is_told_what_is_wrong(lab: Lab, what: str) -> None:
    after, said = WRONG[what]
    with pytest.raises(CheckFailed, match=said):
        await lab.check(kernel(after))


async def test_a_kernel_that_adds_only_while_it_is_not_timed_is_found_out(lab: Lab) -> None:
    late = kernel("static int calls; if (++calls > 20) for (long i = 0; i < n; i++) sum[i] -= x[i];")
    await lab.check(kernel())
    with pytest.raises(CheckFailed, match=r"sum\[\d+\] is .* \(timed outputs\)"):
        await lab.time(kernel(), late)


async def test_what_restores_the_buffers_is_not_timed(lab: Lab) -> None:
    """Twice the work takes twice the time, although a copy of all buffers costs as much as the work."""
    twice = kernel("for (volatile int r = 0; r < 3; r++) for (long i = 0; i < n; i++) flags[i] = k[i] > 0;")
    (sample,) = await lab.time(twice, kernel())
    assert median(log_ratio(case) for case in sample.cases.values()) > 0.1
