"""CUDA candidates of several sources, built with the machine's own nvcc: each is compiled, and all are one object."""

import ctypes
from pathlib import Path

import pytest

from kpd.measure.compiling import BuildError
from kpd.measure.cuda.bench import harness
from kpd.measure.cuda.build import PTXAS, build
from kpd.measure.cuda.ptxas import parse
from kpd.measure.cuda.sources import UNIT, all_units, layer
from kpd.measure.driver.harness import OBJECT
from kpd.measure.jobs import out
from kpd.measure.objects import allowed
from kpd.measure.objects.elf import tables
from kpd.measure.objects.inspect import OBJECT_FILE
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task, load_task
from tests.support.measure.cuda_measured import RIGHT, TOML, Builds, builds, needs_nvcc, task_folder

pytestmark = [pytest.mark.asyncio(loop_scope="module"), needs_nvcc]
FATBIN = bytes.fromhex("50ed55ba")
"""What code for a GPU begins with in an object."""
LAUNCHED = RIGHT.replace("blend(const float", "launch(const float")
KERNEL = """\
#include "src/launch.h"
void blend(const float *x, const int *k, float *y, long n, cudaStream_t stream) {
    if (n > least()) launch(x, k, y, n, stream);
}
"""
HEADER = """\
#include <cuda_runtime.h>
void launch(const float *x, const int *k, float *y, long n, cudaStream_t stream);
long least();
"""
TREE = {
    "kernel.cu": KERNEL,
    "src/launch.h": HEADER,
    "src/launch.cu": '#include "launch.h"\n' + LAUNCHED,
    "src/host/least.cpp": '#include <src/launch.h>\nlong least() { return 0; }\n',
}  # fmt: skip


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with builds(tmp_path_factory.mktemp("units")) as ready:
        yield ready


def of_a_tree(root: Path) -> Task:
    folder = task_folder(root, toml=TOML.replace('"kernel.cu"', '"kernel.cu", "src/"'))
    for path, text in TREE.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return load_task(folder)


async def built(lab: Builds, task: Task, tree: dict[str, str]) -> str:
    files = {path: text.encode() for path, text in tree.items()}
    protected = read_files(task.folder, task.protected)
    staged = await lab.host.stage({**protected, **layer(task)(files)})
    units = all_units(task, protected, files)
    return (await build(lab.host, lab.tools, staged, (), 120.0, units=units)).job


async def test_every_source_is_compiled_and_all_are_one_object(lab: Builds, tmp_path: Path) -> None:
    task = of_a_tree(tmp_path)
    files = {path: text.encode() for path, text in TREE.items()}
    assert all_units(task, {}, files) == (UNIT, "src/host/least.cpp", "src/launch.cu")
    job = await built(lab, task, TREE)
    assert [one.name for one in parse(await lab.read(job, PTXAS))] == ["blended"]
    loaded = ctypes.CDLL(out(lab.host, job, OBJECT))
    assert loaded._Z5leastv() == 0, "the kernel's own unit finds what another defines"
    merged = await lab.host.read(out(lab.host, job, OBJECT_FILE), 1 << 24)
    assert merged.count(FATBIN) == 2, "what is looked at has the GPU's code of every unit"
    alone = await lab.host.read(out(lab.host, (await lab.build(RIGHT)).job, OBJECT_FILE), 1 << 24)
    assert set(tables(merged, allowed.CUDA)) == set(tables(alone, allowed.CUDA))
    ready = await harness(lab.host, lab.tools, task)
    assert len(ready.cases) == 2


async def test_what_one_of_several_lacks_is_told(lab: Builds, tmp_path: Path) -> None:
    task = of_a_tree(tmp_path)
    with pytest.raises(BuildError, match="undefined reference to `least") as caught:
        await built(lab, task, {path: text for path, text in TREE.items() if not path.endswith(".cpp")})
    assert caught.value.kind == "structural"
    with pytest.raises(BuildError, match=r'^src/spare\.cu\(1\): identifier "nowhere"'):
        await built(lab, task, {**TREE, "src/spare.cu": "__device__ int spare = nowhere;"})
    with pytest.raises(BuildError, match="multiple definition of `least"):
        await built(lab, task, {**TREE, "src/again.cpp": "long least() { return 1; }"})


async def test_a_device_function_is_known_in_its_own_unit_alone(lab: Builds, tmp_path: Path) -> None:
    other = TREE["src/launch.cu"].replace("2.0f * x[i]", "twice(x[i])")
    tree = {
        **TREE,
        "src/launch.cu": "extern __device__ float twice(float);\n" + other,
        "src/twice.cu": "__device__ float twice(float x) { return 2 * x; }\n",
    }
    with pytest.raises(BuildError, match="ptxas: Unresolved extern function '_Z5twicef'"):
        await built(lab, of_a_tree(tmp_path), tree)
