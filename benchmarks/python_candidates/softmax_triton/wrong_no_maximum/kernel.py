"""Softmax over rows in Triton, wrong on purpose: a kept row is not shifted by its largest element and overflows."""

import torch
import triton
import triton.language as tl

LONGEST = 8192  # elements of a row that are kept
EACH = 16  # of them a thread has


@triton.jit
def kept_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    here = tl.program_id(0).to(tl.int64) * cols + at
    x = tl.load(x_ptr + here, mask=at < cols, other=float("-inf"))
    part = tl.exp(x)
    tl.store(y_ptr + here, part / tl.sum(part, axis=0), mask=at < cols)


@triton.jit
def read_twice_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    most = tl.load(x_ptr + row + at)
    sums = tl.full([BLOCK], 1.0, dtype=tl.float32)
    for start in range(BLOCK, cols, BLOCK):
        x = tl.load(x_ptr + row + start + at, mask=start + at < cols, other=float("-inf"))
        larger = tl.maximum(most, x)
        sums = sums * tl.exp(most - larger) + tl.exp(x - larger)
        most = larger
    largest = tl.max(most, axis=0)
    total = tl.sum(sums * tl.exp(most - largest), axis=0)
    for start in range(0, cols, BLOCK):
        x = tl.load(x_ptr + row + start + at, mask=start + at < cols, other=float("-inf"))
        tl.store(y_ptr + row + start + at, tl.exp(x - largest) / total, mask=start + at < cols)


def softmax(x):
    rows, cols = x.shape
    y = torch.empty_like(x)
    block = min(triton.next_power_of_2(cols), LONGEST)
    warps = min(max(block // (32 * EACH), 1), 16)
    kernel = kept_kernel if cols <= LONGEST else read_twice_kernel
    kernel[(rows,)](x, y, cols, BLOCK=block, num_warps=warps)
    return y
