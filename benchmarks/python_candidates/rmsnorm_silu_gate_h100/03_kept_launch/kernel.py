"""RMS norm with weights and a SiLU gate, fused: what Triton compiled for a shape is kept, and run with new tensors."""

import torch
import triton
import triton.language as tl
from triton.runtime import driver

EACH = 8  # elements of a row that a thread has
KEPT: dict[tuple[int, ...], tuple] = {}
current_stream = driver.active.get_current_stream


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
    if not unaligned(x, gate, weight):
        KEPT[x.shape] = (rows, kernel.run, kernel.function, kernel.packed_metadata, x.get_device(), cols, block)
    return y


def unaligned(x, gate, weight):
    return (x.data_ptr() | gate.data_ptr() | weight.data_ptr()) & 15


def rmsnorm_silu(x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    y = torch.empty_like(x)
    kept = KEPT.get(x.shape)
    if kept is None or unaligned(x, gate, weight):
        return first(x, gate, weight, y, eps)
    rows, run, function, packed, device, cols, block = kept
    run(rows, 1, 1, current_stream(device), function, packed, None, None, None, x, gate, weight, y, eps, cols, block)
    return y
