#: matmul_triton
#: as many programs as processors take tiles in turn, by tensor descriptors (TMA); plain loads where a row is not aligned
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

PROCESSORS = {}


@triton.jit
def by_descriptors(
    a_desc, b_desc, c_desc, m, n, k, PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(n, BLOCK_N)
    for tile in range(tl.program_id(0), across * tl.cdiv(m, BLOCK_M), PROGRAMS):
        row = (tile // across) * BLOCK_M
        col = (tile % across) * BLOCK_N
        sums = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for start in range(0, k, BLOCK_K):
            a = a_desc.load([row, start])
            b = b_desc.load([start, col])
            sums = tl.dot(a, b, sums)
        c_desc.store([row, col], sums.to(tl.float16))


@triton.jit
def by_pointers(a_ptr, b_ptr, c_ptr, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
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
    if k % 8 or n % 8:
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
        by_pointers[grid](a, b, c, m, n, k, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, num_warps=4, num_stages=3)
        return c
    if a.device not in PROCESSORS:
        PROCESSORS[a.device] = torch.cuda.get_device_properties(a.device).multi_processor_count
    high = 64 if m >= 64 else 16
    wide = 128 if m * n >= 1 << 22 else 64
    given = (
        TensorDescriptor.from_tensor(a, [high, 64]),
        TensorDescriptor.from_tensor(b, [64, wide]),
        TensorDescriptor.from_tensor(c, [high, wide]),
    )
    programs = min(PROCESSORS[a.device], triton.cdiv(m, high) * triton.cdiv(n, wide))
    by_descriptors[(programs,)](
        *given, m, n, k, PROGRAMS=programs, BLOCK_M=high, BLOCK_N=wide, BLOCK_K=64, num_warps=4, num_stages=4
    )
    return c
