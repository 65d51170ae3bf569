"""Candidates of several sources in C and C++, built by the machine's own compilers and checked."""

from itertools import count

import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.c.build import ASSEMBLY, REMARKS, SUFFIXES, build
from kpd.measure.compiling import BuildError
from kpd.measure.driver.check import check
from kpd.measure.driver.units import units
from kpd.measure.jobs import out
from tests.support.measure.measured import QUICK, SIGNATURE, Lab, kernel, lab
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")
HEADER = "float twice(float x);\nvoid scaled(const float *x, const double *s, double *t, long n);\n"
KERNEL = kernel("for (long i = 0; i < n; i++) y[i] = twice(x[i]) + 1.0f; scaled(x, s, t, n);", '#include "src/parts.h"')
TWICE = '#include "parts.h"\nstatic float factor = 2.0f;\nfloat twice(float x) { return factor * x; }\n'
SCALED = (
    '#include "src/parts.h"\nstatic long factor;\nvoid scaled(const float *x, const double *s, double *t, long n)'
    " { for (factor = 0; factor < n; factor++) t[factor] = x[factor] * s[factor]; }\n"
)
TREE = {"kernel.c": KERNEL, "src/parts.h": HEADER, "src/twice.c": TWICE, "src/deep/scaled.c": SCALED}
numbers = count()


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("units")) as ready:
        yield ready


async def built(lab: Lab, tree: dict[str, str], first: str = "kernel.c") -> str:
    files = {path: text.encode() for path, text in tree.items()}
    tools = lab.tools if first == "kernel.c" else lab.tools.cpp
    sources = units({}, files, first, SUFFIXES[first])
    staged = await lab.host.stage(files)
    return (await build(lab.host, tools, staged, lab.harness.symbol, ("-O2",), PATIENCE_S, sources=sources)).job


async def is_right(lab: Lab, job: str) -> bool:
    try:
        await check(lab.host, lab.harness, job, f"check{next(numbers)}", QUICK, lab.where)
    except CheckFailed:
        return False
    return True


async def test_every_source_of_a_tree_is_compiled_and_all_are_one_kernel(lab: Lab) -> None:
    job = await built(lab, TREE)
    assert await is_right(lab, job)
    listed, said = [(await lab.host.read(out(lab.host, job, name), 1 << 22)).decode() for name in (ASSEMBLY, REMARKS)]
    assert all(f"{function}:" in listed for function in ("blend", "twice", "scaled"))
    assert "kernel.c:" in said and "src/deep/scaled.c:" in said
    assert not await is_right(lab, await built(lab, {**TREE, "src/twice.c": TWICE.replace("2.0f", "3.0f")}))


async def test_a_source_that_was_removed_is_missed_and_one_that_does_not_compile_is_named(lab: Lab) -> None:
    with pytest.raises(BuildError, match="undefined reference to `twice'") as caught:
        await built(lab, {path: text for path, text in TREE.items() if path != "src/twice.c"})
    assert caught.value.kind == "structural"
    with pytest.raises(BuildError, match=r"^src/spare\.c:1:.*nowhere") as caught:
        await built(lab, {**TREE, "src/spare.c": "int spare = nowhere;"})
    assert caught.value.kind == "semantic"
    with pytest.raises(BuildError, match="multiple definition of `twice'"):
        await built(lab, {**TREE, "src/again.c": TWICE})


async def test_a_source_that_the_kernel_includes_is_compiled_once(lab: Lab) -> None:
    tree = {**TREE, "kernel.c": '#include "src/twice.c"\n' + KERNEL}
    assert await is_right(lab, await built(lab, tree))


async def test_sources_in_cpp_are_units_whatever_their_suffix(lab: Lab) -> None:
    whole = f'#include "src/parts.h"\nextern "C" {SIGNATURE} {{ {KERNEL.partition(SIGNATURE + " {")[2]}'
    tree = {"kernel.cpp": whole, "src/parts.h": HEADER, "src/twice.cc": TWICE, "src/deep/scaled.cxx": SCALED}
    assert await is_right(lab, await built(lab, tree, "kernel.cpp"))
