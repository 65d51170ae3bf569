"""The CUDA driver, on the CPU stand-in: right kernels pass, and each wrong one is told what is wrong with it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kpd.measure.roofline import roofline_of
from tests.support.measure.cuda_driver import NVCC, build, compile_with, sources


def test_the_roofline_is_one(tmp_path: Path) -> None:
    sources(tmp_path, {})
    compile_with(NVCC, tmp_path, "roofline", "kpd/cuda/roofline.cu")
    done = subprocess.run(["./roofline"], cwd=tmp_path, capture_output=True, check=True)
    found = roofline_of(done.stdout)
    assert [point for point, _ in found.bandwidth] == [4**step << 20 for step in range(6)]


def test_a_machine_without_a_gpu_is_no_fault_of_the_kernel(tmp_path: Path) -> None:
    """With the real compiler's runtime, which finds no driver here; where there is one, nothing is wrong."""
    nvcc = shutil.which("nvcc")
    if nvcc is None or Path("/dev/nvidiactl").exists():
        pytest.skip("needs nvcc, and a machine without a GPU")
    real = build(tmp_path, nvcc)
    done = real.bench("check", real.kernel(), 1, 20_000)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.match(r"kpd driver: the worker cannot start: cudaError\w+: ", done.stderr)
