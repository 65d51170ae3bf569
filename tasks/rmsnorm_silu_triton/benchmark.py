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
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = {
    "dev": ((256, 1024), (128, 2048), (96, 3000), (64, 4096)),
    "final": ((200, 1536), (128, 4096), (48, 5120), (32, 7000), (64, 8192)),
}
EPS = 1e-6
FLUSH = 3
"""What lies between two uses of the same inputs is so many times as large as the L2 cache."""
MOST_SETS = 512
DEVICE_CALLS = 20
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

    def ask(self, what, **about):
        """The answer. Raises Wrong for the kernel's own error, and where there is none."""
        answer = {"error": "the kernel's process ended before it answered"}
        with contextlib.suppress(EOFError, OSError):
            self.pipe.send_bytes(json.dumps({"what": what, **about}).encode())
            answer = json.loads(self.pipe.recv_bytes(LONGEST))
        if "error" in answer:
            raise Wrong(str(answer["error"]))
        return answer

    def call(self, shape, seed, kind):
        """Call it once, on inputs that nobody has seen before."""
        self.ask("call", shape=shape, seed=seed, kind=kind)

    def output(self, at, like):
        """What its call number `at` returned, as a tensor on the GPU. Raises Wrong."""
        import torch

        self.ask("output", at=at)
        with contextlib.suppress(EOFError, OSError):
            said = self.pipe.recv_bytes(like.numel() * like.element_size())
            return torch.frombuffer(bytearray(said), dtype=like.dtype).to(like.device).view(like.shape)
        raise Wrong("the kernel's process did not hand over its output")

    def measure(self, shape, seed, warmup, repeats):
        """One case's times, as they stand in the result."""
        times = self.ask("time", shape=shape, seed=seed, warmup=warmup, repeats=repeats)
        device = times.get("device_us")
        dims = {"rows": shape[0], "cols": shape[1]}
        us, device_us = float(times["us"]), None if device is None else float(device)
        return {"name": name_of(shape), "us": us, "device_us": device_us, "dims": dims}

    def end(self):
        self.process.kill()
        self.process.join()


def serve(pipe):
    """The kernel's process: does as it is asked, and keeps what the kernel returned until that is asked for."""
    import torch

    synchronize, clock = torch.cuda.synchronize, torch.cuda.Event  # before the kernel can put others in their place
    kept = []

    def answer(what, shape=(), seed=0, kind="normal", warmup=0, repeats=0, at=0):
        if what == "time":
            sets = input_sets(shape, seed, repeats)
            us, kept[:] = event_us(rmsnorm_silu, sets, warmup, repeats, clock, synchronize)
            return {"us": us, "device_us": device_us(rmsnorm_silu, sets[repeats:], synchronize)}
        if what == "call":
            given = inputs(shape, seed, kind)
            before = [t.clone() for t in given]
            kept[:] = [(given[0], rmsnorm_silu(*given, EPS))]
            synchronize()
            return {} if all(map(torch.equal, given, before)) else {"error": "it changed its inputs"}
        x, y = kept[at]
        alike = isinstance(y, torch.Tensor) and (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)
        return {} if alike else {"error": "it returned no tensor like x"}

    try:
        from kernel import rmsnorm_silu

        while True:
            asked = json.loads(pipe.recv_bytes())
            said = answer(**asked)
            pipe.send_bytes(json.dumps(said).encode())
            if asked["what"] == "output" and not said:
                y = kept[asked["at"]][1].cpu().contiguous()
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


def event_us(function, sets, warmup, repeats, clock, synchronize):
    """The median time of a call between two events on its stream, in microseconds: what launching it costs included.

    Also each call's x and y. Every timed call has inputs that the kernel has never seen, so that nothing that it kept
    helps it.
    """
    rest = sets[repeats:]
    for at in range(warmup):
        function(*rest[at % len(rest)], EPS)
    synchronize()
    events = [[clock(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    kept = []
    for given, (start, end) in zip(sets, events, strict=False):
        start.record()
        y = function(*given, EPS)
        end.record()
        kept.append((given[0], y))
    synchronize()
    return statistics.median(1000 * start.elapsed_time(end) for start, end in events), kept


def device_us(function, sets, synchronize):
    """The time of the kernels of one call, in microseconds, as CUPTI sees it; None where it sees nothing."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for at in range(DEVICE_CALLS):
            function(*sets[at % len(sets)], EPS)
        synchronize()
    kernels = [event for event in seen.events() if event.device_type == DeviceType.CUDA]
    total = sum(event.time_range.elapsed_us() for event in kernels)
    return total / DEVICE_CALLS if total > 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=sorted(CASES), default="dev")
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=50)
    args = parser.parse_args()
    kernel = Kernel()
    print(f"{'case':>12} {'us':>9} {'device us':>9}")
    for shape in CASES[args.mode]:
        case = kernel.measure(shape, secrets.randbits(48), args.warmup, args.repeats)
        device = "" if case["device_us"] is None else f"{case['device_us']:.2f}"
        print(f"{case['name']:>12} {case['us']:>9.2f} {device:>9}")
    kernel.end()


if __name__ == "__main__":
    main()
