"""A second opinion by hand: is `kernel.rmsnorm_silu` right, and what is the sum of its four best times?

Right means: within MAX_ABS of a float64 reference, in inputs of several kinds from fresh seeds, with the inputs left as
they were; and right again in some of the calls that were timed, chosen when they are over. A case's time is the best of
`--repeats` calls, each between two events on an idle GPU, launching it included; its inputs were just written, so that
they lie in the L2, and the kernel has never seen them. `nothing_us` is the same for two events with nothing between
them, which is a part of it. kpd does not use this file: its own runner judges by harness.py.

The kernel has a process of its own (`serve`). The one that judges never imports it: it says which inputs to make, takes
the outputs as bytes and compares them itself. The clock runs where the kernel runs: one that is out to forge it can.
"""

import argparse
import contextlib
import ctypes
import importlib
import json
import multiprocessing
import os
import secrets
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHAPES = ((1536, 1024), (896, 2048), (448, 4096), (192, 8192))
EXTRA = ((1, 1), (3, 1000), (5, 8191))
"""Shapes that are checked and not timed: one element, and widths that no block divides."""
KINDS = ("normal", "constant", "tiny", "large")
EPS = 1e-6
MAX_ABS = 7.5e-3
MOST = 3.0
"""The largest of x and gate, so that the results stay where float16 is finer than MAX_ABS."""
CHECKED = 4
"""Timed calls of a case whose outputs are looked at."""
FASTER_THAN_ITSELF = 0.95
"""A call cannot end sooner than its kernels: less than this share of their time is work on a stream of its own."""
ROUND = 10
"""Calls of a case that are timed in a row."""
PAUSE_S = 0.05
"""Between rounds: what else a CPU does can slow it down for longer than a round."""
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
        return torch.randn(*size, generator=generator, device="cuda", dtype=torch.float32).clamp(-MOST, MOST)

    x, gate, weight = normal(rows, cols), normal(rows, cols), 1 + 0.1 * normal(cols)
    if kind == "constant":
        x, gate = x[:1, :1].expand(rows, cols), gate[:1, :1].expand(rows, cols)
    elif kind == "tiny":
        x = x * 1e-6  # float16's denormals: eps decides
    elif kind == "large":
        x = x * 1e4  # its squares are beyond float16
    elif kind != "normal":
        raise ValueError(f"no inputs are called {kind!r}")
    return [t.to(torch.float16).contiguous() for t in (x, gate, weight)]


def compare(y, given, what):
    """Raises Wrong unless `y` is right for the inputs `given`."""
    import torch

    x, gate, weight = (t.to(torch.float64) for t in given)
    want = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + EPS) * weight * gate * torch.sigmoid(gate)
    wrong = ~((y.to(torch.float64) - want).abs() <= MAX_ABS)  # NaN is wrong, too
    if wrong.any():
        at = tuple(wrong.nonzero()[0].tolist())
        got, wanted, count = y[at].item(), want[at].item(), int(wrong.sum())
        raise Wrong(f"{what}: y{list(at)} is {got:.6g}, should be {wanted:.6g} ({count} elements wrong)")


class Kernel:
    """The kernel in its process, for the one that judges. Only bytes come back: a pickle could run code here."""

    def __init__(self, folder):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, str(folder)), daemon=True)
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

    def output(self, case, at, like):
        """What call number `at` of a case returned, as a tensor on the GPU. Raises Wrong."""
        import torch

        self.ask("output", case=case, at=at)
        with contextlib.suppress(EOFError, OSError):
            said = self.pipe.recv_bytes(like.numel() * like.element_size())
            return torch.frombuffer(bytearray(said), dtype=like.dtype).to(like.device).view(like.shape)
        raise Wrong("the kernel's process did not hand over its output")

    def end(self):
        self.process.kill()
        self.process.join()


def serve(pipe, folder):
    """The kernel's process: does as it is asked, and keeps what the kernel returned until that is asked for."""
    import torch

    synchronize, clock = torch.cuda.synchronize, torch.cuda.Event  # before the kernel can put others in their place
    kept = []

    def answer(what, shape=(), seed=0, kind="normal", seeds=(), warmup=0, repeats=0, case=0, at=0):
        if what == "time":
            us, kept[:] = best_us(rmsnorm_silu, seeds, warmup, repeats, clock, synchronize)
            return {"us": us}
        if what == "nothing":
            return {"us": best_us(lambda x, *_: x, seeds, warmup, repeats, clock, synchronize)[0]}
        if what == "device":
            return {"device_us": device_us(rmsnorm_silu, seeds, synchronize)}
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
        sys.path.insert(0, folder)
        rmsnorm_silu = importlib.import_module("kernel").rmsnorm_silu
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


