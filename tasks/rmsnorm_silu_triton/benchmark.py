"""Times of `kernel.rmsnorm_silu`, as the caller sees them and on the device alone.

torch is imported when it is needed, so that --help works where there is none.
"""

import argparse
import statistics

CASES = {
    "dev": ((256, 1024), (128, 2048), (96, 3000), (64, 4096)),
    "final": ((200, 1536), (128, 4096), (48, 5120), (32, 7000), (64, 8192)),
}
EPS = 1e-6
FLUSH = 3
"""The inputs of one case are so many times as large as the L2 cache: when a set comes round again, it has left it."""
MOST_SETS = 512
DEVICE_CALLS = 20
CHECKED = 4
"""The last calls of those that were timed, whose outputs are looked at."""


def name_of(shape):
    return f"{shape[0]}x{shape[1]}"


def inputs(shape, generator, kind="normal"):
    """x, gate and weight of one kind, float16, on the GPU."""
    import torch

    rows, cols = shape

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


def input_sets(shape, generator):
    """So many sets of inputs that going round them finds nothing in the L2 cache."""
    import torch

    first = inputs(shape, generator)
    size = sum(t.numel() * t.element_size() for t in first)
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0) or 64 << 20
    count = max(4, min(MOST_SETS, -(-FLUSH * cache // size)))
    return [first] + [[t.clone() for t in first] for _ in range(count - 1)]


def event_us(function, sets, warmup, repeats):
    """The median time of a call between two events on its stream, in microseconds: what launching it costs included.

    Also the last inputs and outputs. Before every call one element changes its sign, so that a result from before is
    no result for it.
    """
    import torch

    for at in range(warmup):
        function(*sets[at % len(sets)], EPS)
    torch.cuda.synchronize()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    last = []
    for at, (start, end) in enumerate(events):
        given = sets[(warmup + at) % len(sets)]
        given[0].view(-1)[7919 * at % given[0].numel()].neg_()
        start.record()
        y = function(*given, EPS)
        end.record()
        if at >= repeats - min(CHECKED, len(sets)):
            last.append((given, y))
    torch.cuda.synchronize()
    return statistics.median(1000 * start.elapsed_time(end) for start, end in events), last


def device_us(function, sets):
    """The time of the kernels of one call, in microseconds, as CUPTI sees it; None where it sees nothing."""
    import torch
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for at in range(DEVICE_CALLS):
            function(*sets[at % len(sets)], EPS)
        torch.cuda.synchronize()
    kernels = [event for event in seen.events() if event.device_type == DeviceType.CUDA]
    total = sum(event.time_range.elapsed_us() for event in kernels)
    return total / DEVICE_CALLS if total > 0 else None


def measure(function, shape, generator, warmup, repeats):
    """One case's times, as they stand in the result, and the last inputs and outputs."""
    sets = input_sets(shape, generator)
    us, last = event_us(function, sets, warmup, repeats)
    dims = {"rows": shape[0], "cols": shape[1]}
    return {"name": name_of(shape), "us": us, "device_us": device_us(function, sets), "dims": dims}, last


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=sorted(CASES), default="dev")
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=50)
    args = parser.parse_args()
    import torch
    from kernel import rmsnorm_silu

    generator = torch.Generator(device="cuda")
    print(f"{'case':>12} {'us':>9} {'device us':>9}")
    for shape in CASES[args.mode]:
        case, _ = measure(rmsnorm_silu, shape, generator, args.warmup, args.repeats)
        device = "" if case["device_us"] is None else f"{case['device_us']:.2f}"
        print(f"{case['name']:>12} {case['us']:>9.2f} {device:>9}")


if __name__ == "__main__":
    main()
