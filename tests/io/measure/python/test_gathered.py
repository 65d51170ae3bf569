"""Mixtures that a device makes are those that the runner makes, on a library that passes for CUDA's driver."""

import json
import os
import subprocess
import sys

import pytest

from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.gathered import on_device
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.mixed import FEWEST_PIECES, PIECE
from tests.places import ROOT
from tests.support.measure import libcuda_standin

MADE = """
import ctypes, json, random, sys
import numpy as np
from kpd.measure.python.host import arrays
from kpd.measure.python.host.device import CudaDevice
from kpd.measure.python.host.gathered import DeviceMixtures
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.mixed import Mixtures

def drawn(seed):
    layouts, at = {}, 64
    content = bytearray(b"?" * 400_000)
    for name, kind, many in ("x", sys.argv[1], int(sys.argv[2])), ("w", "float32", 300):
        value = np.frombuffer(np.random.default_rng(seed).bytes(many * np.dtype(kind).itemsize), kind)
        layouts[name], at = arrays.placed(value, at, 256)
        arrays.put(value, layouts[name], memoryview(content))
    return Inputs(layouts, content)

mixtures = Mixtures([drawn(1), drawn(2)], random.Random(5))
device = CudaDevice()
on_device = DeviceMixtures(device, mixtures)
size = len(mixtures.like.content)
memory, here = device.taken(size), (ctypes.c_char * size).from_buffer_copy(mixtures.like.content)
found = []
for seeds in (mixtures.seeds(), mixtures.seeds()):
    device.copy(memory, ctypes.addressof(here), size)
    on_device.put(memory, seeds)
    device.wait()
    same = bytearray(mixtures.like.content)
    mixtures.write(same, seeds)
    found.append((device.read(memory, size) == same, same != mixtures.like.content, same.count(b"?")))
on_device.end()
print(json.dumps(found))
"""


@pytest.fixture(name="environment", scope="module")
def _environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **libcuda_standin.built(tmp_path_factory.mktemp("cuda"))}


@pytest.mark.parametrize(
    ("kind", "many"),
    [
        ("uint8", 2), ("uint8", 40_001), ("float16", FEWEST_PIECES - 1), ("float16", 2 * FEWEST_PIECES + 1),
        ("float32", PIECE * FEWEST_PIECES), ("float32", PIECE * FEWEST_PIECES + 1), ("float64", 3), ("float64", 20_000),
    ],
)  # fmt: skip
def test_a_device_makes_the_mixture_of_a_seed(environment: dict[str, str], kind: str, many: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", MADE, kind, str(many)], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    for same, is_new, guards in json.loads(ended.stdout):
        assert same and is_new
        assert guards > 300_000 - 8 * many, "what lies beside the arrays is left alone"


@pytest.mark.parametrize(
    ("lib", "outputs", "can"), [("torch", ["y"], True), ("torch", ["x"], False), ("numpy", ["y"], False)]
)
def test_arrays_that_no_device_has_or_that_kernels_write_to_are_not_made_there(
    lib: str, outputs: list[str], can: bool
) -> None:
    inputs = Inputs({"x": Layout(lib, "float32", (4,), (1,), 4, 64), "eps": 1e-6}, bytearray(160))
    assert on_device([inputs, inputs], outputs) is can
