"""A bench for CUDA that stands on this machine's compilers."""

from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kpd.measure.cuda.bench import prepare
from kpd.measure.driver.bench import DriverBench
from kpd.model.hosts import Device
from kpd.workspace.task import load_task
from tests.support import cuda_standin
from tests.support.measure.cuda_measured import ROOFLINE_ONLY, TOML, task_folder
from tests.support.measure.measured import local_host

CPU_AS_GPU = Device("GPU-00000000-1111-2222-3333-444444444444", "gpu", "a stand-in for a GPU", "sm_00")


def quiet(text: str) -> None:
    """Nobody listens."""


@asynccontextmanager
async def standing_in(root: Path, one_file: bool = False, toml: str = TOML):
    """The task made ready where the stand-in is the only nvcc."""
    folder = task_folder(root, one_file, toml)
    (root / "bin").mkdir()
    (root / "bin" / "nvcc").write_text(ROOFLINE_ONLY.format(nvcc=cuda_standin.BIN / "nvcc"))
    (root / "bin" / "nvcc").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(root / "bin"), prepend=":")
        async with local_host(root / "host") as host:
            yield await prepare(host, load_task(folder), CPU_AS_GPU, quiet)


async def built(bench: DriverBench, source: str, flags: str = "", name: str = "kernel.cu") -> str:
    files = {name: source.encode(), "build.json": b'{"flags": "%b"}' % flags.encode()}
    return (await bench.build(await bench.stage(files), files, quiet)).job
