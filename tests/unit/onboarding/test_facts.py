"""What can be told of a kernel without a model: its source made fit, its signature, its scalars, its geometry."""

from pathlib import Path
from typing import Any

import pytest

from kpd.onboarding.facts import as_json, findings
from kpd.onboarding.launch_configs import representative
from kpd.onboarding.observed import parse_table
from kpd.onboarding.preprocess import SourceError, preprocess, standalone
from kpd.onboarding.scalars import scalars
from kpd.source.kernels import kernels
from kpd.source.source import Source
from kpd.source.values import Dim3
from tests.support.onboarding.kernels import KERNEL, LAUNCHES, WRAPPER, sources
from tests.support.onboarding.observed import table

FOREIGN = {
    "__attribute__((constant)) float t[4];": "__constant__ float t[4];",
    "__attribute__((__constant__)) float t[4];": "__constant__ float t[4];",
    "__attribute((device)) int i;": "__device__ int i;",
    "__declspec(__shared__) float s[8];": "__shared__ float s[8];",
    "__attribute__((device, always_inline)) int f();": "__device__ __attribute__((always_inline)) int f();",
    '__attribute__((device)) __attribute__((optimize("O3"), hot)) int f();': "__device__  int f();",
    "__attribute__((global)) __attribute__((launch_bounds(128, 2))) void k();": (
        "__global__ __launch_bounds__(128, 2) void k();"
    ),
    "__attribute__((aligned(16))) float4 v;": "__attribute__((aligned(16))) float4 v;",
    "#define DEVICE __attribute__((device))": "#define DEVICE __device__",
    "extern __constant__ float t[4];": "__constant__ float t[4];",
    'extern "C" __constant__ float t[4];': 'extern "C" __constant__ float t[4];',
    "extern __device__ float f(float);": "extern __device__ float f(float);",
    "extern __shared__ float s[];": "extern __shared__ float s[];",
    '"__attribute__((constant))" // __attribute__((device))': '"__attribute__((constant))" // __attribute__((device))',
}


@pytest.mark.parametrize(("given", "made"), FOREIGN.items())
def test_words_of_other_compilers_become_cudas_own(given: str, made: str) -> None:
    text, changes = standalone(given)
    assert text == made + "\n"
    assert bool(changes) == (given != made)


def test_headers_beside_the_source_stand_in_it_once(tmp_path: Path) -> None:
    (tmp_path / "a.cuh").write_text('#pragma once\n#include "sub/b.cuh"\nint a;')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.cuh").write_text("int b;\r\n")
    source = tmp_path / "k.cu"
    source.write_text('#include "a.cuh"\n#include "sub/b.cuh"\n#include "cuda_fp16.h"\n#include <math.h>\nint c;')
    found = preprocess(source)
    assert [line for line in found.text.splitlines() if line.startswith("int ")] == ["int b;", "int a;", "int c;"]
    assert found.external == ("cuda_fp16.h",)
    assert "#pragma once" not in found.text
    assert '#include "cuda_fp16.h"' in found.text


UNFIT = {
    "a main": ("int main() { return 0; }", "main() of its own"),
    "a mark": ("// ===== KERNEL SECTION =====\n", "marks a section"),
    "a zero": ("int a;\0", "zero byte"),
}


