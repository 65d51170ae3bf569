"""Builds with the machine's own compiler: the object, its listing, the cache, and errors that an agent can use."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.c.bench import harness
from kpd.measure.c.build import ASSEMBLY, REMARKS, build, candidate_flags
from kpd.measure.c.toolchain import choose
from kpd.measure.compiling import BuildError, first_error, kind_of, useful
from kpd.measure.driver.harness import OBJECT
from kpd.measure.jobs import key, out
from kpd.measure.objects import allowed
from kpd.measure.objects.inspect import LARGEST_LISTING, Inspector
from kpd.model.flags import NotInspected
from tests.support.measure.build import machine
from tests.support.measure.measured import HARNESS, LOOP, RIGHT, Lab, kernel, lab

ready = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("build")) as ready:
        yield ready


async def read(lab: Lab, job: str, name: str) -> str:
    return (await lab.host.read(out(lab.host, job, name), 1 << 22)).decode()


@ready
async def test_a_build_leaves_object_assembly_and_remarks(lab: Lab) -> None:
    built = await lab.build(RIGHT, "-O3")
    assert (built.flags, built.warnings, built.log) == ("-O3", 0, "")
    assert await lab.host.read(out(lab.host, built.job, OBJECT), 1 << 22)
    assert "blend" in await read(lab, built.job, ASSEMBLY)
    assert "kernel.c:" in await read(lab, built.job, REMARKS)


@ready
async def test_the_same_build_is_not_made_twice(lab: Lab) -> None:
    source = RIGHT + "/* cached */\n"
    first, second = await lab.build(source, "-O2"), await lab.build(source, "-O2")
    assert (first.cached, second.cached, second.job) == (False, True, first.job)
    assert (await lab.build(source, "-O3")).job != first.job
    assert (await lab.build(source + " ", "-O2")).job != first.job


@ready
async def test_warnings_are_counted_and_kept(lab: Lab) -> None:
    built = await lab.build(kernel(f"int spare; {LOOP}"))
    assert built.warnings == 1
    assert "unused variable" in built.log


BROKEN = {
    "syntax": (kernel(LOOP.replace("+ 1.0f", "+ 1.0f +")), "semantic", r"kernel\.c:4:.*expected"),
    "a type": (kernel(f"{LOOP} nowhere *z = 0;"), "semantic", "nowhere"),
    "no such header": ('#include "missing.h"\n' + RIGHT, "structural", r"missing\.h"),
    "no such function": (
        kernel(f"{LOOP} nowhere_defined();", "void nowhere_defined(void);"), "structural", "nowhere_defined",
    ),
}  # fmt: skip


@ready
@pytest.mark.parametrize("what", BROKEN)
async def test_what_does_not_build_says_why(lab: Lab, what: str) -> None:
    source, kind, said = BROKEN[what]
    with pytest.raises(BuildError, match=said) as caught:
        await lab.build(source)
    assert caught.value.kind == kind
    assert "/trees/" not in str(caught.value)


@ready
async def test_a_compiler_that_does_not_come_to_an_end_is_the_candidates_fault(lab: Lab) -> None:
    """Each macro is the one before, ten times: ten million additions are too much for any compiler's 0.3 seconds."""
    macros = "\n".join(f"#define M{n + 1} {' '.join([f'M{n}'] * 10)}" for n in range(7))
    tree = await lab.host.stage({"kernel.c": f"#define M0 +1\n{macros}\n{RIGHT} int many = M7;".encode()})
    with pytest.raises(BuildError, match=r"did not finish within 0\.3 s") as caught:
        await build(lab.host, lab.tools, tree, "blend", ("-O2",), 0.3)
    assert caught.value.told == "the compiler did not finish within 0.3 s: less has to be unrolled or instantiated"


@ready
async def test_flags_for_the_compiler_do_not_reach_the_linker(lab: Lab) -> None:
    """gcc links code into a -ffast-math object that flushes denormals to zero in whoever loads it."""
    built = await lab.build(RIGHT, "-O2", "-ffast-math")
    program = (
        f"import ctypes, sys; ctypes.CDLL({out(lab.host, built.job, OBJECT)!r}); sys.exit(sys.float_info.min / 2 == 0)"
    )
    loads_it = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    assert await loads_it.wait() == 0


@ready
async def test_a_tree_that_is_gone_is_the_hosts_trouble(lab: Lab) -> None:
    for _ in range(2):  # and it is not remembered
        with pytest.raises(HostError, match="gone"):
            await build(lab.host, lab.tools, "0" * 64, "blend", ("-O2",), 10.0)


@ready
async def test_a_harness_that_does_not_build_or_describe_itself_is_refused(lab: Lab) -> None:
    with pytest.raises(BuildError, match=r"harness\.c does not build: .*expected"):
        await harness(lab.host, lab.tools, {"harness.c": HARNESS.replace(b"enum {", b"enun {")}, 30.0)
    twice = HARNESS.replace(b'"1003", {1003}', b'"4096", {1003}')
    with pytest.raises(BuildError, match="none twice"):
        await harness(lab.host, lab.tools, {"harness.c": twice}, 30.0)


def test_flags_that_are_not_allowed_do_not_build() -> None:
    with pytest.raises(BuildError, match="-fplugin=x"):
        candidate_flags(b'{"flags": "-O2 -fplugin=x"}', fast_math=True)
    assert candidate_flags(b'{"flags": "-O2"}', fast_math=False) == ("-O2",)


