#: matmul_triton
#: large tiles in groups that share columns
import torch
import triton
import triton.language as tl

GROUP = 8  # rows of tiles that go together


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    many_n = tl.cdiv(n, BLOCK_N)
    group = tl.program_id(0) // (GROUP * many_n)
    first = group * GROUP
    tall = min(tl.cdiv(m, BLOCK_M) - first, GROUP)
    within = tl.program_id(0) % (GROUP * many_n)
    rows = (first + within % tall) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (within // tall) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows_wide = rows.to(tl.int64)[:, None]
    sums = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows_wide * k + at[None, :], mask=(rows[:, None] < m) & (at[None, :] < k), other=0.0)
        b_at = at.to(tl.int64)[:, None] * n + cols[None, :]
        b = tl.load(b_ptr + b_at, mask=(at[:, None] < k) & (cols[None, :] < n), other=0.0)
        sums = tl.dot(a, b, sums)
    inside = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c_ptr + rows_wide * n + cols[None, :], sums.to(tl.float16), mask=inside)


def matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    high, wide, warps = (128, 128, 8) if m >= 1024 and n >= 1024 else (64, 64, 4) if m > 16 else (16, 64, 4)
    grid = (triton.cdiv(m, high) * triton.cdiv(n, wide),)
    matmul_kernel[grid](
        a, b, c, m, n, k, BLOCK_M=high, BLOCK_N=wide, BLOCK_K=64, GROUP=GROUP, num_warps=warps, num_stages=3
    )
    return c
