"""How often is the verdict wrong? Null candidates of several kinds and planted gains, through the real bench.

    python benchmarks/nulls.py [--task transpose_cpu] [--each 40] [--planted 50] [--gain 2.0] [--seconds 540]

The incumbent is the task's kernel as two functions, of which one calls the other. A null candidate does the same work:
another comment, a dead function or kernel of N bytes before it, the two functions in another order, other names, macros
spelled in another way. A planted gain is that kernel against an incumbent that wastes time in one of two ways: it does
more work (an empty loop on the CPU, a kernel that waits on the GPU), or the same work by more instructions. How much it
must waste for the wanted gain is found with many processes; the share is data, so both are the same code.

Kinds take turns, and after `--seconds` none is begun: what came till then is printed. Prints one JSON object; progress
goes to stderr.
"""

import argparse
import asyncio
import itertools
import json
import platform
import random
import re
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path, PurePosixPath
from statistics import fmean, median, stdev
from typing import NamedTuple

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.bench import Bench
from kpd.measure.catalogue import device_of, prepare
from kpd.measure.contest import contest
from kpd.measure.judge import clean, judge, log_ratio, percent
from kpd.measure.samples import ProcessSample
from kpd.model.hosts import Device
from kpd.model.verdicts import Verdict
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import Task, load_task

MIN_GAIN_PCT = 1.0
TRUTH_PROCESSES = 60
BUSY_S = 10.0
SIZES = (1, 7, 16, 40, 64, 100, 256, 500, 1000, 4096)
"""Bytes, or instructions on a GPU, of a dead function."""


class Language(NamedTuple):
    """A task's file, how its kernel is called by another function, dead code, and two ways to waste time.

    `first` is what to waste at first: turns or nanoseconds an element, or a share of the rows.
    """

    file: str
    caller: str
    dead: str
    idle: str
    clumsy: str
    first: tuple[float, float]


C = Language(
    "kernel.c",
    """
void transpose(const float *in, float *out, long rows, long cols) { inner(in, out, rows, cols); }
""",
    """
__attribute__((used, noinline)) void dead(void) {{ __asm__ volatile(".skip {size}, 0x90"); }}
""",
    """
void transpose(const float *in, float *out, long rows, long cols) {
    inner(in, out, rows, cols);
    for (long turn = (long)((double)(rows * cols) * waste); turn > 0; turn--) __asm__ volatile("" : "+r"(turn));
}
""",
    """
__attribute__((noinline)) static void plainly(const float *in, float *out, long rows, long cols, long from, long to) {
    for (long i = from; i < to; i++)
        for (long j = 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}
__attribute__((noinline)) static void clumsily(const float *in, float *out, long rows, long cols, long from, long to) {
    for (long at = from * cols; at < to * cols; at++) out[at % cols * rows + at / cols] = in[at];
}
void transpose(const float *in, float *out, long rows, long cols) {
    long most = rows - (long)((double)rows * waste);
    plainly(in, out, rows, cols, 0, most);
    clumsily(in, out, rows, cols, most, rows);
}
""",
    (0.05, 0.05),
)
CUDA = Language(
    "kernel.cu",
    """
void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    inner(in, out, rows, cols, stream);
}
""",
    """
__global__ void dead(float *a) {{
    float x = a[threadIdx.x];
#pragma unroll
    for (int i = 0; i < {size}; i++) x = x * 1.0001f + (float)i;
    a[threadIdx.x] = x;
}}
""",
    """
__global__ void idle(long long ns) {
    long long now, begun;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begun < ns);
}
void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    inner(in, out, rows, cols, stream);
    idle<<<1, 1, 0, stream>>>((long long)((double)(rows * cols) * waste));
}
""",
    """
__global__ void blocks(const float *__restrict__ in, float *__restrict__ out, long rows, long cols, long plain) {
    long i = (long)blockIdx.y * 8 + threadIdx.y, j = (long)blockIdx.x * 32 + threadIdx.x;
    if (i >= rows || j >= cols) return;
    float v = in[i * cols + j];
    if (i >= plain)
        for (int k = 0; k < 256; k++) asm volatile("add.f32 %0, %0, 0f00000000;" : "+f"(v));
    out[j * rows + i] = v;
}
void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    dim3 grid((unsigned)((cols + 31) / 32), (unsigned)((rows + 7) / 8));
    blocks<<<grid, dim3(32, 8), 0, stream>>>(in, out, rows, cols, rows - (long)((double)rows * waste));
}
""",
    (0.0002, 0.05),
)
LANGUAGES = {"transpose_cpu": C, "transpose_cuda": CUDA}


