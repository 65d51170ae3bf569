"""What is read of a call at a size of more elements than a number of 32 bits counts."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from kpd.measure import jobs
from kpd.measure.driver.harness import OBJECT
from kpd.measure.driver.overflow import overflow
from kpd.model.sanitizer import ToolReport
from tests.support.measure.measured import Lab, lab
from tests.support.measure.sizes import RIGHT

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()
ENDED = "its process ended with 139"


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with lab(tmp_path_factory.mktemp("overflow")) as ready:
        yield ready


async def read(lab: Lab, folder: Path, script: str, limit_s: float = 30.0) -> ToolReport:
    """Of a driver that does this in place of kpd's."""
    program = folder / "bench"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    built = await lab.build(RIGHT)
    own = jobs.out(lab.host, built.job, OBJECT)
    harness = replace(lab.harness, program=str(program))
    return await overflow(lab.host, harness, built.job, own, f"overflow{next(numbers)}", lab.where, limit_s)


async def test_without_a_device_nothing_is_asked(lab: Lab) -> None:
    built = await lab.build(RIGHT)
    own = jobs.out(lab.host, built.job, OBJECT)
    found = await overflow(lab.host, lab.harness, built.job, own, "on-a-cpu", lab.where, 30.0)
    assert (found.tool, found.cases, found.of, found.errors, found.trouble) == ("overflow", 0, 0, 0, "")


@pytest.mark.parametrize(
    ("script", "cases", "of", "errors", "said"),
    [
        ("echo 'asked n=9'; echo 'seen n=9'", 1, 1, 0, ""),
        ("echo 'no room' >&2", 0, 0, 0, ""),
        ("echo 'asked n=9'; echo 'wrong 12 n=9: y[3] is 1'; echo 'seen n=9'", 1, 1, 12, "n=9: y[3] is 1"),
        ("echo 'asked n=9'; kill -SEGV $$", 1, 1, 1, f"n=9: {ENDED}"),
        ("echo 'asked n=9'; echo 'seen n=9'; echo 'asked n=8'; kill -SEGV $$", 2, 2, 1, f"n=8: {ENDED}"),
        ("echo 'asked n=9'; echo 'seen n=9'; echo 'asked n=8'; echo 'seen n=8'", 2, 2, 0, ""),
    ],
)  # fmt: skip
async def test_what_its_driver_says_is_read(
    lab: Lab, tmp_path: Path, script: str, cases: int, of: int, errors: int, said: str
) -> None:
    found = await read(lab, tmp_path, script)
    assert (found.cases, found.of, found.errors, found.said, found.trouble) == (cases, of, errors, said, "")


async def test_why_its_driver_fails_is_told(lab: Lab, tmp_path: Path) -> None:
    found = await read(lab, tmp_path, "echo 'no device' >&2; exit 2")
    assert (found.cases, found.of, found.errors, found.trouble) == (0, 0, 0, "no device")


async def test_who_takes_too_long_is_not_blamed(lab: Lab, tmp_path: Path) -> None:
    said = "echo 'asked n=9'; echo 'seen n=9'; echo 'asked n=99'"
    found = await read(lab, tmp_path, f"{said}; exec sleep 60", limit_s=1.0)
    assert (found.cases, found.of, found.errors, found.trouble) == (1, 2, 0, "")
