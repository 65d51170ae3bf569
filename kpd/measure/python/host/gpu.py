"""What the worker does on a GPU, through torch: inputs in device memory, batches between events, graphs.

What lies in shared memory, arguments and the bytes between them, lies in the same order in one piece of device memory.
Functions of torch that measure are taken before any kernel is loaded. The parent's clock times batches all the same.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout

FLUSHED = 2  # times the L2 are written before a batch, and taken by its inputs
USUAL_L2 = 64 << 20  # bytes, where torch does not say
REPLAYS = 7
SCATTERED = 64  # bytes: parts up to this size are copied together


class _Piece:
    """A piece of device memory, for torch to make a tensor of that shares no storage with others."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


class Gpu:
    """A device copy of the shared memory, and calls on arguments in it."""

    def __init__(self, memory: memoryview) -> None:
        import torch

        self.torch = torch
        self.memory = memory
        self.event, self.clock = torch.cuda.Event, time.perf_counter_ns
        torch.cuda.init()
        self.wait, self.explain = ctypes.CDLL("libcuda.so.1").cuCtxSynchronize, torch.cuda.synchronize
        os.environ["TRITON_LIBCUDA_PATH"] = _driver_folder()  # Triton would start ldconfig to find it
        l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or USUAL_L2
        self.waste = torch.empty(FLUSHED * l2, dtype=torch.uint8, device="cuda")
        self.mirrors: dict[int, Any] = {}  # by where their content begins in shared memory
        self.begin, self.end = self.event(enable_timing=True), self.event(enable_timing=True)

    def synchronize(self) -> None:
        """Wait for all streams of the device, by the driver itself. Raises RuntimeError where a kernel has failed."""
        if failed := self.wait():
            self.explain()
            raise RuntimeError(f"CUDA error {failed}")

    def reserve(self, base: int, size: int) -> None:
        """Take as much device memory as `size` bytes of shared memory from `base` on need."""
        if base not in self.mirrors or len(self.mirrors[base]) < size:
            self.mirrors.pop(base, None)  # frees the old one first
            self.mirrors[base] = self.torch.empty(size, dtype=self.torch.uint8, device="cuda")

    def placed(self, value: Any, base: int) -> Any:
        """Return an argument with device tensors in place of torch's; NumPy's arrays stay in shared memory."""
        if isinstance(value, Layout):
            if value.lib != "torch":
                return arrays.view(value, self.memory)
            kind = getattr(self.torch, value.dtype)
            if not value.span:
                return self.torch.empty(value.shape, dtype=kind, device="cuda")
            at = self.mirrors[base].data_ptr() + value.offset - base
            piece = self.torch.as_tensor(_Piece(at, value.span), device="cuda")
            return self.torch.as_strided(piece.view(kind), value.shape, value.strides)
        return type(value)(self.placed(one, base) for one in value) if type(value) in (list, tuple) else value

    def _bytes(self, at: int, size: int) -> Any:
        return self.torch.frombuffer(self.memory[at : at + size], dtype=self.torch.uint8)

    def refresh(self, base: int, places: list[Any]) -> dict[str, Any]:
        """Copy what the parent has changed in shared memory, [offset, bytes], and empty the cache."""
        mirror = self.mirrors.get(base, self.waste[:0])
        small = [(at, size) for at, size in places if size <= SCATTERED]
        for at, size in places:
            if size > SCATTERED:
                mirror[at - base : at - base + size].copy_(self._bytes(at, size))
        if small:
            indices = [each for at, size in small for each in range(at - base, at - base + size)]
            content = bytearray().join(self.memory[at : at + size] for at, size in small)
            mirror[self.torch.tensor(indices, device="cuda")] = self.torch.frombuffer(
                content, dtype=self.torch.uint8
            ).cuda()
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

    def back(self, base: int, at: int, size: int) -> None:
        """Copy a part of a device copy to shared memory: what a kernel has written there can be seen."""
        self._bytes(base + at, size).copy_(self.mirrors[base][at : at + size])

    def marked(self, name: str, function: Callable[..., Any], arguments: Any, calls: int) -> None:
        """Call a kernel in a range of NVTX, with profilers switched on."""
        cuda = self.torch.cuda
        self.synchronize()
        cuda.profiler.start()
        cuda.nvtx.range_push(name)
        for _ in range(calls):
            function(*arguments)
        self.synchronize()
        cuda.nvtx.range_pop()
        cuda.profiler.stop()

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
