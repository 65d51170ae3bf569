"""What the worker does on a GPU, through torch: inputs in device memory, batches between events, graphs.

Functions of torch that measure are taken before any kernel is loaded. The parent's clock times batches all the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout

FLUSHED = 2  # times the L2 are written before a batch
USUAL_L2 = 64 << 20  # bytes, where torch does not say
REPLAYS = 7


class Gpu:
    """Device copies of the sets in shared memory, and calls on them."""

    def __init__(self, memory: memoryview) -> None:
        import torch

        self.torch = torch
        self.memory = memory
        self.synchronize, self.event, self.clock = torch.cuda.synchronize, torch.cuda.Event, time.perf_counter_ns
        torch.cuda.init()
        os.environ["TRITON_LIBCUDA_PATH"] = _driver_folder()  # Triton would start ldconfig to find it
        l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or USUAL_L2
        self.waste = torch.empty(FLUSHED * l2, dtype=torch.uint8, device="cuda")
        self.flats: dict[int, Any] = {}
        self.begin, self.end = self.event(enable_timing=True), self.event(enable_timing=True)

    def forget(self) -> None:
        """Free what earlier sets have taken."""
        self.flats = {}

    def placed(self, value: Any) -> Any:
        """Return an argument with device tensors in place of torch's; NumPy's arrays stay in shared memory."""
        if isinstance(value, Layout):
            if value.lib != "torch":
                return arrays.view(value, self.memory)
            kind = getattr(self.torch, value.dtype)
            flat = self.torch.empty(max(value.span // value.itemsize, 1), dtype=kind, device="cuda")
            self.flats[value.offset] = (flat, value)
            return self.torch.as_strided(flat, value.shape, value.strides)
        return type(value)(self.placed(one) for one in value) if type(value) in (list, tuple) else value

    def _bytes(self, at: int, size: int) -> Any:
        return self.torch.frombuffer(self.memory[at : at + size], dtype=self.torch.uint8)

    def _upload(self, leaf: int, at: int, size: int) -> None:
        if size and leaf in self.flats:
            flat = self.flats[leaf][0].view(self.torch.uint8)
            flat[at - leaf : at - leaf + size].copy_(self._bytes(at, size))

    def refresh(self, places: list[Any]) -> dict[str, Any]:
        """Copy what the parent has changed in shared memory, [array, offset, bytes], and empty the cache."""
        for leaf, at, size in places:
            self._upload(leaf, at, size)
        self.waste.zero_()
        self.synchronize()
        return {}

    def run(self, function: Callable[..., Any], sets: list[Any], results: list[Any], rounds: int) -> dict[str, Any]:
        """Call a kernel on all sets, and wait for the device."""
        self.begin.record()
        begun = self.clock()
        for _ in range(rounds):
            for number, arguments in enumerate(sets):
                results[number] = function(*arguments)
        enqueued = self.clock() - begun
        self.end.record()
        self.synchronize()
        return {"at": [], "events_ns": 1e6 * self.begin.elapsed_time(self.end), "enqueue_ns": enqueued}

    def fetched(self, part: Any, at: int) -> tuple[dict[str, Any], int]:
        """Copy a result into shared memory below `at`. Return its description, and where the next one may end."""
        layout = arrays.layout_of(part)._replace(strides=arrays.contiguous(part.shape))
        at -= layout.span + (at - layout.span) % arrays.ALIGNED
        if layout.span:
            copied = part.detach().contiguous().reshape(-1).view(self.torch.uint8).cpu()
            self._bytes(at, layout.span).copy_(copied)
        return {"layout": list(layout), "shared": at}, at

    def back(self, layouts: list[Layout]) -> None:
        """Copy arguments of a call from the device back to shared memory: what it has changed can be seen there."""
        for layout in layouts:
            if layout.offset in self.flats and layout.span:
                flat = self.flats[layout.offset][0].view(self.torch.uint8)
                self._bytes(layout.offset, layout.span).copy_(flat[: layout.span].cpu())

    def device_ns(self, function: Callable[..., Any], sets: list[Any]) -> dict[str, Any]:
        """Record the calls as a graph, and return the time of one in its replay: without the host's share of it."""
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for arguments in sets[:2]:
                function(*arguments)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = [function(*arguments) for arguments in sets]
        spent = []
        for _ in range(REPLAYS):
            self.waste.zero_()
            self.begin.record()
            graph.replay()
            self.end.record()
            self.synchronize()
            spent.append(1e6 * self.begin.elapsed_time(self.end) / len(kept))
        return {"device_ns": sorted(spent)[REPLAYS // 2]}


def _driver_folder() -> str:
    """Return the folder of the CUDA driver that this process has loaded."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return next((str(Path(line.split()[-1]).parent) for line in maps if "/libcuda.so" in line), "")
