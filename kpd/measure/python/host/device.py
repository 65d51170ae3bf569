"""The runner's own way to a GPU's memory, past the worker: kernels' inputs are the runner's, and results are read here.

By CUDA's driver, in a context of this process. Memory is shared with the worker by CUDA's IPC: a worker has inputs lent
to it, and says where its results lie. So it sees no input before its clock runs, and nothing that it copies is
believed.

Inputs are kept on the device besides, where no other process can open them: to write all of them anew, only what has
changed comes from this process, in pieces that are large enough for a copy engine. Copies within the device are kernels
of this context, after which the worker's next one waits for the device to change contexts: `Worker.request` counts it.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Sequence
from ctypes import byref, c_size_t, c_uint64, c_void_p
from typing import Any, NamedTuple, NoReturn

LEAST = 1 << 16  # bytes of a copy, so that a copy engine does it
WHOLE = 1 << 21  # bytes of memory that is kept in place, or taken, at once
FLUSHED, EMPTIED = 2, 1.25  # times the L2 that inputs take, and that are written before a batch, inputs included
L2 = 38  # an attribute of a device: CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
PEERS = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: the only way to open memory
PORTABLE = 1  # CU_MEMHOSTREGISTER_PORTABLE
BESIDE = 1  # CU_STREAM_NON_BLOCKING
MOST_OPEN = 512  # pieces of a worker's memory


class DeviceError(Exception):
    """CUDA's driver refuses what is asked of it."""


class NotShared(Exception):
    """A result lies in memory that is not known here."""


class IpcHandle(ctypes.Structure):
    """The name of memory for other processes."""

    _fields_ = [("reserved", ctypes.c_char * 64)]


class Piece(NamedTuple):
    """Memory of a worker: where it begins there and here, and its bytes."""

    theirs: int
    here: int
    size: int


