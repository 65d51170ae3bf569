"""compute-sanitizer's reports as verdicts; the tool is a script that says what it has said of CUDA programs."""

from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed
from kpd.measure.driver.check import memcheck
from tests.support.measure.measured import RIGHT, Lab, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLEAN = """\
========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
"""
# compute-sanitizer 2025.3.1 on an H100
BEYOND = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at blended(const float *, const int *, float *, long)+0x240 in kernel.cu:4
=========     by thread (42,0,0) in block (78,0,0)
=========     Access to 0x7fdc148138ac is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7fdc14800000 of size 80044 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: blended [0xdc8a] in kernel.so
=========
========= Target application returned an error
========= ERROR SUMMARY: 1 error
"""


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("memcheck")) as ready:
        yield ready


def says(folder: Path, text: str, status: int = 0, heard: str = "") -> str:
    """A tool that runs the program as it is told, writes this to its log and on stderr what is `heard`; its path."""
    tool = folder / "compute-sanitizer"
    (folder / "said").write_text(text)
    tool.write_text(
        f"""#!/bin/sh
[ "$1 $2 $3 $4 $5 $6 $7" = "--tool memcheck --padding 1048576 --report-api-errors no --log-file" ] || exit 9
shift 8
"$@" || exit 8
[ -s {folder}/said ] && cp {folder}/said out/memcheck.txt
echo "{heard}" >&2
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
    with pytest.raises(CheckFailed) as caught:
        await tried(lab, says(tmp_path, BEYOND, 1), "beyond")
    assert str(caught.value) == (
        "compute-sanitizer: Invalid __global__ read of size 4 bytes · at blended(const float *, const int *, float *, "
        "long)+0x240 in kernel.cu:4 · by thread (42,0,0) in block (78,0,0) · Access to 0x7fdc148138ac is out of bounds "
        "(1 error)"
    )


async def test_a_tool_that_is_missing_or_fails_is_the_hosts_trouble(lab: Lab, tmp_path: Path) -> None:
    for _ in range(2):  # and it is not remembered
        with pytest.raises(HostError, match="compute-sanitizer did not see every case: cat: out"):
            await tried(lab, says(tmp_path, "", 1), "fails")
    with pytest.raises(HostError, match="has no compute-sanitizer") as caught:
        await tried(lab, str(tmp_path / "nowhere"), "missing")
    assert caught.value.kind == "no_compiler"


@pytest.mark.parametrize(("text", "job"), [(CLEAN, "ended"), ("", "forged")])
async def test_a_program_that_did_not_come_to_its_end_has_not_passed(
    lab: Lab, tmp_path: Path, text: str, job: str
) -> None:
    """As where the kernel needs more registers under the tool than there are. What is on stderr is no report."""
    heard = "========= ERROR SUMMARY: 0 errors\nkpd driver: cudaErrorLaunchOutOfResources"
    tool = says(tmp_path, text, 2, heard)
    with pytest.raises(HostError, match=r"did not see every case: .*cudaErrorLaunchOutOfResources"):
        await tried(lab, tool, job)
