"""Is `kernel.rmsnorm_silu` right, and how fast is it? With --json the last line of stdout is the result.

Right means: within the tolerance of a float64 reference, for inputs of several kinds from fresh seeds, its inputs left
as they were; and right again in some of the calls that were timed, chosen when they are over. The kernel never runs in
this process, which makes the verdict and prints it: see benchmark.py.
"""

import argparse
import importlib
import json
import os
import secrets
import sys

import benchmark
from benchmark import Wrong

KINDS = ("normal", "constant", "heavy tail", "tiny", "large")
RTOL, ATOL = 2e-3, 1e-4
CHECKED = 4
"""Timed calls of a case whose outputs are looked at."""
FASTER_THAN_ITSELF = 0.95
"""A call cannot end sooner than its kernels: less than this share of their time is work on a stream of its own."""
EXTRA = ((1, 1), (3, 1000), (5, 8191))
"""Shapes that are checked and not timed: one element, and widths that no block divides."""


def reference(x, gate, weight, eps):
    """In float64."""
    import torch

    x, gate, weight = (t.to(torch.float64) for t in (x, gate, weight))
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * weight * gate * torch.sigmoid(gate)


def compare(y, given, what):
    """Raises Wrong unless `y` is right for the inputs `given`."""
    import torch

    want = reference(*given, benchmark.EPS)
    excess = (y.to(torch.float64) - want).abs() - (ATOL + RTOL * want.abs())
    wrong = ~(excess <= 0)  # NaN is wrong, too
    if wrong.any():
        at = tuple(wrong.nonzero()[0].tolist())
        got, wanted, count = y[at].item(), want[at].item(), int(wrong.sum())
        raise Wrong(f"{what}: y{list(at)} is {got:.6g}, should be {wanted:.6g} ({count} elements wrong)")


def check(kernel, shape):
    """Raises Wrong unless it is right for every kind of inputs of this shape."""
    for kind in KINDS:
        what, seed = f"{benchmark.name_of(shape)}, {kind}", secrets.randbits(48)
        kernel.call(shape, seed, kind)
        given = benchmark.inputs(shape, seed, kind)
        compare(kernel.output(0, 0, given[0]), given, what)


def verify(kernel, args):
    """The result: the score, and each case's times."""
    shapes = benchmark.CASES[args.mode]
    for shape in (*EXTRA, *shapes):
        check(kernel, shape)
    seeds = [secrets.randbits(48) for _ in shapes]
    cases = kernel.measure(shapes, seeds, args.warmup, args.repeats)
    for number, (case, shape, seed) in enumerate(zip(cases, shapes, seeds, strict=True)):
        for at in secrets.SystemRandom().sample(range(args.repeats), min(CHECKED, args.repeats)):
            given = benchmark.inputs(shape, seed + at)
            compare(kernel.output(number, at, given[0]), given, f"{case['name']}, timed call {at}")
        us, device_us = case["us"], case["device_us"]
        if device_us is not None and us < FASTER_THAN_ITSELF * device_us:
            raise Wrong(f"{case['name']}: a call took {us:.2f} us, but its kernels {device_us:.2f} us")
    return {"ok": True, "best_us": sum(case["us"] for case in cases), "cases": cases}


def profile(mode):
    """Each case once for a profiler that looks from outside: marked for it, in a range of its name.

    Nothing is judged here, so the kernel may run in this process.
    """
    import torch

    function = importlib.import_module("kernel").rmsnorm_silu
    for shape in benchmark.CASES[mode]:
        given = benchmark.inputs(shape, secrets.randbits(48))
        function(*given, benchmark.EPS)  # whatever is compiled is compiled here
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        torch.cuda.nvtx.range_push(benchmark.name_of(shape))
        function(*given, benchmark.EPS)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        torch.cuda.cudart().cudaProfilerStop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="the result as one line of JSON instead of a table")
    parser.add_argument("--mode", choices=sorted(benchmark.CASES), default="dev", help="final: the held-out cases")
    parser.add_argument("--warmup", type=int, default=100, help="calls before each round of timed ones")
    parser.add_argument("--repeats", type=int, default=200, help="calls of a case that are timed, in rounds")
    parser.add_argument("--profile", action="store_true", help="only run each case once, for a profiler")
    args = parser.parse_args()
    if args.profile:
        profile(args.mode)
        return 0

    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the kernel prints is no result
    kernel = benchmark.Kernel()
    try:
        result = verify(kernel, args)
    except Wrong as err:
        result = {"ok": False, "error": str(err)}
    kernel.end()
    if args.json or not result["ok"]:
        print(json.dumps(result), file=said)
    else:
        for case in result["cases"]:
            print(f"{case['name']:>12} {case['us']:9.2f} us", file=said)
        print(f"{'best_us':>12} {result['best_us']:9.2f}", file=said)
    said.close()
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