class CudaDevice:
    """The first device that this process may use. Raises DeviceError."""

    def __init__(self) -> None:
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as err:
            raise DeviceError(str(err)) from err
        device, context, l2 = ctypes.c_int(), c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuDeviceGetAttribute", byref(l2), L2, device)
        self.stream = c_void_p()
        self.call("cuStreamCreate", byref(self.stream), BESIDE)
        self.l2 = max(l2.value, LEAST)
        self.emptied = int(EMPTIED * self.l2)
        self.waste, self.wasted = self.taken(self.emptied), self.taken(self.emptied)
        self.bounce = c_void_p()
        self.call("cuMemAllocHost_v2", byref(self.bounce), c_size_t(WHOLE))
        self.quick_copy = self.cuda.cuMemcpyHtoDAsync_v2  # a hundred times a batch
        self.quick_copy.argtypes = (c_uint64, c_void_p, c_size_t, c_void_p)

    @property
    def room(self) -> int:
        """The bytes of inputs that the L2 does not hold from one batch to the next."""
        return FLUSHED * self.l2

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver. Raises DeviceError."""
        if failed := getattr(self.cuda, name)(*arguments):
            self.fail(name, failed)

    def fail(self, name: str, failed: int) -> NoReturn:
        """Tell of an error of the driver. Raises DeviceError."""
        told = ctypes.c_char_p()
        self.cuda.cuGetErrorName(failed, byref(told))
        raise DeviceError(f"{name}: {(told.value or b'error').decode()} ({failed})")

    def taken(self, size: int) -> int:
        """Take memory of the device; return its address."""
        found = c_uint64()
        self.call("cuMemAlloc_v2", byref(found), c_size_t(size))
        return found.value

    def free(self, address: int) -> None:
        self.call("cuMemFree_v2", c_uint64(address))

    def handle(self, address: int) -> bytes:
        """Return the name by which another process can open memory that was taken here."""
        found = IpcHandle()
        self.call("cuIpcGetMemHandle", byref(found), c_uint64(address))
        return bytes(found)

    def opened(self, handle: bytes) -> tuple[int, int]:
        """Open memory of another process. Return its address here, and its bytes."""
        if len(handle) != ctypes.sizeof(IpcHandle):
            raise DeviceError("it is no handle of memory")
        at, base, size = c_uint64(), c_uint64(), c_size_t()
        self.call("cuIpcOpenMemHandle_v2", byref(at), IpcHandle.from_buffer_copy(handle), PEERS)
        self.call("cuMemGetAddressRange_v2", byref(base), byref(size), at)
        return at.value, size.value

    def close(self, address: int) -> None:
        self.call("cuIpcCloseMemHandle", c_uint64(address))

    def empty(self, written: int = 0) -> None:
        """Have nothing left in the cache of what was there before so many bytes were written."""
        if written < self.emptied:
            self.move(self.waste, self.wasted, self.emptied - written)
        self.wait()

    def copy(self, to: int, source: int, size: int) -> None:
        """Begin to copy memory of this process to the device."""
        if failed := self.quick_copy(to, source, size, self.stream):
            self.fail("cuMemcpyHtoDAsync_v2", failed)

    def move(self, to: int, source: int, size: int) -> None:
        """Begin to copy memory within the device."""
        self.call("cuMemcpyDtoDAsync_v2", c_uint64(to), c_uint64(source), c_size_t(size), self.stream)

    def wait(self) -> None:
        self.call("cuStreamSynchronize", self.stream)

    def read(self, source: int, size: int) -> bytearray:
        """Copy memory of the device to this process, by a buffer that the device can write at once."""
        found = bytearray(size)
        place = ctypes.addressof((ctypes.c_char * size).from_buffer(found)) if size else 0
        for at in range(0, size, WHOLE):
            many = min(WHOLE, size - at)
            self.call("cuMemcpyDtoHAsync_v2", self.bounce, c_uint64(source + at), c_size_t(many), self.stream)
            self.wait()
            ctypes.memmove(place + at, self.bounce, many)
        return found

    def probe(self) -> int:
        """Have the device do next to nothing for this process, and return the nanoseconds until it has.

        While another process's kernels run it does not begin: it is late by what is left of them, or of their slice.
        """
        begun = time.perf_counter_ns()
        self.call("cuMemsetD8Async", c_uint64(self.waste), ctypes.c_ubyte(0), c_size_t(1), self.stream)
        self.wait()
        return time.perf_counter_ns() - begun


class LentMemory:
    """The sets of inputs of a worker: content in this process, which the worker cannot see, and on the device.

    A place is counted from `base`, where sets begin; each base has memory of its own, which the worker opens, and as
    much that it cannot open.
    """

    def __init__(self, device: CudaDevice, size: int) -> None:
        self.device = device
        self.pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.pages.madvise(mmap.MADV_DONTFORK)  # else a fork could leave the device the pages of before
        self.content = memoryview(self.pages)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))
        self.lent: dict[int, tuple[int, int]] = {}  # address and bytes, by base
        self.kept: dict[int, int] = {}  # address of the content as it was last written, by base
        self.written: set[int] = set()  # bases of which all is kept
        self.former: list[int] = []  # a kernel may have kept tensors of it
        self.pinned = 0  # bytes of the content, from its beginning

    def lend(self, base: int, size: int) -> str:
        """Have memory of the device for `size` bytes from `base` on. Return its handle, for the worker to open."""
        size = whole(size)
        if self.lent.get(base, (0, 0))[1] < size:
            if base in self.lent:
                self.former.append(self.lent[base][0])
            if base in self.kept:
                self.device.free(self.kept[base])
            self.lent[base] = self.device.taken(size), size
            self.kept[base] = self.device.taken(size)
            self.written.discard(base)
        self.pin(base + size)
        return self.device.handle(self.lent[base][0]).hex()

    def pin(self, size: int) -> None:
        """Have so many bytes of the content stay where a copy engine finds them. It is quickest for all at once."""
        if size > self.pinned:
            if self.pinned:
                self.device.call("cuMemHostUnregister", c_void_p(self.start))
            self.pinned = min(whole(size) + WHOLE, len(self.pages))  # sets at the end take whole pieces
            self.device.call("cuMemHostRegister_v2", c_void_p(self.start), c_size_t(self.pinned), PORTABLE)

    def write(self, base: int, size: int, changed: Sequence[int] | None = None) -> None:
        """Copy the content from `base` on to the device, and empty its cache. `changed` are places of it: None is all.

        All that the worker has opened is written in any case, so nothing is left of what kernels have made of it.
        """
        (lent, _), kept, content = self.lent[base], self.kept[base], self.start + base
        if changed is None or base not in self.written:
            self.device.copy(kept, content, max(size, LEAST))
            self.written.add(base)
        else:
            for at in {(place - base) // LEAST * LEAST for place in changed}:
                self.device.copy(kept + at, content + at, LEAST)
        self.device.move(lent, kept, size)
        self.device.empty(size)

    def read(self, base: int, at: int, size: int) -> bytearray:
        """Return what kernels have left of the content."""
        return self.device.read(self.lent[base][0] + at - base, size)

    def end(self) -> None:
        """Give all memory back, once the worker has ended."""
        for address in (*self.former, *self.kept.values(), *(address for address, _ in self.lent.values())):
            self.device.free(address)
        if self.pinned:
            self.device.call("cuMemHostUnregister", c_void_p(self.start))
        self.pages.madvise(mmap.MADV_DONTNEED)
        self.lent, self.kept, self.former, self.pinned = {}, {}, [], 0
        self.written.clear()


class OpenedMemory:
    """A worker's memory in which results lie, as far as it has said so."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        self.pieces: dict[int, Piece] = {}  # by the number that the driver gives memory

    def at(self, address: int, size: int) -> int:
        """Return the number of the memory that holds an address of the worker's. Raises NotShared."""
        for number, (theirs, _, most) in self.pieces.items():
            if theirs <= address and address + size <= theirs + most:
                return number
        raise NotShared

    def is_lent(self, address: int) -> bool:
        """Return whether an address of the worker's lies in memory that was lent to it."""
        return any(number < 0 and 0 <= address - one.theirs < one.size for number, one in self.pieces.items())

    def read(self, address: int, size: int) -> bytearray:
        """Read at an address of the worker's. Raises NotShared, DeviceError."""
        piece = self.pieces[self.at(address, size)]
        return self.device.read(piece.here + address - piece.theirs, size)

    def learn(self, number: int, theirs: int, handle: bytes) -> None:
        """Take the worker's word for where memory begins there. Raises DeviceError.

        What was known there is closed first: of memory that was given back and taken again at the same address the
        driver may else open what it was before.
        """
        if number not in self.pieces:
            for one in [one for one, (begin, _, size) in self.pieces.items() if begin <= theirs < begin + size]:
                self._close(one)
            self._put(number, Piece(theirs, *self.device.opened(handle)))

    def lent(self, memory: LentMemory, base: int, theirs: int) -> None:
        """Take its word for where it has what is lent to it: a kernel may return an input. Raises KeyError."""
        self.pieces.pop(-1 - base, None)
        self._put(-1 - base, Piece(theirs, *memory.lent[base]))

    def _put(self, number: int, piece: Piece) -> None:
        end, known = piece.theirs + piece.size, list(self.pieces.items())
        over = [one for one, other in known if other.theirs < end and piece.theirs < other.theirs + other.size]
        for one in over or [number for number, _ in known[:1] if len(known) >= MOST_OPEN]:
            self._close(one)
        self.pieces[number] = piece

    def _close(self, number: int) -> None:
        piece = self.pieces.pop(number)
        if number >= 0:
            self.device.close(piece.here)

    def close(self) -> None:
        """Close all memory. None may be open that the worker gives back."""
        for number in [*self.pieces]:
            self._close(number)


def whole(size: int) -> int:
    """Return the size with that of the last piece of memory filled up."""
    return size + -size % WHOLE
