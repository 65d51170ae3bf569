"""Memory of a GPU that two processes share, on a library that passes for CUDA's driver."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT
from tests.support.measure import libcuda_standin

HEAD = """
import ctypes, json, os, sys
from ctypes import byref, c_size_t, c_uint64
from kpd.measure.python.host.device import *

def tell(what):
    print(json.dumps(what), flush=True)

def raised(function, *given):
    try:
        function(*given)
    except (DeviceError, NotShared) as err:
        return f"{type(err).__name__}: {err}"
    return "nothing"
"""
# What the worker does: it opens what it is lent, takes memory of its own, and says where that is.
WORKER = f"""{HEAD}
device = CudaDevice()
lent, size = device.opened(bytes.fromhex(input()))
own, results = device.taken(5000), ctypes.create_string_buffer(b"results", 7)
device.copy(own, ctypes.addressof(results), 7)
device.wait()
number = ctypes.c_ulonglong()
device.call("cuPointerGetAttribute", byref(number), 7, c_uint64(own))
tell({{"size": size, "own": own, "number": number.value, "handle": device.handle(own).hex()}})
while (line := input()) != "end":
    if line == "another":
        device.free(own)
        again, results = device.taken(5000), ctypes.create_string_buffer(b"another", 7)
        device.copy(again, ctypes.addressof(results), 7)
        device.wait()
        device.call("cuPointerGetAttribute", byref(number), 7, c_uint64(again))
        tell({{"moved": again != own, "number": number.value, "handle": device.handle(again).hex()}})
        continue
    if line == "spoil":
        spoiled = ctypes.create_string_buffer(b"x" * size, size)
        device.copy(lent, ctypes.addressof(spoiled), size)
        device.wait()
    tell(device.read(lent, size if line == "look at all" else 6).decode())
"""


@pytest.fixture(name="environment")
def _environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **libcuda_standin.built(tmp_path)}


def said(environment: dict[str, str], source: str) -> list[Any]:
    """What a process tells that runs this source."""
    command = [sys.executable, "-c", f"{HEAD}{source}"]
    found = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_a_worker_sees_inputs_once_they_are_written_and_its_results_are_read_where_they_lie(
    environment: dict[str, str],
) -> None:
    source = f"""
import subprocess
WORKER = {WORKER!r}
device = CudaDevice()
memory, opened = LentMemory(device, 1 << 22), OpenedMemory(device)
worker = subprocess.Popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def ask(line):
    worker.stdin.write(line + "\\n")
    worker.stdin.flush()
    return json.loads(worker.stdout.readline())

memory.content[:6] = b"before"
said = ask(memory.lend(0, 100))
memory.write(0, 100)
tell(ask("look"))
memory.content[:6] = b"behind"
tell(ask("look"))
memory.write(0, 100)
tell(ask("look"))
tell(memory.read(0, 2, 4).decode())
tell(said["size"])
tell(raised(opened.read, said["own"], 7))
opened.learn(said["number"], said["own"], bytes.fromhex(said["handle"]))
tell(opened.read(said["own"], 7).decode())
tell(opened.at(said["own"] + 4093, 7) == said["number"])
tell(raised(opened.read, said["own"] + 4994, 7))
tell(raised(opened.read, said["own"] - 1, 7))
again = ask("another")
tell([again["moved"], again["number"] == said["number"]])
opened.learn(again["number"], said["own"], bytes.fromhex(again["handle"]))
tell(opened.read(said["own"], 7).decode())
said |= again
tell(raised(opened.learn, 5, said["own"], b"another".ljust(64, b"\\0")))
tell(raised(opened.learn, 5, said["own"], b"short"))
opened.learn(6, said["own"] + 4999, bytes.fromhex(said["handle"]))
tell([*opened.pieces])
worker.communicate("end\\n")
"""
    assert said(environment, source) == [
        "before", "before", "behind", "hind", 1 << 21,
        "NotShared: ", "results", True, "NotShared: ", "NotShared: ", [False, False], "another",
        "DeviceError: cuIpcOpenMemHandle_v2: error (201)", "DeviceError: it is no handle of memory", [6],
    ]  # fmt: skip


@pytest.mark.parametrize("base", [0, 4096], ids=["from the beginning", "from a later page"])
def test_nothing_is_left_of_what_a_kernel_wrote_into_inputs_also_where_a_few_change(
    environment: dict[str, str], base: int
) -> None:
    source = f"""
import random, subprocess
WORKER, BASE, SIZE = {WORKER!r}, {base}, 3 * LEAST + 5
rng, device = random.Random(4), CudaDevice()
memory = LentMemory(device, 1 << 23)
worker = subprocess.Popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def ask(line):
    worker.stdin.write(line + "\\n")
    worker.stdin.flush()
    return json.loads(worker.stdout.readline())

memory.content[BASE:BASE + SIZE] = bytes(rng.choices(b"abcdef", k=SIZE))
ask(memory.lend(BASE, SIZE))
for places in (None, [], [0], [SIZE - 1], [LEAST - 1, LEAST, LEAST + 1], [3, SIZE - 2, 2 * LEAST]):
    ask("spoil")
    for place in places or ():
        memory.content[BASE + place] ^= 16
    memory.write(BASE, SIZE, places and [BASE + place for place in places])
    found = ask("look at all")
    tell([found[:SIZE] == bytes(memory.content[BASE:BASE + SIZE]).decode(), len(found) >= SIZE])
worker.communicate("end\\n")
"""
    assert said(environment, source) == [[True, True]] * 6


def test_memory_that_is_too_small_is_taken_anew_and_what_was_lent_stays_until_the_end(
    environment: dict[str, str],
) -> None:
    source = """
device = CudaDevice()
memory = LentMemory(device, 1 << 23)
first = memory.lend(0, 100)
tell(memory.lend(0, 1 << 21) == first)
old = memory.lent[0][0]
second = memory.lend(0, (1 << 21) + 1)
tell(second == first)
tell(raised(device.read, old, 1))
memory.lend(1 << 22, 100)
tell(raised(device.read, old, 1))
kept = [*memory.kept.values()]
tell([len(memory.lent), memory.pinned])
memory.end()
tell(raised(device.read, old, 1))
tell({raised(device.read, one, 1) for one in kept} <= {raised(device.read, old, 1)})
tell([len(memory.lent), memory.pinned])
"""
    gone = "DeviceError: cuMemcpyDtoHAsync_v2: CUDA_ERROR_INVALID_VALUE (1)"
    taken = [True, False, "nothing", "nothing", [2, (1 << 22) + 2 * (1 << 21)]]
    assert said(environment, source) == [*taken, gone, True, [0, 0]]


def test_a_probe_lasts_as_long_as_the_device_is_busy(environment: dict[str, str]) -> None:
    source = "device = CudaDevice()\ntell(min(device.probe() for _ in range(5)))"
    (short,) = said(environment, source)
    (long,) = said({**environment, "STANDIN_BUSY_US": "20000"}, source)
    assert long - short > 15_000_000


def test_a_host_without_the_driver_says_so(environment: dict[str, str]) -> None:
    (found,) = said({**environment, "LD_LIBRARY_PATH": ""}, "tell(raised(CudaDevice))")
    assert found.startswith("DeviceError: libcuda.so.1")
