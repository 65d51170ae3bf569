"""Times of `src/layernorm.py` as JSON: as the caller sees them, and on the device alone.

torch is imported when it is needed, so that --help works where there is none.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

SHAPES = ((1, 4096, 3072), (2, 1024, 1536), (2, 257, 1152), (1, 8192, 1024))
FLUSH = 3  # the inputs of one shape are so many times as large as the L2 cache
MOST_SETS = 512
DEVICE_CALLS = 20


def candidate():
    """The function that is measured."""
    sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))
    from layernorm import layernorm_scale_shift_

    return layernorm_scale_shift_


def name_of(shape):
    return "x".join(map(str, shape))


def inputs(shape, generator, spread=1.0, middle=0.0):
    """x, scale and shift, bfloat16, on the GPU; x around `middle`, as far as `spread`."""
    import torch

    batch, _, width = shape

    def normal(*size):
        return torch.randn(*size, generator=generator, device="cuda")

    x, scale, shift = normal(*shape) * spread + middle, normal(batch, width) * 0.1, normal(batch, width)
    return [t.to(torch.bfloat16) for t in (x, scale, shift)]


def sets_of(shape, generator):
    """So many sets of inputs that going round them finds nothing in the L2 cache."""
    import torch

    first = inputs(shape, generator)
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or 64 << 20
    count = max(4, min(MOST_SETS, -(-FLUSH * cache // (2 * first[0].numel()))))
    return [first] + [[t.clone() for t in first] for _ in range(count - 1)]


def event_us(function, sets, warmup, repeats):
    """The median time of a call between two events on its stream, in microseconds, what launching it costs included."""
    import torch

    for at in range(warmup):
        function(*sets[at % len(sets)])
    torch.cuda.synchronize()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    for at, (start, end) in enumerate(events):
        start.record()
        function(*sets[(warmup + at) % len(sets)])
        end.record()
    torch.cuda.synchronize()
    return statistics.median(1000 * start.elapsed_time(end) for start, end in events)


def device_us(function, sets):
    """The time of the kernels of one call, in microseconds, as CUPTI sees it; None where it sees nothing."""
    import torch
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for at in range(DEVICE_CALLS):
            function(*sets[at % len(sets)])
        torch.cuda.synchronize()
    total = sum(event.time_range.elapsed_us() for event in seen.events() if event.device_type == DeviceType.CUDA)
    return total / DEVICE_CALLS if total > 0 else None


def measure(warmup, repeats):
    import torch

    function = candidate()
    generator = torch.Generator(device="cuda")
    cases = []
    for shape in SHAPES:
        sets = sets_of(shape, generator)
        us = event_us(function, sets, warmup, repeats)
        dims = dict(zip(("batch", "tokens", "width"), shape, strict=True))
        cases.append({"name": name_of(shape), "us": us, "device_us": device_us(function, sets), "dims": dims})
    return {"best_us": statistics.geometric_mean(case["us"] for case in cases), "cases": cases}


def profile_once():
    """Each shape once for a profiler that looks from outside: marked for it, in a range of its name."""
    import torch

    function = candidate()
    generator = torch.Generator(device="cuda")
    for shape in SHAPES:
        given = inputs(shape, generator)
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
    parser.add_argument("--warmup", type=int, default=10, help="calls before those that are timed")
    parser.add_argument("--repeats", type=int, default=50, help="calls that are timed; their median counts")
    parser.add_argument("--profile", action="store_true", help="only run each shape once, for a profiler")
    args = parser.parse_args()
    if args.profile:
        profile_once()
    else:
        print(json.dumps(measure(args.warmup, args.repeats)))


if __name__ == "__main__":
    main()
