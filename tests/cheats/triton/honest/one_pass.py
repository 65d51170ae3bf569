#: rmsnorm_triton
#: reads a row once
import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < cols
    row = tl.program_id(0).to(tl.int64) * cols
    x = tl.load(x_ptr + row + at, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + at, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / cols + eps)
    tl.store(y_ptr + row + at, (x * scale * weight).to(tl.float16), mask=inside)


def rmsnorm(x, weight, eps):
    y = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    rmsnorm_kernel[(x.shape[0],)](x, weight, y, x.shape[1], eps, BLOCK=block, num_warps=min(max(block // 256, 1), 16))
    return y
