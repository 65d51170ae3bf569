"""Times of `src/layernorm.py` as JSON: as the caller sees them, and on the device alone.

The candidate has a process of its own (`serve`). The one that judges (`Candidate`) never imports it: it says which
inputs to make, takes the results as bytes and compares some of the timed ones itself. So nothing that the candidate
does to its Python makes a wrong result right. What that cannot protect is the clock, which runs where the candidate
runs: one that is out to forge it can, so look at what kpd flags in it, and at times that are too good.

torch is imported when it is needed, so that --help works where there is none.
"""

import argparse
import contextlib
import ctypes
import json
import multiprocessing
import os
import secrets
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHAPES = ((1, 4096, 3072), (2, 1024, 1536), (2, 257, 1152), (1, 8192, 1024))
EPS = 1e-6
ATOL, RTOL = 2e-2, 1e-2
CHECKED = 4  # timed calls of a shape whose results are looked at
FASTER_THAN_ITSELF = 0.95  # a call cannot end sooner than its kernels: less of their time is work on another stream
ROUND = 5  # calls of a case that are timed in a row
PAUSE_S = 0.1  # between rounds
FLUSH = 3  # what lies between two uses of the same inputs is so many times as large as the L2 cache
MOST_SETS = 512
DEVICE_CALLS = 20
MARK = "spin_kernel"  # in the name of the kernel that torch.cuda._sleep launches
LONGEST = 1 << 16  # bytes of an answer; results come apart from it


class Wrong(Exception):
    """What the candidate got wrong, in words."""


def candidate():
    """The function that is measured; only ever called where nothing is judged."""
    sys.path.insert(0, str(HERE / "src"))
    from layernorm import layernorm_scale_shift_

    return layernorm_scale_shift_


def name_of(shape):
    return "x".join(map(str, shape))


def inputs(shape, seed, spread=1.0, middle=0.0):
    """x, scale and shift, bfloat16, on the GPU, the same in every process; x around `middle`, as far as `spread`."""
    import torch

    batch, _, width = shape
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)

    def normal(*size):
        return torch.randn(*size, generator=generator, device="cuda", dtype=torch.float32)

    x, scale, shift = normal(*shape) * spread + middle, normal(batch, width) * 0.1, normal(batch, width)
    return [t.to(torch.bfloat16) for t in (x, scale, shift)]


def reference(x, scale, shift):
    """In float64."""
    import torch

    x, scale, shift = (t.to(torch.float64) for t in (x, scale, shift))
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).pow(2).mean(dim=-1, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + EPS) * (1 + scale)[:, None, :] + shift[:, None, :]


def compare(y, given, what):
    """Raises Wrong unless `y` is right for the inputs `given`."""
    import torch

    want = reference(*given)
    wrong = ~((y.to(torch.float64) - want).abs() <= ATOL + RTOL * want.abs())  # NaN is wrong, too
    if wrong.any():
        at = tuple(wrong.nonzero()[0].tolist())
        got, wanted, count = y[at].item(), want[at].item(), int(wrong.sum())
        raise Wrong(f"{what}: x{list(at)} is {got:.6g}, should be {wanted:.6g} ({count} elements wrong)")


class Candidate:
    """The candidate in its process, for the one that judges. Only bytes come back: a pickle could run code here."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        # From now on there may be modules in these folders that the candidate has written.
        sys.path[:] = [path for path in sys.path if Path(path).resolve() not in (HERE, HERE / "tests")]
        inputs((1, 1, 1), 0)  # torch and the device take seconds to start, here as there: at the same time

    def ask(self, what, **about):
        """The answer. Raises Wrong for the candidate's own error, and where there is none."""
        answer = {"error": "the candidate's process ended before it answered"}
        with contextlib.suppress(OSError):  # it may have said why it has ended
            self.pipe.send_bytes(json.dumps({"what": what, **about}).encode())
        with contextlib.suppress(EOFError, OSError):
            answer = json.loads(self.pipe.recv_bytes(LONGEST))
        if "error" in answer:
            raise Wrong(str(answer["error"]))
        return answer

    def check(self, shape, seed, what, timed=None, **kind):
        """Compare a call with the reference: one more, or one that was `timed`: its case and number. Raises Wrong."""
        import torch

        if timed is None:
            self.ask("call", shape=shape, seed=seed, **kind)
        case, at = timed or (0, 0)
        self.ask("result", case=case, at=at)
        given = inputs(shape, seed + at, **kind)
        like = given[0]
        try:
            said = self.pipe.recv_bytes(like.numel() * like.element_size())
        except (EOFError, OSError) as err:
            raise Wrong(f"{what}: the candidate's process did not hand over its result") from err
        compare(torch.frombuffer(bytearray(said), dtype=like.dtype).to(like.device).view(like.shape), given, what)

    def end(self):
        self.process.kill()
        self.process.join()


