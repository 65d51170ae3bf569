"""The CUDA tasks that ship: built by nvcc without a warning, right on the stand-in for a GPU, and judged by harnesses
that see what is wrong. What is only timed is left to GPUs.
"""

import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from kpd.agents.space import Point, read_point, write_point
from kpd.measure.bench import CheckFailed
from kpd.measure.cuda.bench import prepare
from kpd.measure.cuda.build import candidate_flags
from kpd.measure.cuda.ptxas import metrics, parse
from kpd.measure.cuda.sources import UNIT, layer, pristine
from kpd.measure.driver.bench import DriverBench
from kpd.measure.flags import BUILD_FILE
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import Task, load_task
from tests.support import cuda_standin
from tests.support.measure.cuda_measured import GPU, needs_nvcc
from tests.support.measure.measured import local_host

on_the_standin = pytest.mark.asyncio(loop_scope="module")
numbers = count()
NVCC = shutil.which("nvcc") or ""  # found now: later the stand-in is first on the PATH

GOOD_POINTS = {
    "matmul_cuda": {"THREADS": "16", "EACH": "4", "DEPTH": "16", "WIDE": "1"},
    "reduction_cuda": {"THREADS": "512", "BLOCKS": "1024", "ITEMS": "4", "VEC": "4", "SHUFFLE": "1"},
    "softmax_cuda": {"THREADS": "256", "SHORT": "1024", "VEC": "4", "KEEP": "1"},
    "transpose_cuda": {"TILE": "32", "PAD": "1", "VEC": "4", "ROWS": "8"},
}
"""Points that move every byte once, many at a time."""
TASKS = sorted(GOOD_POINTS)
CPU_AS_GPU = replace(GPU, name="a stand-in for a GPU", arch="sm_00")
BASES = {
    "matmul_cuda": {"EACH": "2"},
    "reduction_cuda": {"VEC": "2"},
    "softmax_cuda": {"THREADS": "256", "KEEP": "2"},
    "transpose_cuda": {"TILE": "32"},
}
"""Where every other parameter has something to act upon."""
OF_THE_HOST = {"SHORT"}
"""Parameters that choose which kernel is launched."""

WRONG = {
    ("matmul_cuda", "the last row is left out"): ({}, "row < m && col < n", "row < m - 1 && col < n", "is unwritten"),
    ("matmul_cuda", "no barrier"): ({}, "__syncthreads();", "", r"c\[\d+\] is .*, should be"),
    ("matmul_cuda", "sums in half precision"): (
        {}, "sums[r][s] += used", "sums[r][s] = __half2float(__float2half(sums[r][s])) + used",
        r"c\[\d+\] is .*, should be"),
    ("reduction_cuda", "the last elements are left out"): (
        {"VEC": "4"}, "i = count * VEC + first; i < n", "i = n; i < n", r"out\[0\] is .*, should be"),
    ("reduction_cuda", "the last vectors are left out"): (
        {"ITEMS": "8"}, "; i < count; i += stride", "; i < 0; i += stride", r"out\[0\] is .*, should be"),
    ("reduction_cuda", "it adds to what was there before"): (
        {"ATOMIC": "1"}, "cudaMemsetAsync(out, 0, sizeof *out, stream);", "", r"out\[0\] is (unwritten|-?nan)"),
    ("softmax_cuda", "large inputs overflow"): (
        {}, "expf(v.lanes[k] - greatest)", "expf(v.lanes[k])", r"(tail|large): y\[\d+\] is -?(nan|inf), should be"),
    ("softmax_cuda", "the end of a row is left out"): (
        {"THREADS": "128"}, "store(y + c, v);", "if (c + 1 < cols) store(y + c, v);", r"y\[\d+\] is unwritten"),
    ("softmax_cuda", "the sum is that of one warp"): (
        {"THREADS": "256"}, "w < LANES / WARP", "w < 1", r"y\[\d+\] is .*, should be"),
    ("softmax_cuda", "no barrier"): ({"THREADS": "256"}, "__syncthreads();", "", r"y\[\d+\] is -?nan, should be"),
    ("transpose_cuda", "tiles at the edge are left out"): (
        {"TILE": "32"}, "(rows + DOWN - 1) / DOWN", "(rows > DOWN ? rows / DOWN : 1)", r"out\[\d+\] is unwritten"),
    ("transpose_cuda", "the last row is left out"): (
        {}, "i >= rows ||", "i + 1 >= rows ||", r"out\[\d+\] is unwritten"),
    ("transpose_cuda", "it writes past the edge"): (
        {"TILE": "32"}, "&& j + x < cols) store", ") store", "wrote past the end of out"),
    ("transpose_cuda", "no barrier"): ({"TILE": "16"}, "__syncthreads();", "", r"out\[\d+\] is -?nan, should be"),
}  # fmt: skip
"""A point, what is replaced in the kernel and by what, and what the check says of it."""

IN_SEQUENCE = """\
#include "kernel.h"
__global__ void in_sequence(const float *x, long n, float *out) {
    float sum = 0.0f;
    for (long i = 0; i < n; i++) sum += x[i];
    *out = sum;
}
void reduction(const float *x, float *out, long n, cudaStream_t stream) { in_sequence<<<1, 1, 0, stream>>>(x, n, out); }
"""