@pytest.mark.parametrize(("text", "why"), UNFIT.values(), ids=UNFIT)
def test_a_source_that_cannot_be_a_section_is_refused(text: str, why: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(text)
    with pytest.raises(SourceError) as refused:
        preprocess(source)
    assert why in str(refused.value)
    assert refused.value.remedy


BODY = "__global__ void k(float *x, {0}) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {1} }}"
STRIDE = "for (int j = i; j < s; j += gridDim.x * blockDim.x) x[j] = 0;"
CHAIN = "int j = i * 4; int r = j + 1; if (r < s) x[r] = 0;"
ALIAS = "const int n = (int)s; if (i < n) x[i] = 0;"
ROW = {"grid_x": 4, "block_x": 64}
ROLES = {
    "a guard": ("int s", "if (i >= s) return;", {**ROW, "s": 250}, "A", "bounds the threads"),
    "a guard of two": ("int s, int m", "if (i < s && x[i] > m) x[i] = 0;", {**ROW, "s": 3}, "A", "i < s"),
    "a guard the other way": ("int s", "if (s <= i) return;", ROW, "A", "s <= i"),
    "a guard of what follows": ("int s", CHAIN, ROW, "A", "r < s"),
    "a guard under another name": ("long s", ALIAS, ROW, "A", "i < n"),
    "a loop": ("int s", "for (int j = 0; j < s; ++j) x[j] = i;", {**ROW, "s": 250}, "B", "each thread runs"),
    "a loop downwards": ("int s", "int j = 0; while (j < s) x[j++] = i;", ROW, "B", "each thread runs"),
    "threads that stride, one for each": ("int s", STRIDE, {**ROW, "s": 256}, "A", "stride"),
    "threads that stride, many for each": ("int s", STRIDE, {**ROW, "s": 9000}, "B", "goes round"),
    "as many as the threads": ("int s", "x[i] = s;", {**ROW, "s": 256}, "A", "observed 256 for 256 threads"),
    "as many as along y": ("int s", "x[i] = s;", {"grid": [4, 8], "block": [8, 8], "s": 64}, "A", "64 threads along y"),
    "a flag": ("bool s", "if (s) x[i] = 0;", {**ROW, "s": True}, "other", "bounds neither"),
    "a factor": ("float s", "x[i] *= s;", {**ROW, "s": 0.5}, "other", "bounds neither"),
}


@pytest.mark.parametrize(("argument", "body", "launch", "role", "why"), ROLES.values(), ids=ROLES)
def test_a_scalar_has_its_role_and_a_reason(
    argument: str, body: str, launch: dict[str, Any], role: str, why: str
) -> None:
    source = Source.of(BODY.format(argument, body), "k.cu")
    [kernel] = kernels(source)
    found = scalars(source, kernel, representative(parse_table(table(launch))))[0]
    assert (found.name, found.role) == ("s", role)
    assert why in found.reason


def test_the_wrapper_completes_what_was_observed(tmp_path: Path) -> None:
    """The table has x alone, the wrapper says that the block has eight rows."""
    found = sources(tmp_path)
    facts = findings(found.kernel, found.wrapper, found.observed, 5)
    assert facts.conflict == ""
    assert [(one.grid, one.block) for one in facts.configs] == [(Dim3(128), Dim3(32, 8)), (Dim3(4), Dim3(32, 8))]
    said = as_json(facts)
    assert said["launch_sites"][0]["block"] == {"text": "block", "size": [32, 8, 1], "why": ""}
    assert "height is a parameter" in said["launch_sites"][0]["grid"]["why"]
    assert [(one["name"], one["role"]) for one in said["scalars"]] == [
        ("height", "A"), ("width", "B"), ("factor", "other"), ("bias", "other")
    ]  # fmt: skip


def test_a_block_in_one_number_is_that_of_any_shape(tmp_path: Path) -> None:
    flat = [{"grid": 128, "block": 256, "height": 32768, "width": 64, "factor": 2.0}]
    found = sources(tmp_path, launches=flat)
    assert findings(found.kernel, found.wrapper, found.observed, 5).configs[0].block == Dim3(32, 8)


def test_the_launch_that_was_observed_is_told_from_others(tmp_path: Path) -> None:
    launch = "    if (width == 1) row_scale<<<grid, dim3(64, 4), 0, stream>>>(in, out, height, 1, factor, Bias{0});\n"
    two = WRAPPER.replace("    return cuda", f"{launch}    return cuda")
    found = sources(tmp_path, wrapper=two, launches=[{**LAUNCHES[0], "block_x": 64}])
    assert findings(found.kernel, found.wrapper, found.observed, 5).configs[0].block == Dim3(64, 4)
    same = two.replace("dim3(64, 4)", "dim3(32, 4)")
    found = sources(tmp_path, wrapper=same)
    assert "may be one of several" in findings(found.kernel, found.wrapper, found.observed, 5).conflict


def test_a_geometry_that_only_the_table_knows_is_the_tables(tmp_path: Path) -> None:
    unknown = WRAPPER.replace("(kWidth, kRows)", "(pick(), kRows)")
    rows = [{**row, "block_y": 4} for row in LAUNCHES]
    found = sources(tmp_path, wrapper=unknown, launches=rows)
    facts = findings(found.kernel, found.wrapper, found.observed, 5)
    assert facts.configs[0].block == Dim3(32, 4)
    assert "pick() returns" in facts.sites[0].block.why


CONTRADICTIONS = {
    "another block": ([{**LAUNCHES[0], "block_x": 64}], "observed grid 128 x 1 x 1, block 64 x 1 x 1"),
    "another grid": ([{**LAUNCHES[0], "grid_x": 99}], "host.cu:9 has grid 128 x 1 x 1 and block 32 x 8 x 1"),
    "other rows": ([LAUNCHES[0], {**LAUNCHES[0], "height": 64}], "launches[1]: observed"),
}


@pytest.mark.parametrize(("launches", "why"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_table_of_another_wrapper_is_noticed(launches: list[dict[str, Any]], why: str, tmp_path: Path) -> None:
    found = sources(tmp_path, launches=launches)
    assert why in findings(found.kernel, found.wrapper, found.observed, 5).conflict


REFUSED = {
    "another kernel's table": ({"name": "column_scale"}, "has no kernel 'column_scale'"),
    "a wrapper that launches nothing": ({"wrapper": "void f() {}"}, "launches no row_scale"),
    "a wrapper that launches who knows what": (
        {"wrapper": "void f(K k) { k<<<1, 1>>>(); }"}, "k is a parameter, so it is not known here"
    ),
    "two of the name": ({"kernel": KERNEL + "namespace b {" + KERNEL + "}"}, "more than one row_scale"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "why"), REFUSED.values(), ids=REFUSED)
def test_files_that_do_not_belong_together_are_refused(changed: dict[str, Any], why: str, tmp_path: Path) -> None:
    found = sources(tmp_path, **changed)
    with pytest.raises(SourceError) as refused:
        findings(found.kernel, found.wrapper, found.observed, 5)
    assert why in str(refused.value)
    assert refused.value.remedy
