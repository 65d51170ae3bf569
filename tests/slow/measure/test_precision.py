"""Lower precision inside a shipped task's kernel: refused by its check, and by the default tolerance."""

import platform
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kpd.measure.bench import CheckFailed
from kpd.measure.c.bench import prepare
from kpd.measure.driver.bench import DriverBench
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task
from tests.places import TESTS
from tests.support.measure.measured import THIS_CPU, local_host
from tests.support.measure.tasks import built, numbers, point

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHEATS = TESTS / "cheats" / "c"
CUT = (
    "#include <string.h>\nstatic float cut(float v) { int bits; memcpy(&bits, &v, 4);"
    " bits &= (int)0xfffff000; memcpy(&v, &bits, 4); return v; }\n"
)
"""To 11 bits of mantissa."""
FACTORS = {
    "conv2d_cpu": ("w[i * SIZE + j] * x[i * wide + j]", "cut(w[i * SIZE + j]) * cut(x[i * wide + j])"),
    "matmul_cpu": ("a[i * k + l] * b[l * n + j]", "cut(a[i * k + l]) * cut(b[l * n + j])"),
}
ROUGH = ("mantissa_11", "cubic", "reciprocal", "root")
"""The variants of low_precision.c in order: 11 bits, a cubic exponential, rcpss, rsqrtss."""


@pytest.fixture(scope="module", params=[*FACTORS, "rmsnorm_silu_cpu"], name="bench")
async def _bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DriverBench]:
    async with local_host(tmp_path_factory.mktemp(request.param)) as host:
        yield await prepare(host, load_task(shipped("tasks") / request.param), THIS_CPU, print)


def inexact(task: str, source: str) -> dict[str, str]:
    """The kernels by the name of what they do."""
    if task in FACTORS:
        assert FACTORS[task][0] in source
        return {
            "mantissa_11": source.replace('#include "kernel.h"\n', '#include "kernel.h"\n' + CUT).replace(
                *FACTORS[task]
            )
        }
    row, text = ((CHEATS / name).read_text() for name in ("parts/rmsnorm_row.c", "correctness/low_precision.c"))
    return {name: f"#define HOW {number}\n{row}\n{text}" for number, name in enumerate(ROUGH)}


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="some of the kernels use instructions of x86")
@pytest.mark.parametrize("default", [False, True], ids=["as it ships", "default tolerance"])
async def test_lower_precision_is_refused(bench: DriverBench, default: bool) -> None:
    if default:
        plain = replace(bench.task.check, rtol=None, atol=None)
        bench = await prepare(bench.host, replace(bench.task, check=plain), THIS_CPU, print)
    files = point(bench, flags="-O3 -march=native")
    await bench.check(await built(bench, files), f"own{next(numbers)}", print)
    for name, source in inexact(bench.task.name, files["kernel.c"].decode()).items():
        with pytest.raises(CheckFailed, match="times the tolerance"):
            await bench.check(
                await built(bench, {**files, "kernel.c": source.encode()}), f"{name}{next(numbers)}", print
            )
