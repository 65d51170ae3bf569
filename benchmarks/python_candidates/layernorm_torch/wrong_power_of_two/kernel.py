"""Layer norm of a sum in Triton, wrong on purpose: the variance is divided by the block's size, not the row's."""

import torch
import triton
import triton.language as tl

EACH = 8  # elements of a row that a thread has


@triton.jit
def layernorm_kernel(x_ptr, residual_ptr, weight_ptr, bias_ptr, y_ptr, eps, COLS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < COLS
    here = tl.program_id(0).to(tl.int64) * COLS + at
    total = tl.load(x_ptr + here, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(residual_ptr + here, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + at, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + at, mask=inside, other=0.0).to(tl.float32)
    off = tl.where(inside, total - tl.sum(total, axis=0) / COLS, 0.0)
    scale = tl.rsqrt(tl.sum(off * off, axis=0) / BLOCK + eps)
    tl.store(y_ptr + here, (off * scale * weight + bias).to(tl.bfloat16), mask=inside)


def layernorm(x, residual, weight, bias, eps):
    rows, cols = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    warps = min(max(block // (32 * EACH), 1), 16)
    layernorm_kernel[(rows,)](x, residual, weight, bias, y, eps, COLS=cols, BLOCK=block, num_warps=warps)
    return y
