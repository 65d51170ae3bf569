"""Times of `kernel.rmsnorm_silu`, as the caller sees them and on the device alone.

The kernel has a process of its own (`serve`). The one that judges (`Kernel`) never imports it: it says which inputs to
make, takes the outputs as bytes and compares them itself. So nothing that the kernel does to its Python makes a wrong
output right. What that cannot protect is the clock, which runs where the kernel runs: a kernel that is out to forge it
can, so look at what kpd flags in it, and at times that are too good.

torch is imported when it is needed, so that --help works where there is none.
"""

import argparse
import contextlib
import ctypes
import json
import multiprocessing
import secrets
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = {
    "dev": ((256, 1024), (128, 2048), (96, 3000), (64, 4096)),
    "final": ((200, 1536), (128, 4096), (48, 5120), (32, 7000), (64, 8192)),
}
EPS = 1e-6
ROUND = 20
"""Calls of a case that are timed in a row."""
PAUSE_S = 0.1
"""Between rounds."""
FLUSH = 3
"""What lies between two uses of the same inputs is so many times as large as the L2 cache."""
MOST_SETS = 512
DEVICE_CALLS = 20
MARK = "spin_kernel"
"""In the name of the kernel that torch.cuda._sleep launches."""
LONGEST = 1 << 16
"""Bytes of an answer; outputs come apart from it."""


class Wrong(Exception):
    """What the kernel got wrong, in words."""


def name_of(shape):
    return f"{shape[0]}x{shape[1]}"


def inputs(shape, seed, kind="normal"):
    """x, gate and weight of one kind, float16, on the GPU; the same in every process."""
    import torch

    rows, cols = shape
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)

    def normal(*size):
        return torch.randn(*size, generator=generator, device="cuda", dtype=torch.float32)

    x, gate, weight = normal(rows, cols), normal(rows, cols), 1 + 0.1 * normal(cols)
    if kind == "constant":
        x, gate = x[:1, :1].expand(rows, cols), gate[:1, :1].expand(rows, cols)
    elif kind == "heavy tail":
        x = x * torch.exp(2 * normal(rows, cols))
    elif kind == "tiny":
        x = x * 1e-6  # float16's denormals: eps decides
    elif kind == "large":
        x, gate = x * 1e4, gate * 30
    elif kind != "normal":
        raise ValueError(f"no inputs are called {kind!r}")
    return [t.clamp(-6e4, 6e4).to(torch.float16).contiguous() for t in (x, gate, weight)]


class Kernel:
    """The kernel in its process, for the one that judges. Only bytes come back: a pickle could run code here."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        # From now on there may be modules in this folder that the kernel has written.
        sys.path[:] = [path for path in sys.path if Path(path).resolve() != HERE]
        inputs((1, 1), 0)  # torch and the device take seconds to start, here as there: at the same time

    def ask(self, what, **about):
        """The answer. Raises Wrong for the kernel's own error, and where there is none."""
        answer = {"error": "the kernel's process ended before it answered"}
        with contextlib.suppress(OSError):  # it may have said why it has ended
            self.pipe.send_bytes(json.dumps({"what": what, **about}).encode())
        with contextlib.suppress(EOFError, OSError):
            answer = json.loads(self.pipe.recv_bytes(LONGEST))
        if "error" in answer:
            raise Wrong(str(answer["error"]))
        return answer

    def call(self, shape, seed, kind):
        """Call it once, on inputs that nobody has seen before."""
        self.ask("call", shape=shape, seed=seed, kind=kind)

    def output(self, case, at, like):
        """What call number `at` of a case returned, as a tensor on the GPU. Raises Wrong."""
        import torch

        self.ask("output", case=case, at=at)
        with contextlib.suppress(EOFError, OSError):
            said = self.pipe.recv_bytes(like.numel() * like.element_size())
            return torch.frombuffer(bytearray(said), dtype=like.dtype).to(like.device).view(like.shape)
        raise Wrong("the kernel's process did not hand over its output")

    def measure(self, shapes, seeds, warmup, repeats):
        """The cases as they stand in the result; a `device_us` may be None. Only what was timed can be asked for."""
        event = self.ask("time", shapes=shapes, seeds=seeds, warmup=warmup, repeats=repeats)["us"]
        device = self.ask("device", shapes=shapes, seeds=seeds)["device_us"]
        return [
            {"name": name_of(shape), "us": float(us), "device_us": alone and float(alone),
             "dims": {"rows": shape[0], "cols": shape[1]}}
            for shape, us, alone in zip(shapes, event, device, strict=True)
        ]  # fmt: skip

    def end(self):
        self.process.kill()
        self.process.join()