class Settled(NamedTuple):
    """A verdict, how long it took, and the spread between its processes in percent."""

    verdict: Verdict
    seconds: float
    spread_pct: float


def silent(text: str) -> None:
    """Compiler and job output are of no interest here."""


# ── candidates ────────────────────────────────────────────────────────────────────────────────────────────────────


def split(kernel: str, language: Language) -> str:
    """The kernel as a function that another one calls."""
    return kernel.replace("void transpose(", "__attribute__((noinline)) void inner(") + language.caller


def null(kind: str, number: int, kernel: str, language: Language) -> str:
    """A candidate of this kind that does what `split` does."""
    chance = random.Random(f"{kind} {number}")
    same = split(kernel, language)
    dead = language.dead.format(size=chance.choice(SIZES))
    match kind:
        case "comment":
            return f"{same}/* null candidate {number} */\n"
        case "dead code before":
            return dead + same
        case "dead code after":
            return same + dead
        case "other order":
            declared = re.search(r"void transpose\(([^)]*)\)", language.caller)
            assert declared is not None
            inner = f"__attribute__((noinline)) void inner({declared[1]});\n"
            include, rest = kernel.split("\n\n", 1)
            moved = rest.replace("void transpose(", "__attribute__((noinline)) void inner(")
            return f"{include}\n{inner}{language.caller}\n{moved}{dead if number % 2 else ''}"
        case "other names":
            return re.sub(r"\binner\b", f"inner_{'x' * chance.randrange(1, 60)}", same)
        case "other spelling":
            return re.sub(r"^(#define (?:TILE_ROWS|TILE|VEC|ORDER|PREFETCH) +)(\d+)", r"\1(\2 + 0)", same, flags=re.M)
    raise AssertionError(kind)


KINDS = ("comment", "dead code before", "dead code after", "other order", "other names", "other spelling")


def wasteful(way: str, kernel: str, language: Language, waste: float) -> str:
    """The kernel, and `waste` in this way."""
    data = f"\nstatic volatile double waste = {waste:.8f};\n"
    if way == "more instructions":
        return "\n\n".join((kernel.split("\n\n", 1)[0], data, language.clumsy))
    return kernel.replace("void transpose(", "__attribute__((noinline)) void inner(") + data + language.idle


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Workbench:
    """Builds kernels of one task, and settles which of two is quicker."""

    def __init__(self, bench: Bench, files: dict[str, bytes], file: str) -> None:
        self._bench = bench
        self._files = files
        self._file = file

    async def built(self, kernel: str) -> str:
        candidate = {**self._files, self._file: kernel.encode()}
        return (await self._bench.build(await self._bench.stage(candidate), candidate, silent)).job

    async def settle(self, name: str, incumbent: str, candidate: str) -> Settled:
        begun = time.perf_counter()
        samples = await self._patiently(incumbent, candidate, name.replace(" ", "-"))
        verdict = judge(samples, MIN_GAIN_PCT)
        gain, spread = verdict.gain, spread_pct(samples)
        say = f"{name}: {verdict.word} {gain.pct:+.2f} % [{gain.low:+.2f}, {gain.high:+.2f}], spread {spread:.2f} %"
        print(say, "accepted" if verdict.accepted else "", file=sys.stderr, flush=True)
        return Settled(verdict, time.perf_counter() - begun, spread)

    async def true_gain(self, name: str, incumbent: str, candidate: str) -> Verdict:
        taken = self._bench.time(incumbent, candidate, name.replace(" ", "-"), 0, TRUTH_PROCESSES, silent)
        return judge([sample async for sample in taken], MIN_GAIN_PCT)

    async def _patiently(self, incumbent: str, candidate: str, name: str) -> tuple[ProcessSample, ...]:
        """As a run would after `resume`: when other work disturbs the machine too much, begin again a little later."""
        for attempt in itertools.count():
            try:
                job = partial("{}-{}-{}".format, name, attempt)
                return await contest(self._bench, incumbent, candidate, job, MIN_GAIN_PCT, silent, lambda taken: None)
            except HostError as err:
                print(f"{name}: {err}", file=sys.stderr, flush=True)
                await asyncio.sleep(BUSY_S)
        raise AssertionError("unreachable")


def spread_pct(samples: tuple[ProcessSample, ...]) -> float:
    """The standard deviation between processes of what each of them says the gain is."""
    ratios = [fmean(map(log_ratio, sample.judged.values())) for sample in clean(samples)]
    return percent(stdev(ratios)) if len(ratios) > 1 else 0.0