def best_us(function, seeds, warmup, repeats, clock, synchronize):
    """The best time of a call of each case, in microseconds, and each call's x and a copy of its y."""
    best, kept = [float("inf")] * len(SHAPES), [[] for _ in SHAPES]
    start, end = clock(enable_timing=True), clock(enable_timing=True)
    for first in range(0, repeats, ROUND):
        time.sleep(PAUSE_S)
        for case, (shape, seed) in enumerate(zip(SHAPES, seeds, strict=True)):
            for _ in range(warmup):
                function(*inputs(shape, secrets.randbits(48)), EPS)
            for at in range(first, min(first + ROUND, repeats)):
                given = inputs(shape, seed + at)
                synchronize()
                start.record()
                y = function(*given, EPS)
                end.record()
                synchronize()
                kept[case].append((given[0], y.clone()))
                best[case] = min(best[case], 1000 * start.elapsed_time(end))
    return best, kept


def device_us(function, seeds, synchronize):
    """The time of the kernels of one call of each case, in microseconds, as CUPTI sees it; None where it sees nothing.

    CUPTI takes a second to start and slows down what is launched afterwards, so it is started once, when all is timed.
    """
    import torch
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    cases = [inputs(shape, seed) for shape, seed in zip(SHAPES, seeds, strict=True)]
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for given in cases:
            torch.cuda._sleep(1)  # a kernel that stands between the cases
            for _ in range(DEVICE_CALLS):
                function(*given, EPS)
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


def verify(kernel, warmup, repeats):
    """The result: the score, and each case's times. Raises Wrong."""
    for shape in (*EXTRA, *SHAPES):
        for kind in KINDS:
            seed = secrets.randbits(48)
            kernel.ask("call", shape=shape, seed=seed, kind=kind)
            given = inputs(shape, seed, kind)
            compare(kernel.output(0, 0, given[0]), given, f"{name_of(shape)}, {kind}")
    seeds, cases = [secrets.randbits(48) for _ in SHAPES], []
    timed = kernel.ask("time", seeds=seeds, warmup=warmup, repeats=repeats)["us"]
    for number, (shape, seed) in enumerate(zip(SHAPES, seeds, strict=True)):
        for at in secrets.SystemRandom().sample(range(repeats), min(CHECKED, repeats)):
            given = inputs(shape, seed + at)
            compare(kernel.output(number, at, given[0]), given, f"{name_of(shape)}, timed call {at}")
    nothing = kernel.ask("nothing", seeds=seeds, warmup=warmup, repeats=repeats)["us"]
    alone = kernel.ask("device", seeds=seeds)["device_us"]
    for shape, us, device in zip(SHAPES, timed, alone, strict=True):
        us, device = float(us), device and float(device)
        if device is not None and us < FASTER_THAN_ITSELF * device:
            raise Wrong(f"{name_of(shape)}: a call took {us:.2f} us, but its kernels {device:.2f} us")
        dims = dict(zip(("rows", "cols"), shape, strict=True))
        cases.append({"name": name_of(shape), "us": us, "device_us": device, "dims": dims})
    return {"ok": True, "best_us": sum(case["us"] for case in cases), "nothing_us": sum(nothing), "cases": cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", type=Path, default=HERE, help="the folder of kernel.py (default: this one)")
    parser.add_argument("--warmup", type=int, default=10, help="calls before each round of timed ones")
    parser.add_argument("--repeats", type=int, default=60, help="calls of a case that are timed, in rounds")
    parser.add_argument("--record", type=Path, help="append the result to this file of JSON lines")
    args = parser.parse_args()
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the kernel prints is no result
    kernel = Kernel(args.kernel.resolve())
    try:
        result = verify(kernel, args.warmup, args.repeats)
    except Wrong as err:
        result = {"ok": False, "error": str(err)}
    kernel.end()
    print(json.dumps(result), file=said, flush=True)
    if args.record:
        with args.record.open("a") as records:
            records.write(json.dumps({"kernel": str(args.kernel), **result}) + "\n")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
