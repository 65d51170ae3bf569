"""What it costs that the runner writes a worker's inputs on a GPU itself, and what it sees of kernels that still run.

    python benchmarks/python_memory.py

Two processes as the runner and its worker, with torch: copies of several sizes by one, and how long a batch of the
other takes after each; then answers that come before the work is done, how late a probe of the device by the runner is
after them, and whether results that are read at once are right. Prints JSON lines.
"""

import ctypes
import json
import os
import random
import select
import signal
import socket
import time
from collections.abc import Callable
from ctypes import byref
from functools import partial
from statistics import median
from typing import Any

import torch

from kpd.measure.python.host.device import CudaDevice, LentMemory, OpenedMemory
from kpd.measure.python.host.gpu import Gpu

ROWS, COLS, SETS = 1536, 1024, 32
BYTES = 2 * ROWS * COLS
TIMES = 40
CHANGED = 96
"""Places of all inputs that change before a batch: about as many as with three for each set."""
CYCLES_A_US = 1700
EARLY = 4
"""Calls of a batch that is answered early."""


class Tensors:
    """What the worker has: inputs that are lent to it, results of its own."""

    def __init__(self) -> None:
        self.gpu = Gpu(memoryview(b""))
        self.results = torch.zeros(SETS, ROWS, COLS, device="cuda", dtype=torch.float16)
        self.sets: Any = None

    def open(self, handle: str) -> dict[str, Any]:
        self.gpu.borrow(0, handle)
        address = self.gpu.lent[0][1]
        piece = type("Piece", (), {"__cuda_array_interface__": {
            "shape": (SETS * BYTES,), "typestr": "|u1", "data": (address, False), "version": 3,
        }})()  # fmt: skip
        self.sets = torch.as_tensor(piece, device="cuda").view(torch.float16).view(SETS, ROWS, COLS)
        return {"at": self.results.data_ptr(), **self.gpu.shared(self.results.data_ptr())}

    def calls(self, many: int) -> None:
        for number in range(many):
            torch.mul(self.sets[number % SETS], 2.0, out=self.results[number % SETS])


def worker(line: socket.socket) -> None:
    mine = Tensors()
    while request := line.recv(4096):
        asked, said = json.loads(request), {}
        if asked["what"] == "open":
            said = mine.open(asked["handle"])
        elif asked["what"] == "run":
            mine.calls(asked["calls"])
            mine.gpu.synchronize()
        elif asked["what"] == "forget":
            mine.results.zero_()
            mine.gpu.synchronize()
        else:
            torch.cuda._sleep(asked["cycles"])
            mine.calls(EARLY)
        line.sendall(json.dumps(said).encode())


class Runner:
    """The other process, which stops the worker between two requests."""

    def __init__(self) -> None:
        self.line, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self.line.close()
            worker(theirs)
            os._exit(0)
        theirs.close()
        self.device = CudaDevice()
        self.memory, self.opened = LentMemory(self.device, 1 << 30), OpenedMemory(self.device)
        said, _ = self.ask(what="open", handle=self.memory.lend(0, SETS * BYTES))
        self.opened.learn(said["number"], said["base"], bytes.fromhex(said["handle"]))
        self.results = said["at"]
        self.stop()

    def ask(self, **what: Any) -> tuple[dict[str, Any], int]:
        self.line.sendall(json.dumps(what).encode())
        begun = time.perf_counter_ns()
        os.kill(self.pid, signal.SIGCONT)
        while not select.select([self.line], [], [], 0)[0]:
            pass
        spent = time.perf_counter_ns() - begun
        return json.loads(self.line.recv(1 << 16)), spent

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def after(self, name: str, change: Callable[[], object]) -> None:
        """Print how long a change takes, and batches of so many calls after it."""
        for calls in (0, 4, 200):
            took, spent = [], []
            for _ in range(TIMES):
                begun = time.perf_counter_ns()
                change()
                took.append(time.perf_counter_ns() - begun)
                spent.append(self.ask(what="run", calls=calls)[1])
                self.stop()
            print(json.dumps({"after": name, "calls": calls, "took": told(took), "batch": told(spent)}), flush=True)

    def early(self, us: int, probes: bool) -> None:
        """Print how late a probe is after an answer that came early, or whether what is read at once is right."""
        late, right = [], 0
        for _ in range(12):
            self.ask(what="forget")
            self.stop()
            self.ask(what="early", cycles=max(CYCLES_A_US * us, 1))
            if probes:
                late.append(self.device.probe())
            read = self.opened.read(self.results + (EARLY - 1) * BYTES, 64)
            right += read != bytes(64)
            self.stop()
            self.ask(what="run", calls=0)
            self.stop()
        print(
            json.dumps({"early_us": us, "probe": told(late) if probes else None, "right": right, "of": 12}), flush=True
        )

    def copied(self, size: int) -> None:
        self.device.copy(self.memory.lent[0][0], self.memory.start, size)
        self.device.wait()


def told(spent: list[int]) -> dict[str, float]:
    """Return the median and the outer tenths, in microseconds."""
    ordered, many = sorted(spent), len(spent)
    tenths = {"us": median(ordered), "p10": ordered[many // 10], "p90": ordered[9 * many // 10]}
    return {name: round(ns / 1000, 1) for name, ns in tenths.items()}


def main() -> None:
    runner = Runner()
    number, name = ctypes.c_int(), ctypes.create_string_buffer(100)
    runner.device.call("cuDeviceGet", byref(number), 0)
    runner.device.call("cuDeviceGetName", name, 100, number)
    print(json.dumps({"device": name.value.decode()}), flush=True)
    runner.memory.content[: SETS * BYTES] = os.urandom(BYTES) * SETS
    runner.memory.write(0, SETS * BYTES)
    runner.ask(what="run", calls=2000)
    runner.stop()
    runner.after("nothing", lambda: None)
    for size in (1 << power for power in range(12, 21)):
        runner.after(f"a copy of {size} bytes", partial(runner.copied, size))
    runner.after("all inputs", lambda: runner.memory.write(0, SETS * BYTES))
    places = [random.randrange(SETS * BYTES) for _ in range(CHANGED)]
    runner.after("all inputs, of which some have changed", lambda: runner.memory.write(0, SETS * BYTES, places))
    runner.after("a probe", runner.device.probe)
    for us in (0, 20, 50, 100, 200, 500, 1000, 3000, 10000):
        runner.early(us, probes=True)
        runner.early(us, probes=False)
    os.kill(runner.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
