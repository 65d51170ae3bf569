"""CUDA programs built and run by the stand-in. They check themselves and print `ok`."""

import math
import signal
import struct
import sys
from pathlib import Path

import pytest

from tests.support.measure.nvcc import NO_REAL, PROGRAMS, REAL, build, nvcc, real_nvcc, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the CUDA stand-in is for Linux, as CUDA is")


@pytest.mark.parametrize("program", ["elementwise", "warps", "atomics", "order"])
def test_a_program_computes_what_a_gpu_would(program: str, tmp_path: Path) -> None:
    done = run(build(program, tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_shared_memory_and_barriers(tmp_path: Path) -> None:
    program = build("shared", tmp_path)
    assert run(program).stdout == "ok\n"
    assert run(program, "race").stdout == "ok\n"  # a missing barrier is seen, every time


def test_the_portable_fibers(tmp_path: Path) -> None:
    assert run(build("warps", tmp_path, "-DKPD_STANDIN_UCONTEXT")).stdout == "ok\n"


def test_16_bit_numbers_are_those_of_others(tmp_path: Path) -> None:
    out = tmp_path / "decoded"
    assert run(build("halves", tmp_path), out).stdout == "ok\n"
    values = struct.unpack("<131072f", out.read_bytes())
    codes = [struct.pack("<H", code) for code in range(1 << 16)]
    halves = [struct.unpack("<e", code)[0] for code in codes]
    bfloats = [struct.unpack("<f", b"\0\0" + code)[0] for code in codes]
    wrong = [i for i, (got, want) in enumerate(zip(values, halves + bfloats, strict=True)) if not same(got, want)]
    assert wrong == []


def same(got: float, want: float) -> bool:
    return math.isnan(got) if math.isnan(want) else (got, math.copysign(1, got)) == (want, math.copysign(1, want))


@pytest.fixture(scope="module", name="errors")
def _errors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("errors", tmp_path_factory.mktemp("errors"))


@pytest.mark.parametrize("what", ["launch", "fork"])
def test_errors_are_reported_as_cuda_does(what: str, errors: Path) -> None:
    done = run(errors, what)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_a_bad_address_ends_the_device_and_not_the_process(errors: Path) -> None:
    done = run(errors, "address")
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "kernel far_away, block (0,0,0), thread (0,0,0): bad address" in done.stderr


@pytest.mark.parametrize(
    ("what", "kernel", "said"),
    [
        (
            "barrier",
            "half_a_barrier",
            "deadlock: 16 of the block's 48 threads wait at __syncthreads(), which the others",
        ),
        ("divided", "two_warps_one_barrier", "deadlock: waits in __syncwarp"),
        ("lane", "lost_lane", "deadlock: waits in __shfl_sync with mask 0xffffffff for lanes that never come there"),
    ],
)
def test_a_deadlock_is_a_message_and_an_end(what: str, kernel: str, said: str, errors: Path) -> None:
    done = run(errors, what)
    assert done.returncode == -signal.SIGABRT
    assert f"kernel {kernel}, block (0,0,0), thread (0,0,0): {said}" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(("cudart", "launch_error"), [("static", "unseen"), ("shared", "seen")])
def test_two_objects_live_side_by_side_in_a_forked_worker(cudart: str, launch_error: str, tmp_path: Path) -> None:
    flags = ["-O3", "-lineinfo", "-std=c++17", "-arch", "sm_90", "-cudart", cudart]
    flags += ["-Xptxas", "-v", "-Xcompiler", "-fPIC,-Wall"]
    for name, factor in (("a.so", 2), ("b.so", 3)):
        built = nvcc(*flags, "-shared", f"-DFACTOR={factor}", PROGRAMS / "object.cu", "-o", name, cwd=tmp_path)
        assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    loader = build("loader", tmp_path, "-cudart", cudart)
    done = run(loader, tmp_path / "a.so", tmp_path / "b.so", launch_error)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.skipif(REAL is None, reason=NO_REAL)
@pytest.mark.parametrize("source", sorted(path.name for path in PROGRAMS.glob("*.cu")))
def test_nvcc_takes_the_programs_too(source: str, tmp_path: Path) -> None:
    built = real_nvcc(
        "-arch=sm_90",
        "-std=c++17",
        "-Xcompiler",
        "-Wall",
        "-DFACTOR=2",
        "-c",
        PROGRAMS / source,
        "-o",
        "out.o",
        cwd=tmp_path,
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
