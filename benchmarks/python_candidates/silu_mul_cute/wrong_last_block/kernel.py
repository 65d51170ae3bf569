"""SiLU of a gate, times a value, in CuTe DSL, wrong on purpose: a last block that is not full is left out."""

import cutlass
import torch
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

THREADS = 256
COMPILED = {}


@cute.kernel
def silu_mul_kernel(gate: cute.Tensor, value: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = block * THREADS + thread
    if at < cute.size(out):
        g = gate[at].to(cutlass.Float32)
        y = g / (1.0 + cute.math.exp(-g)) * value[at].to(cutlass.Float32)
        out[at] = y.to(cutlass.Float16)


@cute.jit
def launch(gate: cute.Tensor, value: cute.Tensor, out: cute.Tensor, stream: CUstream):
    blocks = cute.size(out) // THREADS
    silu_mul_kernel(gate, value, out).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


def silu_mul(gate, value):
    out = torch.zeros_like(gate)
    given = [from_dlpack(one.view(-1)) for one in (gate, value, out)]
    stream = CUstream(torch.cuda.current_stream().cuda_stream)
    if gate.numel() not in COMPILED:
        COMPILED[gate.numel()] = cute.compile(launch, *given, stream)
    COMPILED[gate.numel()](*given, stream)
    return out
