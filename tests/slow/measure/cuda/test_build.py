"""Builds with the machine's own nvcc: the object, what ptxas says of it, and errors that an agent can use."""

import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import BuiltObject
from kpd.measure.compiling import BuildError, first_error, kind_of, useful, warnings
from kpd.measure.cuda.bench import harness, measure_roofline
from kpd.measure.cuda.build import PTXAS, build, candidate_flags
from kpd.measure.cuda.nvcc import CudaToolchain, choose
from kpd.measure.cuda.ptxas import metrics, parse
from kpd.measure.cuda.sources import HARNESS, KERNEL, layer
from kpd.measure.driver.harness import OBJECT
from kpd.measure.elsewhere import Builds as Elsewhere
from kpd.measure.jobs import out, run
from kpd.measure.run_context import RunContext
from kpd.workspace.task import load_task
from tests.support.measure.build import machine
from tests.support.measure.cuda_measured import (
    GPU,
    HARNESS_CU,
    LOOP,
    ONE_FILE,
    RIGHT,
    Builds,
    builds,
    kernel,
    needs_nvcc,
    task_folder,
)
from tests.support.measure.measured import local_host

real = pytest.mark.asyncio(loop_scope="module")
TOOLS = CudaToolchain("/usr/local/cuda/bin/nvcc", "13.0", "sm_90", "gcc 12")


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with builds(tmp_path_factory.mktemp("nvcc")) as ready:
        yield ready


@needs_nvcc
@real
async def test_a_build_leaves_an_object_and_what_ptxas_says(lab: Builds) -> None:
    built = await lab.build(RIGHT)
    assert await lab.host.read(out(lab.host, built.job, OBJECT), 1 << 24)
    found = {function.name: function for function in parse(await lab.read(built.job, PTXAS))}
    registers = found["blended"].registers
    assert registers is not None
    assert 4 <= registers <= 64
    assert metrics(found.values())["ptxas_registers"] >= registers
    again = await lab.build(RIGHT)
    assert (built.cached, again.cached, again.job) == (False, True, built.job)


@needs_nvcc
@real
async def test_what_a_node_without_a_gpu_has_built_is_as_sealed_when_it_is_loaded(lab: Builds, tmp_path: Path) -> None:
    """The architecture is the GPU's of the host that measures; the node that builds need have none."""
    files = {HARNESS: HARNESS_CU.encode(), **layer(load_task(lab.root / "tasks" / "blend"))({KERNEL: RIGHT.encode()})}
    flags = ("-DELSEWHERE",)  # no other test has built the like
    async with local_host(tmp_path / "builder") as builder:
        assert not (await builder.probe())["gpus"]
        lab.host.builder = builder
        elsewhere = Elsewhere(lab.host, RunContext(), lab.tools.identity, lambda facts: choose("", facts, GPU).identity)
        tree = await lab.host.stage(files)
        built = await build(lab.host, lab.tools, tree, flags, 60.0, builds=elsewhere, files=files)
        lab.host.builder = None
        made = await builder.read(out(builder, built.job, OBJECT), 1 << 24)
    assert "nvcc" not in await lab.read(built.job, "../cmd"), "it was not built here"
    assert lab.tools.arch == "sm_90" and b"sm_90" in made and sha256(made).hexdigest() == built.hashes[OBJECT]

    path = out(lab.host, built.job, OBJECT)
    sealed = RunContext(seals={out(lab.host, built.job, "").rstrip("/"): built.hashes})
    loads = f"exec {sys.executable} -c 'import ctypes; ctypes.CDLL(\"{path}\"); print(1)'"
    assert (await run(lab.host, sealed.spec("load-1", loads, 60.0))).stdout == b"1\n"
    other = await lab.build(kernel("y[i] = 0;"))
    await lab.host.run(f"cp -f {out(lab.host, other.job, OBJECT)} {path}", 9.0)
    with pytest.raises(HostError) as caught:
        await run(lab.host, sealed.spec("load-2", loads, 60.0))
    assert caught.value.kind == "stale" and OBJECT in str(caught.value)


@needs_nvcc
@real
async def test_flags_reach_nvcc_and_ptxas(lab: Builds) -> None:
    built = await lab.build(
        kernel(LOOP, "#if FACTOR != 3\n#error no factor\n#endif"), "-DFACTOR=3", "-Xptxas=-O1,-dlcm=cg", "-O2",
        "-std=c++17", "-arch=sm_90a", "--use_fast_math",
    )  # fmt: skip
    assert built.warnings == 0, built.log
    assert "for 'sm_90a'" in await lab.read(built.job, PTXAS)


SPILLS = """
__global__ void __launch_bounds__(1024) spilling(float *x) {
    float a[64];
#pragma unroll
    for (int i = 0; i < 64; i++) a[i] = x[i * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; i++) {
        float s = 0;
#pragma unroll
        for (int j = 0; j < 64; j++) s += a[j] * a[i * j % 64];
        x[i * 1024 + threadIdx.x] = s;
    }
}
"""


