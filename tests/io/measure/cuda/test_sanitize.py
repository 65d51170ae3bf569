"""compute-sanitizer on a real GPU: what strays by one element and what races is seen, all else is left in peace."""

import shutil
from collections.abc import AsyncIterator

import pytest

from kpd.measure.catalogue import prepare
from kpd.measure.driver.bench import DriverBench
from kpd.model.hosts import Device
from kpd.model.sanitizer import TOOLS, Tool
from kpd.workspace.task import load_task
from tests.support.measure.cuda_measured import LOOP, kernel, task_folder
from tests.support.measure.measured import local_host

pytestmark = [
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs an NVIDIA GPU, nvcc and compute-sanitizer"),
    pytest.mark.asyncio(loop_scope="module"),
]

SHARED = "__shared__ volatile float tile[60]; tile[threadIdx.x % 60 {stray}] = 0; " + LOOP


@pytest.fixture(scope="module", name="bench")
async def _bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DriverBench]:
    root = tmp_path_factory.mktemp("gpu")
    task = load_task(task_folder(root))
    async with local_host(root / "host") as host:
        gpu = (await host.probe())["gpus"][0]
        device = Device(gpu.uuid, "gpu", gpu.name, arch=gpu.arch)
        bench = await prepare(host, task, device, quiet)
        assert isinstance(bench, DriverBench)
        yield bench


def quiet(text: str) -> None:
    pass


async def tried(bench: DriverBench, body: str, tool: Tool = "memcheck") -> str:
    """What the tool says of a kernel with this body that passes the check; empty when nothing."""
    files = {"kernel.cu": kernel(body).encode(), "build.json": b'{"flags": ""}'}
    built = (await bench.build(await bench.stage(files), files, quiet)).job
    name = built.partition("-")[2][:8]
    await bench.check(built, f"check-{name}", quiet)
    found = await bench.sanitize(built, tool, f"{tool}-{name}", 60.0, quiet)
    assert found.cases == found.of or found.errors, found  # racecheck goes on after an error
    assert not found.trouble
    return found.said


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_clean_kernel_passes(bench: DriverBench, tool: Tool) -> None:
    assert await tried(bench, LOOP, tool) == ""


async def test_shared_memory_within_its_bounds_passes(bench: DriverBench) -> None:
    assert await tried(bench, SHARED.format(stray="")) == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (LOOP + " if (i == n - 1) (void)*(volatile const float *)&x[n];", "Invalid __global__ read of size 4 bytes"),
        (LOOP + " if (i == 0) (void)*(volatile const int *)&k[-1];", "Invalid __global__ read of size 4 bytes"),
        (LOOP + " if (i == 0) (void)*(volatile float *)&y[n + 4096];", "Invalid __global__ read of size 4 bytes"),
        (SHARED.format(stray="+ 1"), "Invalid __shared__ write of size 4 bytes"),
    ],
    ids=["past an input", "before an input", "far past an output", "past shared memory"],
)
async def test_what_strays_is_told(bench: DriverBench, body: str, said: str) -> None:
    found = await tried(bench, body)
    assert found.startswith(said), found
    assert "blended" in found


RACE = "__shared__ float tile[256]; tile[threadIdx.x] = x[i]; float near = tile[threadIdx.x ^ 32]; "


async def test_a_race_in_shared_memory_is_told(bench: DriverBench) -> None:
    """The result does not depend on it: no check can see it."""
    race = await tried(bench, RACE + LOOP + " if (near == 12345.678f) y[i] += 0 * near;", "racecheck")
    assert "Race reported" in race, race