def serve(pipe):
    """The candidate's process: does as it is asked, and keeps the results until they are asked for."""
    import torch

    synchronize, clock = torch.cuda.synchronize, torch.cuda.Event  # before others can be put in their place
    kept = []

    def answer(what, shape=(), seed=0, shapes=(), seeds=(), warmup=0, repeats=0, case=0, at=0, **kind):
        if what in ("time", "device"):
            cases = [input_sets(*one, repeats) for one in zip(shapes, seeds, strict=True)]
        if what == "time":
            us, kept[:] = event_us(function, cases, warmup, repeats, clock, synchronize)
            return {"us": us}
        if what == "device":
            return {"device_us": device_us(function, cases, synchronize)}
        if what == "call":
            given = inputs(shape, seed, **kind)
            kept[:] = [[given[0]]]
            before = [t.clone() for t in given[1:]]
            y = function(*given, EPS)
            synchronize()
            if y.data_ptr() != kept[0][0].data_ptr():
                return {"error": "it did not return x itself"}
            return {} if all(map(torch.equal, given[1:], before)) else {"error": "it changed scale or shift"}
        return {}

    try:
        function = candidate()
        while True:
            asked = json.loads(pipe.recv_bytes())
            said = answer(**asked)
            pipe.send_bytes(json.dumps(said).encode())
            if asked["what"] == "result":
                x = kept[asked["case"]][asked["at"]].cpu().contiguous()
                pipe.send_bytes(ctypes.string_at(x.data_ptr(), x.numel() * x.element_size()))
    except BaseException as err:
        pipe.send_bytes(json.dumps({"error": f"{type(err).__name__}: {err}"[:1000]}).encode())
        raise


def input_sets(shape, seed, repeats):
    """One set for each timed call, and others past them that push the first out of the L2 cache."""
    import torch

    size = inputs(shape, seed)[0].numel() * 2
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or 64 << 20
    count = repeats + max(2, min(MOST_SETS, -(-FLUSH * cache // size)))
    return [inputs(shape, seed + at) for at in range(count)]


def event_us(function, cases, warmup, repeats, clock, synchronize):
    """The time of a call of each case between two events on its stream, in microseconds: launching it included.

    It is the median of the case's quickest round: what else a CPU does slows Python down for tenths of a second, and
    the rounds are spread over longer than that. Also each call's result, copied before the candidate can go on with
    it. Every timed call has inputs that the candidate has never seen, so that nothing that it kept helps it.
    """
    medians, kept = [[] for _ in cases], [[] for _ in cases]
    events = [[clock(enable_timing=True) for _ in range(2)] for _ in range(ROUND)]
    for first in range(0, repeats, ROUND):
        time.sleep(PAUSE_S)
        for sets, found, results in zip(cases, medians, kept, strict=True):
            timed, rest = sets[first : min(first + ROUND, repeats)], sets[repeats:]
            for at in range(warmup):
                function(*rest[at % len(rest)], EPS)
            synchronize()
            for given, (start, end) in zip(timed, events, strict=False):
                start.record()
                function(*given, EPS)
                end.record()
            synchronize()
            results += [given[0].clone() for given in timed]
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


def measure(one, warmup, repeats):
    """The result: the score, and each shape's times. Raises Wrong."""
    seeds, cases = [secrets.randbits(48) for _ in SHAPES], []
    event = one.ask("time", shapes=SHAPES, seeds=seeds, warmup=warmup, repeats=repeats)["us"]
    alone = one.ask("device", shapes=SHAPES, seeds=seeds)["device_us"]
    for number, (shape, seed, us, device) in enumerate(zip(SHAPES, seeds, event, alone, strict=True)):
        name, us, device = name_of(shape), float(us), device and float(device)
        for at in secrets.SystemRandom().sample(range(repeats), min(CHECKED, repeats)):
            one.check(shape, seed, f"{name}, timed call {at}", (number, at))
        if device is not None and us < FASTER_THAN_ITSELF * device:
            raise Wrong(f"{name}: a call took {us:.2f} us, but its kernels {device:.2f} us")
        dims = dict(zip(("batch", "tokens", "width"), shape, strict=True))
        cases.append({"name": name, "us": us, "device_us": device, "dims": dims})
    return {"ok": True, "best_us": statistics.geometric_mean(case["us"] for case in cases), "cases": cases}


def judged(judge):
    """What `judge` finds of the candidate, printed as JSON, where nothing that the candidate prints is; exit status."""
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    one = Candidate()
    try:
        result = judge(one)
    except Wrong as err:
        result = {"ok": False, "error": str(err)}
    one.end()
    print(json.dumps(result), file=said, flush=True)
    return 0 if result["ok"] else 1


def profile_once():
    """Each shape once for a profiler that looks from outside: marked for it, in a range of its name."""
    import torch

    function = candidate()
    for shape in SHAPES:
        given = inputs(shape, secrets.randbits(48))
        function(*given)  # whatever is compiled is compiled here
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        torch.cuda.nvtx.range_push(name_of(shape))
        function(*given)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        torch.cuda.cudart().cudaProfilerStop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warmup", type=int, default=20, help="calls before each round of timed ones")
    parser.add_argument("--repeats", type=int, default=50, help="calls of a shape that are timed, in rounds")
    parser.add_argument("--profile", action="store_true", help="only run each shape once, for a profiler")
    args = parser.parse_args()
    if args.profile:
        profile_once()
        return 0
    return judged(lambda one: measure(one, args.warmup, args.repeats))


if __name__ == "__main__":
    sys.exit(main())
