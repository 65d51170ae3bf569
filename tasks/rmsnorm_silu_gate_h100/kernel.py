"""RMS norm with weights and a SiLU gate, fused: the plain version. One program a row, and the row is read twice."""

import torch
import triton
import triton.language as tl

BLOCK = 256
WARPS = 4


@triton.jit
def rmsnorm_silu_kernel(x_ptr, gate_ptr, weight_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < cols, other=0.0).to(tl.float32)
        squares += x * x
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        x = tl.load(x_ptr + row + at, mask=inside, other=0.0).to(tl.float32)
        gate = tl.load(gate_ptr + row + at, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + at, mask=inside, other=0.0).to(tl.float32)
        y = x * scale * weight * gate / (1.0 + tl.exp(-gate))
        tl.store(y_ptr + row + at, y.to(tl.float16), mask=inside)


def rmsnorm_silu(x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    rows, cols = x.shape
    y = torch.empty_like(x)
    rmsnorm_silu_kernel[(rows,)](x, gate, weight, y, cols, eps, BLOCK=BLOCK, num_warps=WARPS)
    return y
