"""Whose fault it is when CUDA reports an error: the kernel's, or the GPU's and its driver's."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError
from kpd.measure.bench import CheckFailed
from kpd.measure.driver.check import check
from kpd.measure.driver.timing import time_pair
from tests.support.measure.measured import FEW, QUICK, RIGHT, Lab, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("trouble")) as ready:
        yield ready


NOTHING_CHECKED = {
    "comparisons": 0, "worst": 0, "case": "", "distribution": "", "output": "", "index": 0, "failed": [],
}  # fmt: skip


def problem(message: str, **report: object) -> str:
    """The driver's report of a CUDA error."""
    seen = {"kind": "device", "who": "candidate", "case": "big", "distribution": "normal", "when": "check",
            "message": message, "signal": 0}  # fmt: skip
    return json.dumps({**(report or NOTHING_CHECKED), "problem": seen})


async def checked(lab: Lab, folder: Path, does: str) -> None:
    """A check by a driver that only does this."""
    driver = folder / "driver"
    driver.write_text(f"#!/bin/sh\n{does}\n")
    driver.chmod(0o755)
    built = (await lab.build(RIGHT)).job
    await check(lab.host, replace(lab.harness, program=str(driver)), built, f"check-{folder.name}", QUICK)


@pytest.mark.parametrize(
    "error",
    [
        "cudaErrorIllegalAddress: an illegal memory access was encountered",
        "cudaErrorInvalidConfiguration: invalid configuration argument",
        "cudaErrorMemoryAllocation: out of memory",
        "cudaErrorInvalidDevice: invalid device ordinal",
        "the kernel leaves the device at work for 810.0 us after its stream is done",
        "1003 needs 96 MB, but the kernels have left 12 MB of device memory",
    ],
)
async def test_what_a_kernel_brings_about_is_its_own_fault(lab: Lab, tmp_path: Path, error: str) -> None:
    with pytest.raises(CheckFailed, match=f"^big, normal: {error}$"):
        await checked(lab, tmp_path, f"echo '{problem(error)}'; exit 1")


FULL = "kpd driver: big needs 512 MB of device memory, of which 300 MB may be taken, half of what was free"
FULL_IN_PYTHON = "the GPU's driver refuses what a measurement needs: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)"
SICK = {
    "cudaErrorECCUncorrectable: uncorrectable ECC error encountered": ("host", "replace the GPU"),
    "cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable": ("host", "compute mode"),
}


@pytest.mark.parametrize("error", SICK)
async def test_a_gpu_that_is_sick_is_not(lab: Lab, tmp_path: Path, error: str) -> None:
    kind, remedy = SICK[error]
    for _ in range(2):  # and it is not remembered
        with pytest.raises(HostError, match="GPU") as caught:
            await checked(lab, tmp_path, f"echo '{problem(error)}'; exit 1")
        assert caught.value.kind == kind
        assert remedy in caught.value.remedy
        assert error in caught.value.message


@pytest.mark.parametrize("said", [FULL, FULL_IN_PYTHON])
async def test_a_gpu_that_is_full_is_busy(lab: Lab, tmp_path: Path, said: str) -> None:
    with pytest.raises(HostError, match="the GPU's memory is taken: ") as caught:
        await checked(lab, tmp_path, f'echo "{said}" >&2; exit 2')
    assert said in caught.value.message
    assert caught.value.kind == "busy"
    assert "end other work on the GPU" in caught.value.remedy


STARTS = {
    "cudaErrorNoDevice: no CUDA-capable device is detected": ("host", "nvidia-smi"),
    "cudaErrorInsufficientDriver: CUDA driver version is insufficient": ("host", "newer NVIDIA driver"),
    "cudaErrorInitializationError: initialization error": ("host", "nvidia-smi"),
    "cudaErrorMemoryAllocation: out of memory": ("busy", "end other work"),
    "it has died": ("host", "the task's harness"),
}


@pytest.mark.parametrize("error", STARTS)
async def test_a_worker_that_cannot_start_is_the_hosts_trouble(lab: Lab, tmp_path: Path, error: str) -> None:
    kind, remedy = STARTS[error]
    with pytest.raises(HostError) as caught:
        await checked(lab, tmp_path, f"echo 'kpd driver: the worker cannot start: {error}' >&2; exit 2")
    assert caught.value.kind == kind
    assert remedy in caught.value.remedy


async def test_the_same_holds_while_it_is_timed(lab: Lab, tmp_path: Path) -> None:
    driver = tmp_path / "driver"
    driver.write_text(f"#!/bin/sh\necho '{FULL}' >&2; exit 2\n")
    driver.chmod(0o755)
    built = (await lab.build(RIGHT)).job
    samples = time_pair(lab.host, replace(lab.harness, program=str(driver)), built, built, "full", 0, 2, FEW, QUICK)
    with pytest.raises(HostError, match="the GPU's memory is taken"):
        async for _ in samples:
            pass
