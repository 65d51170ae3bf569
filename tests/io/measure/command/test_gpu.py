"""Tasks with their own benchmark on a GPU, with nvcc and nvidia-smi stood in for: the lease, the device's roofline."""

import contextlib
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.command.bench import CommandBench, prepare
from kpd.measure.score import case_times, impossible
from kpd.model.hosts import Device
from kpd.text import faults
from kpd.workspace.task import load_task
from tests.support import cuda_standin
from tests.support.measure.cuda_measured import ROOFLINE_ONLY
from tests.support.measure.measured import local_host

GPU = Device("GPU-00000000-1111-2222-3333-444444444444", "gpu", "a stand-in for a GPU", "sm_00")
TOML = """
[task]
name = "moved"
language = "triton"
editable = ["kernel.py"]
[bench]
command = "python3 benchmark.py"
[roofline]
bytes = "n*8"
flops = "n*{dim}"
"""
BENCHMARK = """
import json, kernel
case = {"name": "all", "us": kernel.US, "dims": {"n": 100_000_000}}
print(json.dumps({"ok": True, "best_us": kernel.US, "cases": [case]}))
"""
NUMBERS = count()


@contextlib.asynccontextmanager
async def standing_in(root: Path, said: list[str], dim: str = "2", **programs: str) -> AsyncIterator[CommandBench]:
    """The task made ready where these programs are first on the PATH."""
    home, bin = root / "moved", root / "bin"
    home.mkdir()
    (home / "task.toml").write_text(TOML.format(dim=dim))
    (home / "kernel.py").write_text("US = 400.0\n")
    (home / "benchmark.py").write_text(BENCHMARK)
    bin.mkdir()
    for name, text in programs.items():
        (bin / name.replace("_", "-")).write_text(text)
        (bin / name.replace("_", "-")).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(bin), prepend=":")
        async with local_host(root / "host") as host:
            yield await prepare(host, load_task(home), GPU, said.append)


async def built(bench: CommandBench, us: float) -> str:
    files = {"kernel.py": f"US = {us}\n".encode()}
    return (await bench.build(await bench.stage(files), files, print)).job


async def timed(bench: CommandBench, us: float) -> str:
    """A pair of runs, and whether its times are possible."""
    job = await built(bench, us)
    samples = [sample async for sample in bench.time(job, job, f"time{next(NUMBERS)}", 0, 1, print)]
    (case,) = case_times(samples, bench.work)
    assert case.bytes == 8e8
    too_fast = impossible([case], bench.work)
    return faults.impossible(too_fast) if too_fast else ""


NVCC = ROOFLINE_ONLY.format(nvcc=cuda_standin.BIN / "nvcc")


async def test_a_case_that_tells_its_dims_has_a_roofline_and_cannot_be_quicker(tmp_path: Path) -> None:
    async with standing_in(tmp_path, [], nvcc=NVCC) as bench:
        assert bench.peaks == (2700.0, 52_000.0)
        assert await timed(bench, 400.0) == ""
        work = bench.work["all"]
        assert (work.bytes, work.flops) == (8e8, 2e8)
        assert work.roofline_us == pytest.approx(8e8 / 2700.0 / 1e3)
        assert (await timed(bench, 0.001)).startswith("all in 0.001 us is faster than this machine can be")


async def test_a_gpu_that_was_slowed_when_it_was_measured_is_measured_once_more(tmp_path: Path) -> None:
    async with standing_in(tmp_path, [], nvcc=NVCC) as bench:
        await timed(bench, 400.0)
        for faster, known in (("8100.0", 8100.0), ("9900.0", 8100.0)):
            (tmp_path / "bin" / "nvcc").write_text(NVCC.replace("2700.0", faster))
            await bench.remeasure()
            assert bench.peaks == (known, 52_000.0)
            assert bench.work["all"].roofline_us == pytest.approx(8e8 / known / 1e3)


async def test_a_dim_that_is_not_told_leaves_what_can_be_known(tmp_path: Path) -> None:
    async with standing_in(tmp_path, [], dim="depth", nvcc=NVCC) as bench:
        assert await timed(bench, 400.0) == ""
        assert bench.work["all"].flops is None


async def test_a_toolkit_that_cannot_tell_is_said_and_does_without(tmp_path: Path) -> None:
    said: list[str] = []
    async with standing_in(tmp_path, said, nvcc="#!/bin/sh\necho 'nvcc fatal: no licence' >&2; exit 1\n") as bench:
        assert bench.peaks == (None, None)
        assert await timed(bench, 0.001) == ""
    assert len(said) == 1
    assert said[0].startswith("no roofline")


async def test_a_check_does_not_look_whether_the_gpu_is_quiet_and_timing_does(tmp_path: Path) -> None:
    """It has the lock, and need not wait for others to leave."""
    asked = tmp_path / "asked"
    async with standing_in(tmp_path, [], nvidia_smi=f"#!/bin/sh\necho >> {asked}\nexit 1\n") as bench:
        job = await built(bench, 400.0)
        asked.unlink(missing_ok=True)
        assert (await bench.check(job, "check", print)).comparisons == 1
        assert not asked.exists()
        with contextlib.suppress(HostError):  # it does not get to see that the GPU is quiet
            await timed(bench, 400.0)
        assert asked.exists()