@needs_nvcc
@real
async def test_spills_are_counted(lab: Builds) -> None:
    built = await lab.build(kernel(before=SPILLS))
    assert metrics(parse(await lab.read(built.job, PTXAS)))["spill_load_bytes"] > 0


BROKEN = {
    "syntax": (kernel(LOOP.replace("+ k[i]", "+")), "semantic", r"^kernel\.cu\(4\): expected an expression$"),
    "no such header": ('#include "missing.h"\n' + RIGHT, "structural", r"^kernel\.cu:1:10: missing\.h: No such file"),
    "another launcher": (
        RIGHT.replace("void blend(", "void blends("), "structural", r'^harness\.cu\(\d+\): identifier "blend"',
    ),
    "too much shared memory": (
        kernel("t[threadIdx.x] = x[i]; __syncthreads(); y[i] = t[k[i] & 255];", "__shared__ float t[20000];").replace(
            "__shared__ float t[20000];\n", "", 1
        ).replace("if (i < n)", "__shared__ float t[20000]; if (i < n)"),
        "semantic", r"^ptxas: Entry function '_Z7blended\w*' uses too much shared data",
    ),
    "wrong PTX": (kernel('asm volatile("nothing.f32;");' + LOOP), "semantic", r"^ptxas \(line \d+ of the PTX\): "),
    "no such device function": (
        kernel("y[i] = nowhere(x[i]);", "extern __device__ float nowhere(float);"),
        "structural", r"^ptxas: Unresolved extern function '_Z7nowheref'",
    ),
}  # fmt: skip


@needs_nvcc
@real
@pytest.mark.parametrize("what", BROKEN)
async def test_what_does_not_build_says_why(lab: Builds, what: str) -> None:
    source, kind, said = BROKEN[what]
    with pytest.raises(BuildError, match=said) as caught:
        await lab.build(source)
    assert caught.value.kind == kind
    assert "/trees/" not in str(caught.value)
    assert "ptxas info" not in caught.value.told


@needs_nvcc
@real
async def test_a_compiler_that_does_not_come_to_an_end_is_the_candidates_fault(lab: Builds) -> None:
    with pytest.raises(BuildError, match=r"did not finish within 0\.2 s"):
        await lab.build(RIGHT + "// slow\n", limit_s=0.2)


@pytest.mark.asyncio
async def test_no_nvcc_and_no_compiler_for_it_are_the_hosts_trouble(tmp_path: Path) -> None:
    async with builds_with(tmp_path, "echo 'nvcc fatal   : Cannot find compiler 'gcc' in PATH' >&2; exit 1") as lab:
        for _ in range(2):  # and it is not remembered
            with pytest.raises(HostError, match="nvcc: Cannot find compiler") as caught:
                await lab.build(RIGHT)
            assert caught.value.kind == "no_compiler"
        with pytest.raises(HostError, match=r"not found|No such file"):
            await replace(lab, tools=replace(lab.tools, nvcc=str(tmp_path / "gone"))).build(RIGHT)


def builds_with(root: Path, does: str):  # type: ignore[no-untyped-def]
    """Builds by a program that only says something."""
    (root / "nvcc").write_text(f"#!/bin/sh\n{does}\n")
    (root / "nvcc").chmod(0o755)
    return builds(root, CudaToolchain(str(root / "nvcc"), "13.0", "sm_90", ""))


def test_the_toolkit_must_know_the_gpu() -> None:
    facts = machine(gcc="gcc (Debian 12.2.0) 12.2.0")
    with pytest.raises(HostError, match="has no nvcc; install the CUDA toolkit") as caught:
        choose("h", {**facts, "nvcc": "", "cuda": ""}, GPU)
    assert caught.value.kind == "no_compiler"
    with pytest.raises(
        HostError, match=r"CUDA 11\.2 on h cannot build for NVIDIA H100 .* \(sm_90\); install CUDA 11\.8"
    ):
        choose("h", {**facts, "nvcc": "/opt/cuda/bin/nvcc", "cuda": "11.2"}, GPU)
    tools = choose("h", {**facts, "nvcc": "/opt/cuda/bin/nvcc", "cuda": "12.4"}, GPU)
    assert (tools.arch, tools.compiler, tools.beside("ncu")) == (
        "sm_90",
        "gcc (Debian 12.2.0) 12.2.0",
        "/opt/cuda/bin/ncu",
    )
    assert len({tools.identity, replace(tools, arch="sm_100").identity, replace(tools, version="13.0").identity}) == 3


def test_a_flag_of_its_own_stands_instead_of_kpds() -> None:
    assert TOOLS.flags(()) == ("-lineinfo", "-O3", "-arch=sm_90", "-std=c++17")
    assert TOOLS.flags(("-O1", "--std=c++20", "-arch=sm_90a")) == ("-lineinfo", "-O1", "--std=c++20", "-arch=sm_90a")


