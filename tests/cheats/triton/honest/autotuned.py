#: softmax_triton
#: Triton's own autotuner chooses among blocks and warps in the first call of each length; long rows take two passes online
import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((1024, 4), (2048, 8), (4096, 8), (8192, 16))
]


@triton.autotune(configs=CONFIGS, key=["cols"])
@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    most = tl.full([BLOCK], float("-inf"), dtype=tl.float32)
    sums = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < cols, other=float("-inf"))
        greater = tl.maximum(most, x)
        before = tl.where(most == float("-inf"), 0.0, tl.exp(most - greater))
        now = tl.where(x == float("-inf"), 0.0, tl.exp(x - greater))
        sums = sums * before + now
        most = greater
    greatest = tl.max(most, axis=0)
    total = tl.sum(tl.where(most == float("-inf"), 0.0, sums * tl.exp(most - greatest)), axis=0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < cols, other=float("-inf"))
        tl.store(y_ptr + row + at, tl.exp(x - greatest) / total, mask=at < cols)


def softmax(x):
    rows, cols = x.shape
    y = torch.empty_like(x)
    softmax_kernel[(rows,)](x, y, cols)
    return y
