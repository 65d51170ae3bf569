"""Objects that are linked anew: other addresses each time, the same code, and whose fault it is when that fails."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.c import layout
from kpd.measure.c.build import build
from kpd.measure.compiling import BuildError
from kpd.measure.driver.timing import time_pair
from kpd.measure.jobs import out
from kpd.measure.run_context import RunContext
from kpd.measure.samples import ProcessSample
from tests.support.measure.measured import FEW, LOOP, QUICK, RIGHT, Lab, kernel, lab

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="the linker of macOS takes no scripts"),
]

HELPED = kernel(
    f"scale = 2.0f; calls++; part(x, y, n); {LOOP}",
    "float scale = 1.0f; static long calls; const float table[3] = {1.0f, 2.0f, 3.0f};\n"
    "__attribute__((noinline)) void part(const float *x, float *y, long n) {\n"
    "    y[n - 1] = x[0] * scale * table[calls % 3];\n}",
)
ODD = kernel(
    f"per_thread++; kept[0] = 1; y[0] = far(x[0]) + near(x[1]) + weak(x[0]); {LOOP}",
    '__attribute__((section("my.own"), noinline)) static float far(float x) { return x; }\n'
    '__attribute__((section(".text.odd-name"), noinline)) static float near(float x) { return x; }\n'
    "__attribute__((weak, aligned(4096), noinline)) float weak(float x) { return x + 1.0f; }\n"
    '__attribute__((section(".data.mine"))) int kept[3] = {1, 2, 3};\n'
    "__thread int per_thread; __attribute__((constructor)) static void early(void) { kept[1]++; }",
)


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("layout")) as ready:
        yield ready


def functions(linked: Path) -> list[tuple[str, int]]:
    """The kernel's functions in a linked object, of all copies, with their addresses."""
    said = subprocess.run(["nm", linked], check=True, capture_output=True, text=True).stdout
    found = [line.split() for line in said.splitlines()]
    return [(words[2], int(words[0], 16)) for words in found if words[-1].startswith(("blend", "part"))]


def link(lab: Lab, built: str, seed: int, to: Path) -> dict[str, int]:
    folder = shlex.quote(out(lab.host, built, "").rstrip("/"))
    subprocess.run(["sh", "-c", layout.link(lab.tools, folder, str(seed), shlex.quote(str(to)))], check=True)
    return {name: address for name, address in functions(to) if name != "part"}


def bytes_of(lab: Lab, built: str) -> Path:
    return Path(out(lab.host, built, ""))


async def test_each_number_draws_other_addresses_and_the_same_number_the_same(lab: Lab, tmp_path: Path) -> None:
    built = (await lab.build(HELPED)).job
    first, second = link(lab, built, 1, tmp_path / "1.so"), link(lab, built, 2, tmp_path / "2.so")
    names = {f"blend.{number}" for number in range(layout.COPIES)}
    assert names == first.keys() == second.keys()
    assert sum(first[name] != second[name] for name in names) >= layout.COPIES - 1
    assert len({address % 4096 for address in first.values()}) > layout.COPIES / 2
    assert all(address % 16 == 0 for address in first.values())
    again = tmp_path / "folder" / "1.so"
    again.parent.mkdir()
    assert link(lab, built, 1, again) == first
    assert again.read_bytes() == (tmp_path / "1.so").read_bytes()


async def test_functions_of_a_copy_lie_together_in_either_order(lab: Lab, tmp_path: Path) -> None:
    built = (await lab.build(HELPED)).job
    link(lab, built, 3, tmp_path / "3.so")
    names = [name.split(".")[0] for name, _ in sorted(functions(tmp_path / "3.so"), key=lambda found: found[1])]
    pairs = set(zip(names[::2], names[1::2], strict=True))
    assert pairs == {("blend", "part"), ("part", "blend")}


@pytest.mark.parametrize("source", [HELPED, ODD], ids=["helped", "odd"])
async def test_a_kernel_of_several_sections_is_right_in_every_layout(lab: Lab, source: str) -> None:
    for sample in await lab.time(RIGHT, source, processes=3):
        assert all(case.layouts == FEW.quads for case in sample.cases.values())