def serve(pipe):
    """The kernel's process: does as it is asked, and keeps what the kernel returned until that is asked for."""
    import torch

    synchronize, clock = torch.cuda.synchronize, torch.cuda.Event  # before the kernel can put others in their place
    kept = []

    def answer(what, shape=(), seed=0, kind="normal", shapes=(), seeds=(), warmup=0, repeats=0, case=0, at=0):
        if what in ("time", "device"):
            cases = [input_sets(*one, repeats) for one in zip(shapes, seeds, strict=True)]
        if what == "time":
            us, kept[:] = event_us(rmsnorm_silu, cases, warmup, repeats, clock, synchronize)
            return {"us": us}
        if what == "device":
            return {"device_us": device_us(rmsnorm_silu, cases, synchronize)}
        if what == "call":
            given = inputs(shape, seed, kind)
            before = [t.clone() for t in given]
            kept[:] = [[(given[0], rmsnorm_silu(*given, EPS))]]
            synchronize()
            return {} if all(map(torch.equal, given, before)) else {"error": "it changed its inputs"}
        x, y = kept[case][at]
        alike = type(y) is torch.Tensor and (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)
        return {} if alike else {"error": "it returned no tensor like x"}

    try:
        from kernel import rmsnorm_silu

        while True:
            asked = json.loads(pipe.recv_bytes())
            said = answer(**asked)
            pipe.send_bytes(json.dumps(said).encode())
            if asked["what"] == "output" and not said:
                y = kept[asked["case"]][asked["at"]][1].cpu().contiguous()
                pipe.send_bytes(ctypes.string_at(y.data_ptr(), y.numel() * y.element_size()))
    except BaseException as err:
        pipe.send_bytes(json.dumps({"error": f"{type(err).__name__}: {err}"[:1000]}).encode())
        raise


def input_sets(shape, seed, repeats):
    """One set for each timed call, and others past them that push the first out of the L2 cache."""
    import torch

    size = sum(t.numel() * t.element_size() for t in inputs(shape, seed))
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or 64 << 20
    count = repeats + max(2, min(MOST_SETS, -(-FLUSH * cache // size)))
    return [inputs(shape, seed + at) for at in range(count)]


def event_us(function, cases, warmup, repeats, clock, synchronize):
    """The time of a call of each case between two events on its stream, in microseconds: launching it included.

    It is the median of the case's quickest round: what else a CPU does slows Python down for tenths of a second, and
    the rounds are spread over longer than that. Also each call's x and y, the latter copied before the kernel can go
    on with it. Every timed call has inputs that the kernel has never seen, so that nothing that it kept helps it.
    """
    medians, kept = [[] for _ in cases], [[] for _ in cases]
    events = [[clock(enable_timing=True) for _ in range(2)] for _ in range(ROUND)]
    for first in range(0, repeats, ROUND):
        time.sleep(PAUSE_S)
        for sets, found, calls in zip(cases, medians, kept, strict=True):
            timed, rest = sets[first : min(first + ROUND, repeats)], sets[repeats:]
            for at in range(warmup):
                function(*rest[at % len(rest)], EPS)
            synchronize()
            returned = []
            for given, (start, end) in zip(timed, events, strict=False):
                start.record()
                y = function(*given, EPS)
                end.record()
                returned.append((given[0], y))
            synchronize()
            calls += [(x, y.clone()) for x, y in returned]
            found.append(statistics.median(1000 * start.elapsed_time(end) for start, end in events[: len(timed)]))
    return [min(found) for found in medians], kept


def device_us(function, cases, synchronize):
    """The time of the kernels of one call of each case, in microseconds, as CUPTI sees it; None where it sees nothing.

    CUPTI takes a second to start and slows down what is launched afterwards, so it is started once, when all is timed.
    """
    import torch
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for sets in cases:
            torch.cuda._sleep(1)  # a kernel that stands between the cases
            for at in range(DEVICE_CALLS):
                function(*sets[at % len(sets)], EPS)
            synchronize()
    kernels = sorted((event for event in seen.events() if event.device_type == DeviceType.CUDA),
                     key=lambda event: event.time_range.start)  # fmt: skip
    totals = []
    for event in kernels:
        if MARK in event.name:
            totals.append(0.0)
        elif totals:
            totals[-1] += event.time_range.elapsed_us()
    known = len(totals) == len(cases) and all(totals)
    return [total / DEVICE_CALLS for total in totals] if known else [None] * len(cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=sorted(CASES), default="dev")
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=200)
    args = parser.parse_args()
    kernel, shapes = Kernel(), CASES[args.mode]
    seeds = [secrets.randbits(48) for _ in shapes]
    print(f"{'case':>12} {'us':>9} {'device us':>9}")
    for case in kernel.measure(shapes, seeds, args.warmup, args.repeats):
        device = "" if case["device_us"] is None else f"{case['device_us']:.2f}"
        print(f"{case['name']:>12} {case['us']:>9.2f} {device:>9}")
    kernel.end()


if __name__ == "__main__":
    main()
