"""What a kernel asks to have called when it is loaded is called once no code can be made any more, and all is noted."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from kpd.measure.bench import CheckFailed
from kpd.measure.c import layout
from kpd.measure.c.build import build
from kpd.measure.driver.check import check
from kpd.measure.driver.harness import OBJECT
from kpd.measure.jobs import out, words
from tests.support.measure.measured import LOOP, QUICK, SIGNATURE, Lab, kernel, lab

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="the linker of macOS takes no scripts"),
]

BEGINS = """
__attribute__((constructor)) static void third(void) { fputs("third ", stderr); }
__attribute__((constructor(102))) static void second(void) { fputs("second ", stderr); }
__attribute__((constructor(101))) static void first(void) { fputs("first ", stderr); }
static void fourth(void) { fputs("fourth ", stderr); }
__attribute__((section(".init_array"), used)) static void (*begin)(void) = fourth;
"""
SECOND = '#include <stdio.h>\n__attribute__((constructor)) static void fifth(void) { fputs("fifth ", stderr); }\n'


def linked(lab: Lab, job: str, folder: Path) -> Path:
    """An object as a timed process gets it, alone in the folder."""
    to = folder / "placed.so"
    script = layout.link(lab.tools, words([out(lab.host, job, "").rstrip("/")]), "1", words([str(to)]))
    subprocess.run(["sh", "-c", script], check=True)
    assert list(folder.iterdir()) == [to]
    return to


def timed_alone(lab: Lab, path: str, folder: Path) -> tuple[int, bytes]:
    """What the driver says of an object that it times on both sides: its exit status, and its errors."""
    command = [*lab.harness.command(QUICK), "alone", path, path, "a", "6", "20000"]
    done = subprocess.run(command, input=b"0" * 32 + b"\n", capture_output=True, check=False, cwd=folder)
    return done.returncode, done.stderr


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("begins")) as ready:
        yield ready


def called_by_the_loader(path: Path) -> Iterator[str]:
    """Yield the names of the functions that the system's loader calls."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".symtab").iter_symbols()
        names = {one["st_value"]: one.name for one in symbols if one["st_value"]}
        (dynamic,) = (one for one in elf.iter_sections() if isinstance(one, DynamicSection))
        tags = {tag.entry.d_tag: tag.entry.d_val for tag in dynamic.iter_tags()}
        assert "DT_PREINIT_ARRAY" not in tags
        yield names[tags["DT_INIT"]]
        start, end = tags["DT_INIT_ARRAY"], tags["DT_INIT_ARRAY"] + tags["DT_INIT_ARRAYSZ"]
        for entry in elf.get_section_by_name(".rela.dyn").iter_relocations():
            if start <= entry["r_offset"] < end:
                yield names[entry["r_addend"]]


async def built(lab: Lab) -> str:
    """The job of a kernel of two units."""
    tree = await lab.host.stage({"kernel.c": kernel(LOOP, BEGINS).encode(), "second.c": SECOND.encode()})
    return (await build(lab.host, lab.tools, tree, "blend", ("-O2",), 30.0, sources=("kernel.c", "second.c"))).job


async def test_the_systems_loader_calls_no_function_of_a_kernel(lab: Lab, tmp_path: Path) -> None:
    job = await built(lab)
    for path in (Path(out(lab.host, job, OBJECT)), linked(lab, job, tmp_path)):
        assert list(called_by_the_loader(path)) == ["_init", "frame_dummy"]


async def test_what_a_kernel_asks_to_have_called_is_called_in_its_order(lab: Lab) -> None:
    said: list[str] = []
    job = await built(lab)
    await check(lab.host, lab.harness, job, "order", QUICK, lab.where, said.append)
    order = "".join(said).split()
    assert order[:2] == ["first", "second"] and sorted(order[2:]) == ["fifth", "fourth", "third"]


async def test_an_object_that_is_on_both_sides_begins_once(lab: Lab, tmp_path: Path) -> None:
    once = "static int begun; __attribute__((constructor)) static void early(void) { if (begun++) abort(); }"
    path = out(lab.host, (await lab.build(kernel(LOOP, once))).job, OBJECT)
    assert timed_alone(lab, path, tmp_path) == (0, b"")


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);", "crashed with SIGSYS"),
        ("mprotect((void *)blend, 4096, 7);", "crashed with SIGSYS"),
        ("abort();", "crashed with SIGABRT"),
        ("exit(0);", "ended the process"),
        ("for (volatile int i = 0;; i++) {}", "did not return in time"),
    ],
)
async def test_what_goes_wrong_there_is_the_kernels_fault(lab: Lab, does: str, words: str) -> None:
    begin = f"#include <sys/mman.h>\n{SIGNATURE};\n__attribute__((constructor)) static void early(void) {{ {does} }}"
    with pytest.raises(CheckFailed, match=words):
        await lab.check("#define _GNU_SOURCE\n" + kernel(LOOP, begin), replace(QUICK, limit_s=2.0))


STARTS = """#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
static volatile int go, ready;
static pthread_t one;
static void *work(void *given) {{ {first} ready = 1; while (!go) continue; {then} return given; }}
static void begin(void) {{
    setenv("KPD_UNCONFINED", "1", 1);
    pthread_create(&one, NULL, work, NULL);
    while (!ready) continue;
}}
static void nothing(void) {{}}
static void (*resolve(void))(void) {{ begin(); return nothing; }}
static void resolved(void) __attribute__((ifunc("resolve")));
__attribute__((constructor)) static void constructed(void) {{ if (!ready) begin(); }}
"""
FILTERS = """struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){1, &all});"""


@pytest.mark.parametrize(
    ("calls", "first", "words"),
    [
        ("", "", "crashed with SIGSYS"),
        ("", FILTERS, "crashed with SIGSYS"),  # it is told that it cannot
        ("resolved();", "", "crashed with SIGSYS"),
        ("resolved();", FILTERS, "a thread .* filters its system calls"),
    ],
)
async def test_what_a_kernel_starts_when_it_is_loaded_is_bound_as_well(
    lab: Lab, calls: str, first: str, words: str
) -> None:
    """Constructors run once no more code can be made; a resolver runs before."""
    starts = STARTS.format(first=first, then="mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);")
    with pytest.raises(CheckFailed, match=words):
        await lab.check(kernel(f"{calls} go = 1; pthread_join(one, NULL); {LOOP}", starts))
