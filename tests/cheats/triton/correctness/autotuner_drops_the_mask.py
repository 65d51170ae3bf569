#: matmul_triton
#: the autotuner may choose a kernel without masks, which is the fastest where it is timed first, for whatever comes later
import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "MASKED": masked}, num_warps=4, num_stages=3)
    for masked in (True, False)
]


@triton.autotune(configs=CONFIGS, key=["is_large"])
@triton.jit
def tuned_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, is_large,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows_wide = rows.to(tl.int64)[:, None]
    sums = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        b_at = at.to(tl.int64)[:, None] * n + cols[None, :]
        if MASKED:
            a = tl.load(a_ptr + rows_wide * k + at[None, :], mask=(rows[:, None] < m) & (at[None, :] < k), other=0.0)
            b = tl.load(b_ptr + b_at, mask=(at[:, None] < k) & (cols[None, :] < n), other=0.0)
        else:
            a = tl.load(a_ptr + rows_wide * k + at[None, :])
            b = tl.load(b_ptr + b_at)
        sums = tl.dot(a, b, sums)
    inside = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c_ptr + rows_wide * n + cols[None, :], sums.to(tl.float16), mask=inside)


def matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)

    def grid(meta):
        return triton.cdiv(m, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"])

    tuned_kernel[grid](a, b, c, m, n, k, m * n >= 65536)
    return c
