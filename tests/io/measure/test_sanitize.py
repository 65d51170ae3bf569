"""What compute-sanitizer says, as reports; the tool is a script that says what it has said of CUDA programs."""

from pathlib import Path

import pytest

from kpd.measure.driver.sanitize import MOST_SAID, present, sanitize
from kpd.model.sanitizer import Tool, ToolReport
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


# as its manual shows them
RACES = """\
========= COMPUTE-SANITIZER
========= Warning: Race reported between Read access at 0x230 in sum(int *)
=========     and Write access at 0x200 in sum(int *) [16 hazards]
=========
========= Error: Race reported between Write access at 0x460 in sum(int *)
=========     and Read access at 0x4a0 in sum(int *) [8192 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
WARNS = """\
========= COMPUTE-SANITIZER
========= Warning: Race reported between Read access at 0x230 in sum(int *)
=========     and Write access at 0x200 in sum(int *) [16 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
"""
WITHIN = (
    "Warning: Race reported between Read access at 0x230 in sum(int *)"
    " · and Write access at 0x200 in sum(int *) [16 hazards]"
)
NO_RACE = """\
========= COMPUTE-SANITIZER
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
"""
UNREAD = """\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at blended(const float *, long)+0x70 in kernel.cu:4
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x7f5ba1200000 is 0 bytes into allocation at 0x7f5ba1200000 of size 4 bytes
=========
========= ERROR SUMMARY: 2 errors
"""


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("sanitize")) as ready:
        yield ready


OPTIONS = {
    "memcheck": "--tool memcheck --padding 1048576 --report-api-errors no --log-file",
    "initcheck": "--tool initcheck --log-file",
    "racecheck": "--tool racecheck --racecheck-report analysis --log-file",
}


def says(folder: Path, text: str, status: int = 0, heard: str = "", lasts: str = "0") -> str:
    """A tool that runs the program as it is told, writes this to its log and on stderr what is `heard`; its path."""
    tool = folder / "compute-sanitizer"
    (folder / "said").write_text(text)
    tool.write_text(
        f"""#!/bin/sh
case "$*" in
  --version) exit 0 ;;
  "{OPTIONS["memcheck"]} "*) shift 7 ;;
  "{OPTIONS["initcheck"]} "*) shift 3 ;;
  "{OPTIONS["racecheck"]} "*) shift 5 ;;
  *) exit 9 ;;
esac
log=$1; shift
"$@" || exit 8
[ ! -s {folder}/said ] || cp {folder}/said "$log"
echo "{heard}" >&2
sleep {lasts}
exit {status}
"""
    )
    tool.chmod(0o755)
    return str(tool)


async def seen(lab: Lab, program: str, job: str, tool: Tool = "memcheck", limit_s: float = 30.0) -> ToolReport:
    built = (await lab.build(RIGHT)).job
    return await sanitize(lab.host, lab.harness, built, job, program, tool, lab.where, limit_s)


@pytest.mark.parametrize(("tool", "text"), [("memcheck", CLEAN), ("initcheck", CLEAN), ("racecheck", NO_RACE)])
async def test_a_clean_kernel_passes(lab: Lab, tmp_path: Path, tool: Tool, text: str) -> None:
    found = await seen(lab, says(tmp_path, text), f"clean-{tool}", tool)
    assert (found.cases, found.of, found.errors, found.trouble, found.said) == (found.of, found.of, 0, "", "")
    assert found.of > 0


@pytest.mark.parametrize(
    ("tool", "text", "errors", "said"),
    [
        (
            "memcheck", BEYOND, 1,
            "Invalid __global__ read of size 4 bytes · at blended(const float *, const int *, float *, long)+0x240 in "
            "kernel.cu:4 · by thread (42,0,0) in block (78,0,0) · Access to 0x7fdc148138ac is out of bounds",
        ),
        (
            "initcheck", UNREAD, 2,
            "Uninitialized __global__ memory read of size 4 bytes · at blended(const float *, long)+0x70 in kernel.cu:4"
            " · by thread (0,0,0) in block (0,0,0) · Access to 0x7f5ba1200000 is 0 bytes into allocation at"
            " 0x7f5ba1200000 of size 4 bytes",
        ),
        (
            "racecheck", RACES, 2,
            f"{WITHIN} · Error: Race reported between Write access at 0x460 in sum(int *)"
            " · and Read access at 0x4a0 in sum(int *) [8192 hazards]",
        ),
        ("racecheck", WARNS, 1, WITHIN),
    ],
)  # fmt: skip
async def test_what_it_finds_is_told_in_its_words(
    lab: Lab, tmp_path: Path, tool: Tool, text: str, errors: int, said: str
) -> None:
    found = await seen(lab, says(tmp_path, text, 1), f"finds-{tool}-{errors}", tool)
    assert (found.errors, found.said) == (errors, said)


async def test_what_a_kernel_makes_it_say_is_one_line_and_short(lab: Lab, tmp_path: Path) -> None:
    """The name of a kernel is the candidate's text."""
    hostile = BEYOND.replace("blended", "\x1b[2J\u202e" + "x" * 5000)
    found = await seen(lab, says(tmp_path, hostile, 1), "hostile")
    assert found.said.isprintable() and len(found.said) <= MOST_SAID


@pytest.mark.parametrize(("text", "heard"), [("", ""), (CLEAN, "kpd driver: cudaErrorLaunchOutOfResources")])
async def test_a_program_that_did_not_come_to_its_end_has_not_passed(
    lab: Lab, tmp_path: Path, text: str, heard: str
) -> None:
    """As where the kernel needs more registers under the tool than there are. What is on stderr is no report."""
    heard = f"========= ERROR SUMMARY: 0 errors\n{heard}"
    found = await seen(lab, says(tmp_path, text, 2, heard), f"ended-{bool(text)}")
    assert found.trouble and found.trouble in heard.replace("\n", " · "), found
    gone = await seen(lab, str(tmp_path / "nowhere"), f"gone-{bool(text)}")
    assert (gone.cases, gone.trouble) == (0, "compute-sanitizer is gone")


async def test_one_that_is_out_of_time_tells_what_it_saw(lab: Lab, tmp_path: Path) -> None:
    found = await seen(lab, says(tmp_path, CLEAN, lasts="9"), "slow", limit_s=1.5)
    assert (found.errors, found.trouble) == (0, "")
    assert found.seconds < 6
    late = await seen(lab, says(tmp_path, BEYOND, lasts="9"), "slow-wrong", limit_s=1.5)
    assert late.errors == 1, "what it had said by then counts"


@pytest.mark.parametrize("status", [124, 137])
async def test_a_program_that_ends_as_if_out_of_time_is_not(lab: Lab, tmp_path: Path, status: int) -> None:
    """A kernel can end its process so, and so can a host that is short of memory."""
    found = await seen(lab, says(tmp_path, "", status), f"as-if-{status}")
    assert found.trouble == f"it ended with {status}"


async def test_it_is_looked_for_beside_nvcc(lab: Lab, tmp_path: Path) -> None:
    tool = says(tmp_path, CLEAN)
    assert await present(lab.host, tool) == tool
    assert await present(lab.host, str(tmp_path / "elsewhere" / "compute-sanitizer")) == ""
