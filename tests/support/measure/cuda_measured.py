"""A small task in CUDA, with a real host and a real compiler or the stand-in for one."""

import contextlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kpd.hosts.host import Host
from kpd.measure.bench import BuiltObject
from kpd.measure.cuda.build import build
from kpd.measure.cuda.nvcc import CudaToolchain, choose
from kpd.measure.cuda.sources import HARNESS, KERNEL, layer
from kpd.measure.jobs import out
from kpd.model.hosts import Device
from kpd.workspace.task import load_task
from tests.support.measure.measured import local_host

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH")
GPU = Device("GPU-00000000-1111-2222-3333-444444444444", "gpu", "NVIDIA H100 80GB HBM3", "sm_90", memory_mib=81_559)

# The stand-in is far too slow for the program that looks for a GPU's limits, so that one says what a GPU has said. All
# else is built by {nvcc}.
ROOFLINE_ONLY = """\
#!/bin/sh
case "$*" in
*/roofline.cu*)
  {{ echo '#!/bin/sh'; echo 'cat <<END'
     echo '{{"bandwidth":[[1048576,2900.0],[16777216,5100.0],[1073741824,2700.0]],"peak_gflops":52000.0}}'; echo END
  }} >out/roofline
  chmod +x out/roofline ;;
*) exec {nvcc} "$@" ;;
esac
"""
TOML = """\
[task]
name = "blend"
language = "cuda"
editable = ["kernel.cu", "build.json"]
[check]
seeds = 1
limit_s = 60.0
[bench]
quads = 4
[roofline]
bytes = "n*12"
"""
# y = 2 x + k, of a float and an integer, and a length that no block divides.
HARNESS_CU = """\
#include "kpd_task.h"
enum { X, K, Y };
static const kpd_case cases[] = {{"large", {20011}}, {"odd", {1003}, KPD_CHECK_ONLY}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t n = (size_t)c->dims[0];
    b[X] = {"x", KPD_IN, KPD_F32, n};
    b[K] = {"k", KPD_IN, KPD_I32, n};
    b[Y] = {"y", KPD_OUT, KPD_F32, n};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[X], (size_t)c->dims[0]);
    kpd_fill_int(rng, d, data[K], (size_t)c->dims[0], -100, 100);
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    const float *x = (const float *)data[X];
    const int32_t *k = (const int32_t *)data[K];
    for (long i = 0; i < c->dims[0]; i++) want[Y][i] = 2.0 * x[i] + k[i];
}
static void call(const kpd_case *c, void *const *device, cudaStream_t stream) {
    blend((const float *)device[X], (const int *)device[K], (float *)device[Y], c->dims[0], stream);
}
const kpd_task_t kpd_task = {"blend", {"n"}, cases, 2, 3, buffers, fill, oracle, call};
"""
LOOP = "y[i] = 2.0f * x[i] + k[i];"


def kernel(body: str = LOOP, before: str = "", launch: str = "") -> str:
    """A kernel with this body for each element i, which `LOOP` makes right."""
    return f"""\
{before}
__global__ void blended(const float *x, const int *k, float *y, long n) {{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) {{ {body} }}
}}
void blend(const float *x, const int *k, float *y, long n, cudaStream_t stream) {{
    blended<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, k, y, n);
    {launch}
}}
"""


RIGHT = kernel()
ONE_FILE = f"""\
// ===== KERNEL SECTION (modify this section) =====
{RIGHT}
// ===== END KERNEL SECTION =====
// ===== HARNESS SECTION (do not modify) =====
{HARNESS_CU}
// ===== END HARNESS SECTION =====
"""


def task_folder(root: Path, one_file: bool = False, toml: str = TOML) -> Path:
    """The task's folder, in two files or in one."""
    folder = root / "tasks" / "blend"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(toml.replace("kernel.cu", "blend.cu") if one_file else toml)
    (folder / "build.json").write_text('{"flags": ""}')
    if one_file:
        (folder / "blend.cu").write_text(ONE_FILE)
    else:
        (folder / KERNEL).write_text(RIGHT)
        (folder / HARNESS).write_text(HARNESS_CU)
    return folder


@dataclass(frozen=True)
class Builds:
    """Builds of candidates of the task."""

    host: Host
    tools: CudaToolchain
    root: Path

    async def build(self, source: str, *flags: str, limit_s: float = 60.0) -> BuiltObject:
        task = load_task(self.root / "tasks" / "blend")
        laid = layer(task)({KERNEL: source.encode()})
        tree = await self.host.stage({HARNESS: HARNESS_CU.encode(), **laid})
        return await build(self.host, self.tools, tree, flags, limit_s)

    async def read(self, job: str, name: str) -> str:
        return (await self.host.read(out(self.host, job, name), 1 << 22)).decode()


@contextlib.asynccontextmanager
async def builds(root: Path, tools: CudaToolchain | None = None) -> AsyncIterator[Builds]:
    """With these tools, or with the nvcc that the host has."""
    task_folder(root)
    async with local_host(root / "host") as host:
        yield Builds(host, tools or choose(host.name, await host.probe(), GPU), root)
