"""The CPU tasks that ship: right as they stand, tunable in earnest, and judged by a harness that sees what is wrong."""

import platform
from dataclasses import replace

import pytest

from kpd.agents.space import read_point
from kpd.measure.bench import CheckFailed
from kpd.measure.c.build import ASSEMBLY
from kpd.measure.driver.bench import DriverBench
from kpd.measure.driver.repeat import NEW_INPUTS
from kpd.measure.jobs import out
from kpd.measure.roofline import Roofline, work
from kpd.workspace import expr
from kpd.workspace.specs import RooflineSpec
from kpd.workspace.task import TaskError
from tests.support.measure.tasks import GOOD_POINTS, _bench, built, numbers, point

__all__ = ["_bench"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

"""Points that any machine has much less work with than with the plain kernel."""
BASES = {
    "conv2d_cpu": {"VEC": "4", "COLS": "2", "ROWS": "2", "flags": "-O2"},
    "histogram_cpu": {"TABLES": "2", "WORD": "4", "flags": "-O2"},
    "matmul_cpu": {"VEC": "4", "COLS": "2", "ROWS": "2", "flags": "-O2"},
    "rmsnorm_silu_cpu": {"VEC": "4", "flags": "-O2"},
    "transpose_cpu": {"VEC": "4", "TILE_ROWS": "16", "flags": "-O2"},
}
"""Where every other parameter has something to act upon."""
WRONG = {
    "conv2d_cpu": {"c = blocked; c < cols; c++": "c = blocked; c < cols - 1; c++"},
    "histogram_cpu": {"v < BINS; v++": "v < BINS - 1; v++"},
    "matmul_cpu": {"(size_t)(m * n)": "(size_t)((m - 1) * n)", "i < m; i++)": "i < m - 1; i++)"},
    "rmsnorm_silu_cpu": {"c + STEP <= cols": "c + STEP <= cols - 7", "c < cols; c += VEC": "c < cols - 7; c += VEC"},
    "transpose_cpu": {"y < i_end; y += VEC": "y < i_end - 1; y += VEC"},
}
"""Kernels that leave out a tail or a row, as replacements in the source."""
X86_ONLY = {"STREAM"}


async def test_every_value_of_every_parameter_makes_other_code(bench: DriverBench) -> None:
    """A parameter that the compiler does not see would waste the sweep's time."""
    base = BASES[bench.task.name]
    at = read_point(bench.task, point(bench, **base))
    for name, values in bench.task.tune.items():
        if name in X86_ONLY and platform.machine() not in ("x86_64", "AMD64"):
            continue
        assert at[name] in values
        seen = set()
        for value in values:
            job = await built(bench, point(bench, **{**base, name: value}))
            seen.add(await bench.host.read(out(bench.host, job, ASSEMBLY), 1 << 22))
        wanted = 2 if name == "flags" else len(values)  # two sets of flags may mean the same to one compiler
        assert len(seen) >= wanted, f"{name}: {len(values)} values, {len(seen)} different kernels"


async def test_a_kernel_that_leaves_something_out_is_found_out(bench: DriverBench) -> None:
    files = point(bench)
    source = files["kernel.c"].decode()
    for old, new in WRONG[bench.task.name].items():
        assert old in source
        source = source.replace(old, new)
    wrong = {**files, "kernel.c": source.encode()}
    with pytest.raises(CheckFailed, match=r"is unwritten, should be"):
        await bench.check(await built(bench, wrong), f"check{next(numbers)}", print)


@pytest.mark.parametrize("bench", ["histogram_cpu"], indirect=True)
async def test_a_count_of_nothing_that_counts_something_is_found_out(bench: DriverBench) -> None:
    """Where a case of the task has no inputs at all."""
    files = point(bench, **GOOD_POINTS["histogram_cpu"])
    source = files["kernel.c"].decode().replace("long i = 0;", "long i = 0; n += !n;")
    with pytest.raises(CheckFailed, match=r"^0, .*read past the end of x"):
        await bench.check(await built(bench, {**files, "kernel.c": source.encode()}), f"check{next(numbers)}", print)


@pytest.mark.parametrize("tuned", [False, True])
async def test_its_kernels_repeat_themselves_and_end_well(bench: DriverBench, tuned: bool) -> None:
    job = await built(bench, point(bench, **GOOD_POINTS[bench.task.name] if tuned else {}))
    calls = await bench.repeat(job, f"repeats{next(numbers)}", print)
    assert calls.keys() - {NEW_INPUTS} == {case.name for case in bench.harness.cases}


async def test_the_roofline_knows_every_case(bench: DriverBench) -> None:
    assert bench.work.keys() == {case.name for case in bench.harness.cases}
    for case in bench.harness.cases:
        least = bench.work[case.name]
        assert least.bytes == pytest.approx(sum(case.bytes.values()), rel=0.01)
        assert least.roofline_us is not None
        assert least.roofline_us > 0


async def test_what_is_too_long_to_be_read_is_no_trouble_of_the_host(
    bench: DriverBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kpd.measure.driver.bench.LISTING_LIMIT", 100)
    assert (await bench.listing(await built(bench, point(bench)))).assembly == ""


async def test_a_profiler_can_run_it_and_read_what_the_compiler_wrote(bench: DriverBench) -> None:
    job = await built(bench, point(bench))
    listing = await bench.listing(job)
    assert bench.harness.symbol in listing.assembly
    assert "kernel.c" in listing.remarks
    ran = await bench.counted(job, f"perf{next(numbers)}", lambda calls: f"{calls(1)}\n{calls(2)}\n", print)
    assert (ran.rc, ran.stdout) == (0, b"")


async def test_a_roofline_of_unknown_dims_names_the_task(bench: DriverBench) -> None:
    strange = replace(bench.task, roofline=RooflineSpec(bytes=expr.parse("rows*depth")))
    with pytest.raises(TaskError, match="depth"):
        work(strange, Roofline(((1 << 20, 10.0),), 10.0), bench.harness.cases[0].dims)
