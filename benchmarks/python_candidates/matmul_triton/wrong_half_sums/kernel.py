"""Matrix product in Triton, wrong on purpose: its sums are kept in float16, which a deep product does not bear."""

import torch
import triton
import triton.language as tl

BLOCK_M = 64
BLOCK_N = 64
BLOCK_K = 32
WARPS = 4
STAGES = 2


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows_wide = rows.to(tl.int64)[:, None]
    sums = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float16)
    for start in range(0, k, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows_wide * k + at[None, :], mask=(rows[:, None] < m) & (at[None, :] < k), other=0.0)
        b_at = at.to(tl.int64)[:, None] * n + cols[None, :]
        b = tl.load(b_ptr + b_at, mask=(at[:, None] < k) & (cols[None, :] < n), other=0.0)
        sums = tl.dot(a, b, sums, out_dtype=tl.float16)
    inside = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c_ptr + rows_wide * n + cols[None, :], sums, mask=inside)


def matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, BLOCK_M), triton.cdiv(n, BLOCK_N))
    blocks = {"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "BLOCK_K": BLOCK_K}
    matmul_kernel[grid](a, b, c, m, n, k, **blocks, num_warps=WARPS, num_stages=STAGES)
    return c