async def test_an_object_with_large_tables_gets_fewer_copies(lab: Lab) -> None:
    big = kernel(LOOP, "#define TEN(x) x, x, x, x, x, x, x, x, x, x\nconst char table[1500000] = {1};")
    folder = bytes_of(lab, (await lab.build(big)).job)
    assert len(list(folder.glob("copy*.o"))) == 2
    huge = kernel(LOOP, "const char table[5000000] = {1};")
    assert len(list(bytes_of(lab, (await lab.build(huge)).job).glob("copy*.o"))) == 1


def paired(lab: Lab, job: str, program: str, built: str, processes: int) -> AsyncGenerator[ProcessSample]:
    harness = replace(lab.harness, program=program)
    place = layout.placed(lab.host, lab.tools)
    return time_pair(lab.host, harness, built, built, job, 0, processes, FEW, QUICK, place=place)


CASE = '"reps":1,"a_ns":[1,2],"b_ns":[3,4],"lost_ns":0,"steal_ticks":0,"threads":1'


async def test_every_process_sees_other_addresses_and_another_environment(lab: Lab, tmp_path: Path) -> None:
    driver = tmp_path / "driver"
    driver.write_text(
        "#!/bin/sh\nwhile [ $1 != time ]; do shift; done\n"
        f"nm $2 | grep 'blend.0$' >>{tmp_path}/a\nnm $3 | grep 'blend.0$' >>{tmp_path}/b\n"
        f'echo "${{#KPD_LAYOUT}}" >>{tmp_path}/pads\necho \'{{"cases":{{"4096":{{{CASE}}}}},"problem":null}}\'\n'
    )
    driver.chmod(0o755)
    built = (await lab.build(RIGHT)).job
    assert len([sample async for sample in paired(lab, "seen", str(driver), built, 4)]) == 4
    seen = [*(tmp_path / "a").read_text().splitlines(), *(tmp_path / "b").read_text().splitlines()]
    assert len(set(seen)) >= 7, "of eight links, two may draw the same place"
    pads = [int(line) for line in (tmp_path / "pads").read_text().split()]
    assert len(set(pads)) >= 3
    assert all(1 <= pad <= 4096 for pad in pads)


async def test_a_candidate_that_only_links_as_it_stands_does_not_build(lab: Lab) -> None:
    taken = kernel(LOOP, '__asm__(".text\\n.globl blend.1\\nblend.1: ret\\n");')
    with pytest.raises(
        BuildError, match=r"links, but not with its functions and data moved .*GNU ld: .*blend\.1"
    ) as caught:
        await lab.build(taken)
    assert caught.value.kind == "structural"


async def test_a_host_without_objcopy_is_told_what_to_install(lab: Lab, tmp_path: Path) -> None:
    for name in ("gcc", "cc", "as", "ld", "sh", "sed", "sort", "wc", "awk", "rm", "mkdir", "cat"):
        if found := shutil.which(name):
            (tmp_path / name).symlink_to(found)
    tree = await lab.host.stage({"kernel.c": (RIGHT + "/* without objcopy */").encode()})
    without = RunContext(env={"PATH": str(tmp_path)})
    with pytest.raises(HostError, match="objcopy: not found: install GNU binutils") as caught:
        await build(lab.host, lab.tools, tree, "blend", ("-O2",), 30.0, where=without)
    assert caught.value.kind == "no_compiler"


async def test_a_link_that_fails_between_processes_is_the_hosts_trouble(lab: Lab) -> None:
    built = (await lab.build(RIGHT + "/* its copies go */")).job
    folder = bytes_of(lab, built)
    for copy in folder.glob("copy*.o"):
        copy.write_bytes(b"no object")
    with pytest.raises(HostError, match=r"could not be linked for a timing process: [^ ]") as caught:
        _ = [sample async for sample in paired(lab, "unlinked", lab.harness.program, built, 1)]
    assert caught.value.kind == "host"
    (folder / layout.SECTIONS).unlink()
    with pytest.raises(HostError, match="gone") as caught:
        _ = [sample async for sample in paired(lab, "unlisted", lab.harness.program, built, 1)]
    assert caught.value.kind == "not_found"
