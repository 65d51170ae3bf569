"""SiLU of a gate, times a value, in CuTe DSL: eight elements a thread, which are read and written as 16 bytes."""

import cutlass
import torch
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

THREADS = 256
EACH = 8  # elements a thread: 16 bytes
COMPILED = {}


@cute.kernel
def vector_kernel(gate: cute.Tensor, value: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = block * THREADS + thread
    if at < cute.size(out, mode=[1]):
        g = gate[None, at].load().to(cutlass.Float32)
        y = g / (1.0 + cute.math.exp(-g)) * value[None, at].load().to(cutlass.Float32)
        out[None, at].store(y.to(cutlass.Float16))


@cute.kernel
def single_kernel(gate: cute.Tensor, value: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = block * THREADS + thread
    if at < cute.size(out):
        g = gate[at].to(cutlass.Float32)
        y = g / (1.0 + cute.math.exp(-g)) * value[at].to(cutlass.Float32)
        out[at] = y.to(cutlass.Float16)


@cute.jit
def launch_vectors(gate: cute.Tensor, value: cute.Tensor, out: cute.Tensor, stream: CUstream):
    parts = [cute.zipped_divide(one, (EACH,)) for one in (gate, value, out)]
    blocks = cute.ceil_div(cute.size(parts[2], mode=[1]), THREADS)
    vector_kernel(parts[0], parts[1], parts[2]).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


@cute.jit
def launch_singles(gate: cute.Tensor, value: cute.Tensor, out: cute.Tensor, stream: CUstream):
    blocks = cute.ceil_div(cute.size(out), THREADS)
    single_kernel(gate, value, out).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


def silu_mul(gate, value):
    out = torch.empty_like(gate)
    aligned = out.numel() % EACH == 0 and all(one.data_ptr() % 16 == 0 for one in (gate, value, out))
    align, launch = (16, launch_vectors) if aligned else (2, launch_singles)
    given = [from_dlpack(one.view(-1), assumed_align=align) for one in (gate, value, out)]
    stream = CUstream(torch.cuda.current_stream().cuda_stream)
    key = out.numel(), aligned
    if key not in COMPILED:
        COMPILED[key] = cute.compile(launch, *given, stream)
    COMPILED[key](*given, stream)
    return out
