"""RMS norm with weights and a SiLU gate, fused: compiled for each width, with as many warps as it fills."""

import torch
import triton
import triton.language as tl

EACH = 8  # elements of a row that a thread has


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


def rmsnorm_silu(x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    rows, cols = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    warps = min(max(block // (32 * EACH), 1), 32)
    rmsnorm_silu_kernel[(rows,)](x, gate, weight, y, eps, COLS=cols, BLOCK=block, num_warps=warps)
    return y