def quiet(text: str) -> None:
    """Nobody listens."""


def shipped_task(name: str) -> Task:
    return load_task(shipped("tasks") / name)


def point(task: Task, values: Point) -> dict[str, bytes]:
    return write_point(read_files(task.folder, task.editable), values)


@pytest.fixture(scope="module", params=TASKS, name="bench")
async def _bench(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(cuda_standin.BIN), prepend=":")
        async with local_host(tmp_path_factory.mktemp(request.param)) as host:
            yield await prepare(host, shipped_task(request.param), CPU_AS_GPU, quiet)


async def checked(bench: DriverBench, files: dict[str, bytes]) -> float:
    built = await bench.build(await bench.stage(files), files, quiet)
    assert built.warnings == 0, built.log
    return (await bench.check(built.job, f"check{next(numbers)}", quiet)).worst


@on_the_standin
async def test_the_kernel_that_ships_and_a_good_one_are_right(bench: DriverBench) -> None:
    for values in ({}, GOOD_POINTS[bench.task.name]):
        assert await checked(bench, point(bench.task, values)) <= 1


@on_the_standin
async def test_a_kernel_that_is_wrong_is_found_out(bench: DriverBench) -> None:
    for (task, what), (values, old, new, said) in WRONG.items():
        if task != bench.task.name:
            continue
        name, *_ = files = point(bench.task, values)
        assert old in files[name].decode(), what
        with pytest.raises(CheckFailed, match=said):
            await checked(bench, {**files, name: files[name].replace(old.encode(), new.encode())})


@on_the_standin
async def test_a_sum_that_takes_up_a_million_elements_in_turn_is_too_far_off(bench: DriverBench) -> None:
    if bench.task.name == "reduction_cuda":
        with pytest.raises(CheckFailed, match=r"^(1M|n=\d+), \w+: out\[0\] is .*, should be"):
            await checked(bench, {"kernel.cu": IN_SEQUENCE.encode()})


@on_the_standin
async def test_five_cases_are_timed_and_the_roofline_knows_what_they_move(bench: DriverBench) -> None:
    assert sum(case.timed for case in bench.harness.cases) == 5
    for case in bench.harness.cases:
        least = bench.work[case.name]
        assert least.bytes == sum(case.bytes.values())
        assert least.roofline_us is not None and least.roofline_us > 0


@on_the_standin
async def test_some_points_of_the_space_are_right(bench: DriverBench) -> None:
    for values in some_points(bench.task, 3):
        assert await checked(bench, point(bench.task, values)) <= 1, values


def some_points(task: Task, number: int) -> Iterator[Point]:
    """The same ones each time."""
    chosen = random.Random(task.name)
    for _ in range(number):
        yield {name: chosen.choice(values) for name, values in task.tune.items()}


@pytest.mark.parametrize("name", TASKS)
def test_the_kernel_that_ships_stands_in_its_space(name: str) -> None:
    task = shipped_task(name)
    assert all(value in task.tune[key] for key, value in read_point(task, point(task, {})).items())


def nvcc(folder: Path, task: Task, values: Point, *options: str) -> str:
    """What nvcc says of a candidate at this point; no GPU is needed. Its result is `folder/made`."""
    files = point(task, values)
    shutil.rmtree(folder, ignore_errors=True)
    for path, data in {**pristine(task), **layer(task)(files)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    flags = candidate_flags(files[BUILD_FILE], GPU.arch, task.check.fast_math) if BUILD_FILE in files else ()
    own = (f"-arch={GPU.arch}", "-std=c++20", "-O3", "-DKPD_CANDIDATE", "-Ikpd", "-I.")
    command = (NVCC, *own, *flags, *options, UNIT, "-o", "made")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return done.stderr


@needs_nvcc
@pytest.mark.parametrize("name", TASKS)
def test_nvcc_builds_a_good_point_without_a_warning_or_a_spill(name: str, tmp_path: Path) -> None:
    said = nvcc(tmp_path / "at", shipped_task(name), GOOD_POINTS[name], "-c", "-Xcompiler", "-Wall", "-Xptxas", "-v")
    found = metrics(parse(said))
    assert found["ptxas_registers"] > 0
    assert (found["spill_store_bytes"], found["stack_bytes"]) == (0, 0)


@needs_nvcc
@pytest.mark.parametrize("name", TASKS)
def test_nvcc_builds_some_points_without_a_warning(name: str, tmp_path: Path) -> None:
    task = shipped_task(name)
    for values in ({}, *some_points(task, 3)):
        nvcc(tmp_path / "at", task, values, "-c", "-Xcompiler", "-Wall")


@needs_nvcc
@pytest.mark.parametrize("name", TASKS)
def test_every_value_of_every_parameter_makes_other_code(name: str, tmp_path: Path) -> None:
    """A parameter that the compiler does not see would waste the sweep's time."""
    task = shipped_task(name)
    for parameter, values in task.tune.items():
        seen = set()
        for value in values:
            nvcc(tmp_path / "at", task, {**BASES[name], parameter: value}, "-E" if parameter in OF_THE_HOST else "-ptx")
            seen.add((tmp_path / "at" / "made").read_bytes())
        assert len(seen) == len(values), f"{parameter}: {len(values)} values, {len(seen)} different kernels"
