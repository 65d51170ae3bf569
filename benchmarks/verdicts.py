"""Does the verdict hold? Null candidates and planted gains, through the real bench on this machine.

    python benchmarks/verdicts.py [--task transpose_cpu] [--nulls 200] [--planted 100] [--gain 5.0]

A null candidate is the task's kernel with a changed comment. A planted gain is the kernel proposed against an incumbent
that wastes time: in an empty loop on the CPU, in a kernel that waits on the GPU (`--task transpose_cuda`). How long it
must be for the wanted gain is found with many processes. Prints one JSON object; progress goes to stderr.
"""

import argparse
import asyncio
import itertools
import json
import platform
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path, PurePosixPath
from statistics import fmean, median
from typing import NamedTuple

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.bench import Bench
from kpd.measure.catalogue import device_of, prepare
from kpd.measure.contest import contest
from kpd.measure.judge import judge
from kpd.measure.samples import ProcessSample
from kpd.model.hosts import Device
from kpd.model.verdicts import Verdict
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import Task, load_task

MIN_GAIN_PCT = 2.0
TRUTH_PROCESSES = 60
BUSY_S = 10.0
WASTE = {
    "transpose_cpu": ("kernel.c", 0.2, """
void transpose(const float *in, float *out, long rows, long cols) {
    once(in, out, rows, cols);
    for (long turn = (long)((double)(rows * cols) * spins); turn > 0; turn--) __asm__ volatile("" : "+r"(turn));
}
"""),
    "transpose_cuda": ("kernel.cu", 0.0005, """
__global__ void idle(long long ns) {
    long long now, begun;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begun < ns);
}
void transpose(const float *in, float *out, long rows, long cols, cudaStream_t stream) {
    once(in, out, rows, cols, stream);
    idle<<<1, 1, 0, stream>>>((long long)((double)(rows * cols) * spins));
}
"""),
}  # fmt: skip
"""The file of each kernel, turns or nanoseconds an element to begin with, and what stands in for its launcher."""


class Settled(NamedTuple):
    verdict: Verdict
    seconds: float


def silent(text: str) -> None:
    """Compiler and job output are of no interest here."""


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=sorted(WASTE), default="transpose_cpu")
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--planted", type=int, default=100)
    parser.add_argument("--gain", type=float, default=5.0, help="percent of time that the planted candidate saves")
    args = parser.parse_args()
    task = load_task(shipped("tasks") / args.task)
    files = read_files(task.folder, task.editable)
    source, first_spins, waste = WASTE[task.name]
    with tempfile.TemporaryDirectory() as root:
        host = Host("local", PurePosixPath(root), Local(), leases=f"{root}/leases")
        await host.connect()
        try:
            device = await found_device(host, task)
            bench = await prepare(host, task, device, silent)

            async def built(kernel: bytes) -> str:
                candidate = {**files, source: kernel}
                return (await bench.build(await bench.stage(candidate), candidate, silent)).job

            async def settle(name: str, incumbent: str, candidate: str) -> Settled:
                begun = time.perf_counter()
                samples = await patiently(bench, incumbent, candidate, name)
                verdict = judge(samples, MIN_GAIN_PCT)
                seconds = time.perf_counter() - begun
                gain = verdict.gain
                say = f"{name}: {verdict.word} {gain.pct:+.2f} % [{gain.low:+.2f}, {gain.high:+.2f}]"
                print(say, "accepted" if verdict.accepted else "", file=sys.stderr, flush=True)
                return Settled(verdict, seconds)

            kernel = files[source]
            original = await built(kernel)
            nulls = []
            for number in range(args.nulls):
                null = await built(kernel + f"/* null candidate {number} */\n".encode())
                nulls.append(await settle(f"null{number}", original, null))

            unburdened = await built(burdened(kernel, waste, 0.0))

            async def true_gain(spins: float) -> tuple[str, Verdict]:
                slowed = await built(burdened(kernel, waste, spins))
                taken = bench.time(slowed, unburdened, f"truth-{spins:.8f}", 0, TRUTH_PROCESSES, silent)
                return slowed, judge([sample async for sample in taken], MIN_GAIN_PCT)

            planted, truth = [], None
            if args.planted:
                _, first = await true_gain(first_spins)
                wanted, had = (pct / (100 - pct) for pct in (args.gain, first.gain.pct))
                slowed, found = await true_gain(first_spins * wanted / had)
                truth = found.gain
                print(f"planted: a true gain of {truth.pct:+.2f} %", file=sys.stderr, flush=True)
                planted = [await settle(f"planted{number}", slowed, unburdened) for number in range(args.planted)]
        finally:
            await host.close()
    print(json.dumps({
        "task": task.name,
        "device": device.name,
        "machine": {"system": f"{platform.system()} {platform.machine()}", "cpu": cpu_model(),
                    "python": platform.python_version()},
        "min_gain_pct": MIN_GAIN_PCT,
        "nulls": summary(nulls),
        "planted": summary(planted),
        "planted_true_gain_pct": truth and {"pct": truth.pct, "low": truth.low, "high": truth.high},
    }, indent=2))  # fmt: skip


async def patiently(bench: Bench, incumbent: str, candidate: str, name: str) -> tuple[ProcessSample, ...]:
    """As a run would after `resume`: when other work disturbs the machine too much, begin again a little later."""
    for attempt in itertools.count():
        try:
            job = partial("{}-{}-{}".format, name, attempt)
            return await contest(bench, incumbent, candidate, job, MIN_GAIN_PCT, silent, lambda taken: None)
        except HostError as err:
            print(f"{name}: {err}", file=sys.stderr, flush=True)
            await asyncio.sleep(BUSY_S)
    raise AssertionError("unreachable")


def burdened(kernel: bytes, waste: str, spins: float) -> bytes:
    """The transpose under another name, and then `waste` for `spins` turns, or nanoseconds, an element.

    The number is data, so that two kernels with different numbers are the same code at the same addresses: where a loop
    happens to lie can be worth more than the gain that is planted.
    """
    once = kernel.replace(b"void transpose(", b"__attribute__((noinline)) void once(")
    return once + f"\nstatic volatile double spins = {spins:.8f};\n{waste}".encode()


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
