"""Compilers for the tests of the CUDA stand-in: the stand-in, and the real one where it is installed."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support import cuda_standin

PROGRAMS = Path(cuda_standin.__file__).parent / "programs"
REAL = shutil.which("nvcc")  # tests put the stand-in on the PATH of what they start, never on their own
NO_REAL = "nvcc is not installed: that CUDA takes what the stand-in takes is not checked here"


def nvcc(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The stand-in, found as a build finds it: by its name."""
    path = f"{cuda_standin.BIN}{os.pathsep}{os.environ['PATH']}"
    return _run(["nvcc", *map(str, arguments)], cwd, {**os.environ, "PATH": path})


def real_nvcc(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """NVIDIA's compiler. Only where REAL is set."""
    assert REAL
    return _run([REAL, *map(str, arguments)], cwd, dict(os.environ))


def run(program: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A program that was built."""
    return _run([str(program), *map(str, arguments)], program.parent, dict(os.environ))


def build(program: str, folder: Path, *flags: str) -> Path:
    """One of the stand-in's own programs; the built file, in `folder`."""
    out = folder / program
    usual = ["-O2", "-std=c++17", "-arch=sm_90", "-Xcompiler", "-Wall,-Wextra"]
    built = nvcc(*usual, *flags, PROGRAMS / f"{program}.cu", "-o", out, cwd=folder)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return out


def _run(command: Sequence[str], cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120)
