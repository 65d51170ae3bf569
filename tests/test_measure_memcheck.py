"""compute-sanitizer's reports as verdicts; the tool is a script that says what it has said of CUDA programs."""

from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import Incorrect
from kpd.measure.driver.memcheck import memcheck
from tests.measured import RIGHT, Lab, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLEAN = """\
========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
"""
BEYOND = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at blended(const float *, const int *, float *, long)+0x90 in kernel.cu:4
=========     by thread (255,0,0) in block (3,0,0)
=========     Access to 0x7f2c4be00fb0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2c4be00000 of size 4,016 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame:  [0x2f2f] in libcuda.so.1
=========
========= ERROR SUMMARY: 2 errors
"""


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("memcheck")) as ready:
        yield ready


def says(folder: Path, text: str, status: int = 0) -> str:
    """A tool that runs the program as it is told, and writes this to its log; its path."""
    tool = folder / "compute-sanitizer"
    (folder / "said").write_text(text)
    tool.write_text(
        f"""#!/bin/sh
[ "$1 $2 $3 $4 $5 $6 $7" = "--tool memcheck --report-api-errors no --target-processes all --log-file" ] || exit 9
shift 8
"$@" || exit 8
[ -s {folder}/said ] && cp {folder}/said out/memcheck.txt
exit {status}
"""
    )
    tool.chmod(0o755)
    return str(tool)


async def tried(lab: Lab, tool: str, job: str) -> None:
    built = (await lab.build(RIGHT)).job
    await memcheck(lab.host, lab.harness, built, job, tool, lab.where, 30.0)


async def test_a_clean_kernel_passes(lab: Lab, tmp_path: Path) -> None:
    await tried(lab, says(tmp_path, CLEAN), "clean")


async def test_what_it_finds_is_the_candidates_fault(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(Incorrect) as caught:
        await tried(lab, says(tmp_path, BEYOND, 1), "beyond")
    assert str(caught.value) == (
        "compute-sanitizer: Invalid __global__ write of size 4 bytes · at blended(const float *, const int *, float *, "
        "long)+0x90 in kernel.cu:4 · by thread (255,0,0) in block (3,0,0) · Access to 0x7f2c4be00fb0 is out of bounds "
        "(2 errors)"
    )


async def test_a_tool_that_is_missing_or_fails_is_the_hosts_trouble(lab: Lab, tmp_path: Path) -> None:
    for _ in range(2):  # and it is not remembered
        with pytest.raises(HostError, match="compute-sanitizer did not report"):
            await tried(lab, says(tmp_path, "", 1), "fails")
    with pytest.raises(HostError, match="has no compute-sanitizer") as caught:
        await tried(lab, str(tmp_path / "nowhere"), "missing")
    assert caught.value.kind == "no_compiler"