GCC = """\
In file included from kernel.c:1:
kernel.c: In function 'blend':
kernel.c:3:10: warning: unused variable 'a' [-Wunused-variable]
    3 |     int a;
      |         ^
kernel.c:4:12: error: 'b' undeclared (first use in this function)
    4 |     return b;
      |            ^
kernel.c:4:12: note: each undeclared identifier is reported only once
kernel.c:9:1: error: expected ';' before '}' token
    9 | }
      | ^
"""
UNFOUND = (
    "/usr/bin/ld: cannot find -lcudart_static: No such file or directory\ncollect2: error: ld returned 1 exit status\n"
)
LINKED = "/usr/bin/ld: out/kernel.o: in function `blend':\nkernel.c:(.text+0x1): undefined reference to `nowhere'\n"
DARWIN = 'Undefined symbols for architecture arm64:\n  "_nowhere", referenced from:\n      _blend in kernel.o\n'


def test_the_useful_lines_are_the_errors_and_their_source() -> None:
    lines = useful(GCC).splitlines()
    assert [line for line in lines if "error:" in line] == [line for line in GCC.splitlines() if "error:" in line]
    assert "    4 |     return b;" in lines
    assert not any(word in line for line in lines for word in ("warning", "note:", "included"))
    assert useful("nothing that looks like one\n") == "nothing that looks like one\n"


def test_whoever_mends_it_is_told_of_which_kind_it_is() -> None:
    wrong, unlinked = BuildError("no", GCC, kind_of(GCC)), BuildError("no", LINKED, "structural")
    assert wrong.told == f"a semantic error (the code itself is wrong):\n{useful(GCC)}"
    assert unlinked.told.startswith("a structural error (the pieces do not fit: flags, includes, linking):\n")
    assert wrong.log == GCC, "the whole of it is kept"


def test_many_errors_are_counted_and_not_shown() -> None:
    log = "".join(f"kernel.c:{n}:1: error: number {n}\n" for n in range(40))
    assert useful(log).splitlines()[-2:] == ["kernel.c:4:1: error: number 4", "[35 more errors]"]


@pytest.mark.parametrize(
    ("log", "first", "kind"),
    [
        (GCC, "kernel.c:4:12: 'b' undeclared (first use in this function)", "semantic"),
        (UNFOUND, "ld: cannot find -lcudart_static: No such file or directory", "structural"),
        (
            "ld: warning: cannot find entry symbol _start\n" + LINKED,
            "kernel.c:(.text+0x1): undefined reference to `nowhere'",
            "structural",
        ),
        (LINKED, "kernel.c:(.text+0x1): undefined reference to `nowhere'", "structural"),
        (DARWIN, "Undefined symbols for architecture arm64:", "structural"),
        ("", "the compiler gave no reason", "structural"),
    ],
)
def test_the_first_error_fits_a_line(log: str, first: str, kind: str) -> None:
    assert (first_error(log), kind_of(log)) == (first, kind)


def test_the_compiler_is_gcc_else_clang_else_cc() -> None:
    gnu, llvm, apple = "gcc (Debian 12.2.0) 12.2.0", "Debian clang version 14.0.6", "Apple clang version 16.0.0"
    found = choose("h", machine(gcc=gnu, clang=llvm, cc=gnu))
    assert (found.command, found.family) == ("gcc", "gcc")
    assert choose("h", machine(cc=llvm, clang=llvm)).command == "clang"
    on_mac = choose("h", machine("arm64", "Darwin", gcc=apple, clang=apple, cc=apple))
    assert (on_mac.command, on_mac.family) == ("clang", "clang")
    assert on_mac.flags(("-O3", "-march=native")) == ("-O3", "-mcpu=native")
    assert found.flags(("-O3", "-march=native")) == ("-O3", "-march=native")
    with pytest.raises(HostError, match="no C compiler"):
        choose("h", machine())


def test_a_key_tells_apart_what_differs() -> None:
    assert key("build", "a", "bc") != key("build", "ab", "c") != key("build", "abc")
    assert key("build", "a") == key("build", b"a")


@ready
async def test_an_object_is_flagged_where_nothing_can_read_its_code(lab: Lab) -> None:
    built = await lab.build(RIGHT)
    bare = Inspector(allowed.C, replace(lab.where, env={"PATH": "/nowhere"}))
    (found,) = await bare.flags(lab.host, built.job)
    assert isinstance(found, NotInspected) and "has no objdump" in found.why
    (found,) = await Inspector(allowed.C, lab.where, "/nowhere/cuobjdump").flags(lab.host, built.job)
    assert isinstance(found, NotInspected) and "has no cuobjdump" in found.why
    assert await Inspector(allowed.C, lab.where).flags(lab.host, built.job) == ()


@ready
@pytest.mark.parametrize("more", [0, 1])
async def test_a_listing_that_is_too_long_to_be_read_is_flagged(lab: Lab, tmp_path: Path, more: int) -> None:
    """A program that passes for objdump prints as much."""
    disassembler = tmp_path / "objdump"
    disassembler.write_text(f"#!/bin/sh\nhead -c {LARGEST_LISTING + more} /dev/zero\n")
    disassembler.chmod(0o755)
    where = replace(lab.where, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    built = await lab.build(f"{RIGHT}/* {more} */\n")
    found = await Inspector(allowed.C, where).flags(lab.host, built.job)
    assert found == ((NotInspected("cpu.txt is larger than 16 MiB"),) if more else ())