def test_a_candidate_is_built_for_the_gpu_that_it_is_measured_on() -> None:
    assert candidate_flags(b'{"flags": "-arch=sm_90a -Xptxas -O3"}', "sm_90", fast_math=False) == (
        "-arch=sm_90a",
        "-Xptxas=-O3",
    )
    for flags in ("-arch=sm_80", "-arch=sm_900", "-arch=native", "-rdc=true"):
        with pytest.raises(BuildError, match=flags) as caught:
            candidate_flags(b'{"flags": "%b"}' % flags.encode(), "sm_90", fast_math=False)
        assert caught.value.kind == "structural"


MANY = """\
kernel.cu(1): warning #177-D: variable "unused" was declared but never referenced
      int unused;
          ^

kernel.cu(3): error: identifier "y" is undefined
      x[0] = y;
             ^

kernel.cu(9): error: static assertion failed with "positive"
      A<0> a;
           ^
          detected during instantiation of class "A<N> [with N=0]" at line 1

ptxas warning : Value of threads per SM is out of range
2 errors detected in the compilation of "kpd/unit.cu".
"""
LINKER = """\
ptxas info    : 0 bytes gmem
/usr/bin/ld: /tmp/tmpxft_00000602_00000000-11_unit.o: in function `g()':
tmpxft_00000602_00000000-6_unit.cudafe1.cpp:(.text+0x103): undefined reference to `f(float*)'
collect2: error: ld returned 1 exit status
"""


def test_the_useful_lines_are_the_errors_and_their_source() -> None:
    lines = useful(MANY).splitlines()
    assert lines[0] == 'kernel.cu(3): error: identifier "y" is undefined'
    assert lines[-1].endswith('instantiation of class "A<N> [with N=0]" at line 1')
    assert len(lines) == 7
    assert warnings(MANY) == 2


@pytest.mark.parametrize(
    ("log", "first", "kind"),
    [
        (MANY, 'kernel.cu(3): identifier "y" is undefined', "semantic"),
        ("/r/trees/a/inc/b.cuh(3): error: no\n", "b.cuh(3): no", "semantic"),
        ("nvcc fatal   : Unknown option '--nonsense'\n", "nvcc: Unknown option '--nonsense'", "structural"),
        ("nvlink error   : Undefined reference to 'f'\n", "nvlink: Undefined reference to 'f'", "structural"),
        (
            "ptxas /tmp/t.ptx, line 25; fatal   : Parsing error near '%'\nptxas fatal   : Ptx assembly aborted\n",
            "ptxas (line 25 of the PTX): Parsing error near '%'", "semantic",
        ),
        (
            LINKER, "tmpxft_00000602_00000000-6_unit.cudafe1.cpp:(.text+0x103): undefined reference to `f(float*)'",
            "structural",
        ),
    ],
)  # fmt: skip
def test_the_first_error_fits_a_line(log: str, first: str, kind: str) -> None:
    assert (first_error(log), kind_of(log)) == (first, kind)


@needs_nvcc
@real
async def test_the_harness_builds_with_the_driver_and_describes_itself(lab: Builds) -> None:
    ready = await harness(lab.host, lab.tools, load_task(lab.root / "tasks" / "blend"))
    assert [(case.name, case.dims, case.timed) for case in ready.cases] == [
        ("large", {"n": 20_011}, True), ("odd", {"n": 1003}, False),
    ]  # fmt: skip
    assert ready.cases[0].bytes == {"x": 80_044, "k": 80_044, "y": 80_044}


@needs_nvcc
@real
async def test_a_task_in_one_file_builds_and_its_lines_are_those_of_the_file(lab: Builds, tmp_path: Path) -> None:
    task = load_task(task_folder(tmp_path, one_file=True))
    ready = await harness(lab.host, lab.tools, task)
    assert len(ready.cases) == 2

    async def build_one(text: str) -> BuiltObject:
        tree = await lab.host.stage(layer(task)({"blend.cu": text.encode()}))
        return await build(lab.host, lab.tools, tree, (), 60.0)

    assert (await build_one(ONE_FILE)).warnings == 0
    wrong = ONE_FILE.replace(LOOP, "y[i] = nowhere;")
    line = wrong[: wrong.index("nowhere")].count("\n") + 1
    with pytest.raises(BuildError, match=rf'^blend\.cu\({line}\): identifier "nowhere"'):
        await build_one(wrong)
    wrong = ONE_FILE.replace("want[Y][i] =", "want[Z][i] =")
    line = wrong[: wrong.index("want[Z]")].count("\n") + 1
    with pytest.raises(BuildError, match=rf'^blend\.cu\({line}\): identifier "Z"'):
        await build_one(wrong)


@needs_nvcc
@real
async def test_the_roofline_builds_and_no_gpu_is_the_hosts_trouble(lab: Builds) -> None:
    if (await lab.host.probe())["gpus"]:
        pytest.skip("there is a GPU here")
    with pytest.raises(HostError, match=r"the roofline of NVIDIA H100 .* could not be measured: .*cudaError"):
        await measure_roofline(lab.host, lab.tools, GPU, RunContext())
