"""Does a GPU make the mixtures that the runner makes of the same seeds, and how long does that take?

    python benchmarks/device_mixtures.py

Arrays of each width of elements, from two elements to 32 million. Prints one JSON object: whether the device's bytes
are the runner's, and the milliseconds of the first and the second time, launch and wait included.
"""

import ctypes
import json
import random
import subprocess
import time

import numpy as np

from kpd.measure.python.host import arrays
from kpd.measure.python.host.device import CudaDevice
from kpd.measure.python.host.gathered import DeviceMixtures
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.mixed import Mixtures

TYPES = ("uint8", "float16", "float32", "float64")
ELEMENTS = (2, 3, 63, 127, 1000, 40_001, 1 << 25)


def drawn(seed: int, dtype: str, elements: int) -> Inputs:
    """Inputs of one array of random bytes."""
    value = np.frombuffer(np.random.default_rng(seed).bytes(elements * np.dtype(dtype).itemsize), dtype)
    layout, at = arrays.placed(value, 64, 256)
    content = bytearray(at + 64)
    arrays.put(value, layout, memoryview(content))
    return Inputs({"x": layout}, content)


def made(device: CudaDevice, dtype: str, elements: int) -> dict[str, object]:
    """Make one mixture here and there."""
    mixtures = Mixtures([drawn(1, dtype, elements), drawn(2, dtype, elements)], random.Random(5))
    on_device, seeds = DeviceMixtures(device, mixtures), mixtures.seeds()
    here = bytearray(mixtures.like.content)
    begun_as = (ctypes.c_char * len(here)).from_buffer_copy(here)
    memory = device.taken(len(here))
    device.copy(memory, ctypes.addressof(begun_as), len(here))
    device.wait()
    mixtures.write(here, seeds)
    spent = []
    for _ in range(2):
        begun = time.perf_counter()
        on_device.put(memory, seeds)
        device.wait()
        spent.append(round(1e3 * (time.perf_counter() - begun), 3))
    same = device.read(memory, len(here)) == here
    device.free(memory)
    on_device.end()
    return {"dtype": dtype, "elements": elements, "same": same, "first_ms": spent[0], "again_ms": spent[1]}


def main() -> None:
    name = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "-i", "0"]
    device = CudaDevice()
    each = [made(device, dtype, elements) for dtype in TYPES for elements in ELEMENTS]
    print(json.dumps({"device": subprocess.check_output(name, text=True).strip(), "each": each}, indent=1))


if __name__ == "__main__":
    main()
