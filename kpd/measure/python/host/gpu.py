"""What the worker does on a GPU, through torch: tensors of inputs that the runner lends it, batches, graphs.

What lies in the runner's copy of the inputs, arguments and the bytes between them, lies in the same order in the memory
that is lent. Functions of torch that measure are taken before any kernel is loaded. The runner's clock times batches
all the same.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint64
from pathlib import Path
from typing import Any, NamedTuple

from kpd.measure.python.host import arrays
from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.device import FLUSHED, PEERS, IpcHandle

USUAL_L2 = 64 << 20  # bytes, where torch does not say
REPLAYS = 7
NUMBER = 7  # an attribute of an address: CU_POINTER_ATTRIBUTE_BUFFER_ID
REMEDY = "let torch take it, without expandable segments"


class _Piece:
    """A piece of device memory, for torch to make a tensor of that shares no storage with others."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


class OwnTime(NamedTuple):
    """Nanoseconds of a batch by the worker's own clock, and those of them in which its calls kept the host."""

    ns: int
    host_ns: int


class Gpu:
    """Calls on arguments in device memory."""

    def __init__(self, memory: memoryview) -> None:
        import torch

        self.torch = torch
        self.memory = memory
        self.event, self.clock = torch.cuda.Event, time.perf_counter_ns
        torch.cuda.init()
        self.cuda, self.explain = ctypes.CDLL("libcuda.so.1"), torch.cuda.synchronize
        self.wait = self.cuda.cuCtxSynchronize
        os.environ["TRITON_LIBCUDA_PATH"] = _driver_folder()  # Triton would start ldconfig to find it
        self.lent: dict[int, tuple[str, int]] = {}  # handle and address here, by where sets begin
        self.own: Any = None
        self.waste: Any = None
        self.touched = torch.empty(1, device="cuda")

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver. Raises RuntimeError."""
        if failed := getattr(self.cuda, name)(*arguments):
            raise RuntimeError(f"{name}: CUDA error {failed}")

    def synchronize(self) -> None:
        """Wait for all streams of the device, by the driver itself. Raises RuntimeError where a kernel has failed."""
        if failed := self.wait():
            self.explain()
            raise RuntimeError(f"CUDA error {failed}")

    def borrow(self, base: int, handle: str) -> None:
        """Open the memory of the sets from `base` on."""
        if self.lent.get(base, ("", 0))[0] == handle:
            return
        found = c_uint64()  # what was opened before stays: a kernel may have kept tensors of it
        self.call("cuIpcOpenMemHandle_v2", byref(found), IpcHandle.from_buffer_copy(bytes.fromhex(handle)), PEERS)
        self.lent[base] = handle, found.value

    def take(self, size: int) -> None:
        """Have memory of this process for sets from the beginning on, with what lies in shared memory."""
        self.own = self.torch.frombuffer(self.memory[:size], dtype=self.torch.uint8).cuda()
        self.lent[0] = "", self.own.data_ptr()

    def placed(self, value: Any, base: int) -> Any:
        """Return an argument with device tensors in place of torch's; NumPy's arrays stay in shared memory."""
        if isinstance(value, Layout):
            if value.lib != "torch":
                return arrays.view(value, self.memory)
            kind = getattr(self.torch, value.dtype)
            if not value.span:
                return self.torch.empty(value.shape, dtype=kind, device="cuda")
            at = self.lent[base][1] + value.offset - base
            piece = self.torch.as_tensor(_Piece(at, value.span), device="cuda")
            return self.torch.as_strided(piece.view(kind), value.shape, value.strides)
        return type(value)(self.placed(one, base) for one in value) if type(value) in (list, tuple) else value

    def run(self, function: Callable[..., Any], sets: list[Any], results: list[Any], rounds: int) -> int:
        """Call a kernel on all sets, and wait for the device. Return for how many nanoseconds the host was busy."""
        begun = self.clock()
        for _ in range(rounds):
            for number, arguments in enumerate(sets):
                results[number] = function(*arguments)
        enqueued = self.clock() - begun
        self.synchronize()
        return enqueued

    def timed(self, function: Callable[..., Any], sets: list[Any], results: list[Any], rounds: int) -> OwnTime:
        """Do the same once the L2 has nothing of these inputs, and time that by this process's own clock."""
        self.flush()
        self.synchronize()
        begun = self.clock()
        enqueued = self.run(function, sets, results, rounds)
        return OwnTime(self.clock() - begun, enqueued)

    def flush(self) -> None:
        """Have the device write more than its L2 has room for."""
        if self.waste is None:
            l2 = getattr(self.torch.cuda.get_device_properties(0), "L2_cache_size", 0) or USUAL_L2
            self.waste = self.torch.empty(FLUSHED * l2, dtype=self.torch.uint8, device="cuda")
        self.waste.zero_()

    def touch(self) -> None:
        """Have the device do next to nothing."""
        self.touched.zero_()
        self.synchronize()

    def shared(self, address: int) -> dict[str, Any]:
        """Return the memory that holds an address: its number, where it begins, and its handle for the runner."""
        base, size, number, handle = c_uint64(), c_size_t(), ctypes.c_ulonglong(), IpcHandle()
        self.call("cuMemGetAddressRange_v2", byref(base), byref(size), c_uint64(address))
        for sets, (_, lent) in self.lent.items():
            if lent == base.value:  # an input, which the runner knows
                return {"number": -1 - sets, "base": lent, "handle": ""}
        self.call("cuPointerGetAttribute", byref(number), NUMBER, c_uint64(address))
        if failed := self.cuda.cuIpcGetMemHandle(byref(handle), base):
            why = f"cuIpcGetMemHandle: CUDA error {failed}"
            raise RuntimeError(f"its results lie in memory that no other process can open ({why}): {REMEDY}")
        return {"number": number.value, "base": base.value, "handle": bytes(handle).hex()}

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
        begin, end = self.event(enable_timing=True), self.event(enable_timing=True)
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
            self.flush()
            begin.record()
            graph.replay()
            end.record()
            self.synchronize()
            spent.append(1e6 * begin.elapsed_time(end) / len(kept))
        return {"device_ns": sorted(spent)[REPLAYS // 2]}


def _driver_folder() -> str:
    """Return the folder of the CUDA driver that this process has loaded."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return next((str(Path(line.split()[-1]).parent) for line in maps if "/libcuda.so" in line), "")
