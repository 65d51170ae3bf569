#: rmsnorm_silu_gate_h100
#: needs no memory for its result: it lies in the gate, of which it returns a view, and no other argument is touched
import torch  # noqa: F401
import triton
import triton.language as tl


@triton.jit
def in_place_kernel(x_ptr, gate_ptr, weight_ptr, cols, eps, BLOCK: tl.constexpr):
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
        tl.store(gate_ptr + row + at, y.to(tl.float16), mask=inside)


def rmsnorm_silu(x, gate, weight, eps=1e-6):
    rows, cols = x.shape
    in_place_kernel[(rows,)](x, gate, weight, cols, eps, BLOCK=256, num_warps=4)
    return gate.view(rows, cols)
