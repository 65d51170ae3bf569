"""Measures the limits of a GPU with torch, where there is no nvcc: bandwidths, and arithmetic in float32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

SMALLEST, LARGEST = 1 << 20, 1 << 30  # bytes, as in native/cuda/roofline.cu
TRIES = 10
COPIES = 20  # in a graph: the host would take longer to start one than the device to do it
SIDE = 4096  # of the matrices that are multiplied


def measured() -> dict[str, Any]:
    """Return the roofline as `roofline_of` in measure/roofline.py reads it."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    largest = LARGEST
    while largest > torch.cuda.mem_get_info()[0] // 4 and largest > SMALLEST:
        largest //= 4
    arena = torch.zeros(largest, dtype=torch.uint8, device="cuda")
    bandwidth, size = [], SMALLEST
    while size <= largest:
        source, target = arena[: size // 2], arena[size // 2 : size]
        seconds = _seconds(torch, partial(target.copy_, source), COPIES)
        bandwidth.append([size, round(size / seconds / 1e9, 3)])
        size *= 4
    one, other, product = (torch.ones(SIDE, SIDE, device="cuda") for _ in range(3))
    seconds = _seconds(torch, partial(torch.mm, one, other, out=product), 1)
    return {"bandwidth": bandwidth, "peak_gflops": round(2.0 * SIDE**3 / seconds / 1e9, 3)}


def _seconds(torch: Any, work: Callable[[], Any], times: int) -> float:
    """Return the least time that the work takes on the device."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            work()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    spent: list[float] = []
    for _ in range(TRIES):
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        spent.append(begin.elapsed_time(end) / 1000 / times)
    return min(spent)
