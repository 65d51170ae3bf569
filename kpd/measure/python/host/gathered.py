"""Makes mixtures of inputs on a GPU, where the kernels read them: thousands of times as quick as in this process.

What they are made of lies in memory of the device that no other process can open. A seed tells what a mixture is: so
this process makes those again that it compares, and no others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_uint32, c_uint64, c_void_p

from kpd.measure.python.host import arrays
from kpd.measure.python.host.device import CudaDevice
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.mixed import FACTORS, GOLDEN, SHIFTS, SINGLE, Mixtures

THREADS = 256
# The values of an array, one a thread: see `MixedArray.put`, which does the same.
ENTRY = """
.visible .entry gather{bits}(
    .param .u64 to, .param .u64 source, .param .u64 seed, .param .u32 count, .param .u32 whole, .param .u32 piece,
    .param .u32 begins, .param .u32 total)
{{
    .reg .pred %beyond, %single;
    .reg .u32 %block, %size, %thread, %at, %count, %whole, %piece, %number, %within, %begins, %total;
    .reg .u64 %key, %alone, %seed, %bits, %high, %range, %from, %to, %place;
    .reg .{register} %value;
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %at, %block, %size, %thread;
    ld.param.u32 %count, [count];
    setp.ge.u32 %beyond, %at, %count;
    @%beyond ret;
    ld.param.u32 %whole, [whole];
    ld.param.u32 %piece, [piece];
    ld.param.u32 %begins, [begins];
    ld.param.u32 %total, [total];
    ld.param.u64 %seed, [seed];
    ld.param.u64 %from, [source];
    ld.param.u64 %to, [to];
    div.u32 %number, %at, %piece;
    mul.lo.u32 %within, %number, %piece;
    sub.u32 %within, %at, %within;
    setp.ge.u32 %single, %at, %whole;
    cvt.u64.u32 %key, %number;
    cvt.u64.u32 %place, %at;
    add.u64 %alone, %place, {single};
    selp.b64 %key, %alone, %key, %single;
    selp.b32 %begins, %total, %begins, %single;
    selp.b32 %within, 0, %within, %single;
    mul.lo.u64 %bits, %key, {golden};
    add.u64 %bits, %bits, %seed;
    shr.u64 %high, %bits, {shifts[0]};
    xor.b64 %bits, %bits, %high;
    mul.lo.u64 %bits, %bits, {factors[0]};
    shr.u64 %high, %bits, {shifts[1]};
    xor.b64 %bits, %bits, %high;
    mul.lo.u64 %bits, %bits, {factors[1]};
    shr.u64 %high, %bits, {shifts[2]};
    xor.b64 %bits, %bits, %high;
    shr.u64 %bits, %bits, 32;
    cvt.u64.u32 %range, %begins;
    mul.lo.u64 %bits, %bits, %range;
    shr.u64 %bits, %bits, 32;
    cvt.u64.u32 %high, %within;
    add.u64 %bits, %bits, %high;
    mad.lo.u64 %from, %bits, {width}, %from;
    mad.lo.u64 %to, %place, {width}, %to;
    ld.global.u{bits} %value, [%from];
    st.global.u{bits} [%to], %value;
    ret;
}}
"""


def program() -> str:
    """Return the text of a program for any GPU since Pascal, with a kernel for each width of elements."""
    constants = {"single": SINGLE, "golden": GOLDEN, "shifts": SHIFTS, "factors": FACTORS}
    widths = [(bits, f"u{max(16, bits)}") for bits in (8, 16, 32, 64)]
    entries = [ENTRY.format(bits=bits, register=register, width=bits // 8, **constants) for bits, register in widths]
    return ".version 6.0\n.target sm_60\n.address_size 64\n" + "".join(entries)


def on_device(drawn: Sequence[Inputs], outputs: Sequence[str]) -> bool:
    """Return whether mixtures of such inputs can be made there: all arrays are torch's, and no kernel writes to one."""
    leaves = [leaf for layout in drawn[0].layouts.values() for leaf in arrays.leaves(layout)]
    return all(leaf.lib == "torch" for leaf in leaves) and not any(name in drawn[0].layouts for name in outputs)


class DeviceMixtures:
    """Mixtures that are made on a device. Raises DeviceError."""

    def __init__(self, device: CudaDevice, mixtures: Mixtures) -> None:
        self.device, self.mixtures = device, mixtures
        self.kernels = self._loaded()
        self.sources = []
        for one in mixtures.arrays:
            self.sources.append(device.taken(one.numbers.nbytes))
            device.copy(self.sources[-1], one.numbers.ctypes.data, one.numbers.nbytes)
        device.wait()

    def _loaded(self) -> dict[int, c_void_p]:
        """Load the kernels, and return them by the bytes of an element."""
        module, found = c_void_p(), {}
        self.device.call("cuModuleLoadData", byref(module), program().encode())
        for width in {one.layout.itemsize for one in self.mixtures.arrays}:
            found[width] = c_void_p()
            self.device.call("cuModuleGetFunction", byref(found[width]), module, f"gather{8 * width}".encode())
        return found

    def put(self, to: int, seeds: Sequence[int]) -> None:
        """Begin to write a mixture to inputs that begin at this address."""
        for one, source, seed in zip(self.mixtures.arrays, self.sources, seeds, strict=True):
            values = (
                c_uint64(to + one.layout.offset), c_uint64(source), c_uint64(seed),
                *map(c_uint32, (one.many, one.whole, one.piece, one.begins, len(one.numbers))),
            )  # fmt: skip
            places = (c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
            kernel, blocks = self.kernels[one.layout.itemsize], -(-one.many // THREADS)
            grid = map(c_uint32, (blocks, 1, 1, THREADS, 1, 1, 0))
            self.device.call("cuLaunchKernel", kernel, *grid, self.device.stream, places, None)

    def end(self) -> None:
        """Give the memory back."""
        for source in self.sources:
            self.device.free(source)
        self.sources = []
