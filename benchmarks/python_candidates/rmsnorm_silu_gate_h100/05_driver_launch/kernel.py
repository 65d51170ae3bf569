"""RMS norm with weights and a SiLU gate, fused: the driver is called with parameters that are laid out once.

Written for Triton 3.6, whose kernels have two more parameters than their source: scratch memory. This one needs none.
"""

import struct

import numpy as np
import torch
import triton
import triton.language as tl
from cuda.bindings.driver import CUfunction, CUstream, cuLaunchKernel

EACH = 8  # elements of a row that a thread has
KEPT: dict[tuple[int, ...], tuple] = {}
current_stream = torch._C._cuda_getCurrentRawStream
empty_like = torch.empty_like
pack = struct.Struct("<4Qf4x2Q").pack_into  # four pointers, eps, and two of scratch memory
STEPS = (0, 8, 16, 24, 32, 40, 48)


@triton.jit
def rmsnorm_silu_kernel(x_ptr, gate_ptr, weight_ptr, y_ptr, eps, COLS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < COLS
    here = tl.program_id(0).to(tl.int64) * COLS + at
    x = tl.load(x_ptr + here, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
    gate = tl.load(gate_ptr + here, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
    weight = tl.load(weight_ptr + at, mask=inside, other=0.0, eviction_policy="evict_last").to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / COLS + eps)
    y = x * scale * weight * gate / (1.0 + tl.exp(-gate))
    tl.store(y_ptr + here, y.to(tl.float16), mask=inside)


def first(x, gate, weight, y, eps):
    """Let Triton compile and launch the kernel; keep it by the shape if the arrays are aligned as usual."""
    rows, cols = x.shape
    block = triton.next_power_of_2(cols)
    warps = min(max(block // (32 * EACH), 1), 32)
    kernel = rmsnorm_silu_kernel[(rows,)](x, gate, weight, y, float(eps), COLS=cols, BLOCK=block, num_warps=warps)
    run, about = kernel.run, kernel.metadata
    plain = not (run.launch_cooperative_grid or run.launch_pdl or run.global_scratch_size or run.profile_scratch_size)
    if plain and about.num_ctas == 1 and not (x.data_ptr() | gate.data_ptr() | weight.data_ptr()) & 15:
        values = np.zeros(STEPS[-1] + 8, dtype=np.uint8)
        at = values.__array_interface__["data"][0]
        table = np.array([at + step for step in STEPS], dtype=np.uint64)
        where = table.__array_interface__["data"][0]
        shape = (rows, 1, 1, 32 * about.num_warps, 1, 1, about.shared)
        KEPT[x.shape] = (memoryview(values), CUfunction(kernel.function), shape, where, x.get_device(), table, kernel)
    return y


def rmsnorm_silu(x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    y = empty_like(x)
    kept = KEPT.get(x.shape)
    a, b, c = x.data_ptr(), gate.data_ptr(), weight.data_ptr()
    if kept is None or (a | b | c) & 15:
        return first(x, gate, weight, y, eps)
    values, function, shape, where, device, _, _ = kept
    pack(values, 0, a, b, c, y.data_ptr(), eps, 0, 0)
    (failed,) = cuLaunchKernel(function, *shape, CUstream(current_stream(device)), where, 0)
    if failed:
        raise RuntimeError(f"cuLaunchKernel: {failed}")
    return y
