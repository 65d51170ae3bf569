"""Reads what Triton says of the kernels that a call launches: the runner writes it beside the profiler's report."""

from dataclasses import dataclass

from kpd.model.codec import CodecError, decode

FILE = "triton.json"
"""The file in the `out/` folder of the profiler's job, and in the iteration's."""
LARGEST = 32 << 20
NAMES = ("local_bytes", "triton_shared_bytes", "triton_warps", "triton_stages")
"""The metrics that only kernels of Triton have."""


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """A compiled kernel. A thread's local memory holds what is spilled; shared memory is that of a block.

    `ttgir` and `ptx` are the compiler's texts.
    """

    name: str
    registers: int
    local_bytes: int
    shared_bytes: int
    warps: int
    stages: int
    ttgir: str = ""
    ptx: str = ""


@dataclass(frozen=True, slots=True)
class TritonKernels:
    """The kernels that were launched, and the numbers of those of each case."""

    kernels: tuple[TritonKernel, ...]
    cases: dict[str, tuple[int, ...]]


def parse(raw: bytes) -> TritonKernels:
    """Parse the runner's file. Raises CodecError."""
    found = decode(raw, TritonKernels)
    if any(number not in range(len(found.kernels)) for of in found.cases.values() for number in of):
        raise CodecError("a case names a kernel that is not there")
    return found


def metrics(found: TritonKernels) -> dict[str, float]:
    """Return the metrics, each the largest of any kernel; empty without kernels."""
    if not found.kernels:
        return {}
    return {
        "ptxas_registers": max(one.registers for one in found.kernels),
        "local_bytes": max(one.local_bytes for one in found.kernels),
        "triton_shared_bytes": max(one.shared_bytes for one in found.kernels),
        "triton_warps": max(one.warps for one in found.kernels),
        "triton_stages": max(one.stages for one in found.kernels),
    }
