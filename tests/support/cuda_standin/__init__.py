"""A stand-in for nvcc and the CUDA runtime that runs kernels on the CPU; see README.md. A test aid."""

from pathlib import Path

BIN = Path(__file__).resolve().parent / "bin"  # tests put it first on PATH
INCLUDE = Path(__file__).resolve().parent / "include"