async def planted(
    work: Workbench, way: str, first: float, kernel: str, language: Language, gain: float
) -> tuple[str, str, Verdict]:
    """Two built kernels, of which the second saves about `gain` percent, and what it saves in truth."""
    quick = await work.built(wasteful(way, kernel, language, 0.0))
    slow = await work.built(wasteful(way, kernel, language, first))
    found = await work.true_gain(f"first {way}", slow, quick)
    wanted, had = (pct / (100 - pct) for pct in (gain, found.gain.pct))
    slow = await work.built(wasteful(way, kernel, language, first * wanted / had))
    return slow, quick, await work.true_gain(f"truth {way}", slow, quick)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=sorted(LANGUAGES), default="transpose_cpu")
    parser.add_argument("--each", type=int, default=40, help="null candidates of each kind")
    parser.add_argument("--planted", type=int, default=50, help="candidates with a gain, of each way")
    parser.add_argument("--gain", type=float, default=2.0, help="percent of time that a planted candidate saves")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after this time")
    args = parser.parse_args()
    until = time.perf_counter() + args.seconds
    task = load_task(shipped("tasks") / args.task)
    language = LANGUAGES[task.name]
    files = read_files(task.folder, task.editable)
    kernel = files[language.file].decode()
    nulls: dict[str, list[Settled]] = {kind: [] for kind in KINDS}
    gains: dict[str, tuple[Verdict, list[Settled]]] = {}
    with tempfile.TemporaryDirectory() as root:
        host = Host("local", PurePosixPath(root), Local(), leases=f"{root}/leases")
        await host.connect()
        try:
            device = await found_device(host, task)
            work = Workbench(await prepare(host, task, device, silent), files, language.file)
            if args.planted:
                pairs = {}
                for way, first in zip(("more work", "more instructions"), language.first, strict=True):
                    slow, quick, truth = await planted(work, way, first, kernel, language, args.gain)
                    pairs[way], gains[way] = (slow, quick), (truth, [])
                    print(f"{way}: a true gain of {truth.gain.pct:+.2f} %", file=sys.stderr, flush=True)
            incumbent = await work.built(split(kernel, language))
            for number in range(max(args.each, args.planted)):
                for kind in KINDS:
                    if number < args.each and time.perf_counter() < until:
                        candidate = await work.built(null(kind, number, kernel, language))
                        nulls[kind].append(await work.settle(f"{kind} {number}", incumbent, candidate))
                for way, (_, settled) in gains.items():
                    if number < args.planted and time.perf_counter() < until:
                        settled.append(await work.settle(f"{way} {number}", *pairs[way]))
        finally:
            await host.close()
    print(json.dumps({
        "task": task.name,
        "device": device.name,
        "machine": {"system": f"{platform.system()} {platform.machine()}", "cpu": cpu_model(),
                    "python": platform.python_version()},
        "min_gain_pct": MIN_GAIN_PCT,
        "nulls": {"all": summary([one for found in nulls.values() for one in found])}
        | {kind: summary(found) for kind, found in nulls.items()},
        "planted": {
            way: {"true_gain_pct": {"pct": truth.gain.pct, "low": truth.gain.low, "high": truth.gain.high}}
            | summary(found)
            for way, (truth, found) in gains.items()
        },
    }, indent=2))  # fmt: skip


async def found_device(host: Host, task: Task) -> Device:
    """This machine's CPU, or its first GPU."""
    if device_of(task.language, task.need) == "cpu":
        return Device("cpu", "cpu", cpu_model())
    gpu = (await host.probe()).get("gpus", ())[0]
    return Device(gpu.uuid, "gpu", gpu.name, gpu.arch)


def summary(results: list[Settled]) -> dict[str, object]:
    verdicts = [result.verdict for result in results]
    gains = [verdict.gain.pct for verdict in verdicts]
    return {
        "candidates": len(verdicts),
        "accepted": sum(verdict.accepted for verdict in verdicts),
        "words": Counter(verdict.word for verdict in verdicts),
        "processes": Counter(verdict.processes for verdict in verdicts),
        "median_seconds": median(result.seconds for result in results) if results else None,
        "median_spread_pct": median(result.spread_pct for result in results) if results else None,
        "mean_gain_pct": fmean(gains) if gains else None,
        "largest_gain_pct": max(gains, default=None),
    }


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


if __name__ == "__main__":
    asyncio.run(main())
