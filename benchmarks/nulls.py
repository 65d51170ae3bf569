"""How often is the verdict wrong? Null candidates of several kinds and planted gains, through the real bench.

    python benchmarks/nulls.py [--task transpose_cpu] [--each 40] [--planted 50] [--gain 2.0] [--searches 15,30,60]
        [--seconds 540]

The incumbent is the task's kernel as two functions, of which one calls the other. A null candidate does the same work:
another comment, dead code of N bytes before or after it, the two functions in another order, other names, macros
spelled in another way. A planted gain is that kernel against an incumbent that wastes time in one of two ways: by more
work (an empty loop on the CPU, a kernel that waits on the GPU), or by more instructions for the same work. How much it
must waste for the wanted gain is found with many processes.

Kinds take turns, and after `--seconds` none is begun: what came till then is printed. Prints one JSON object; progress
goes to stderr.
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
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from statistics import fmean, median
from typing import NamedTuple

from null_candidates import KERNELS, KINDS, WAYS, Kernel, incumbent, null, wasteful

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

MIN_GAIN_PCT = 1.0
BUSY_S = 10.0


class Settled(NamedTuple):
    """A verdict, how long it took, and the spread between its processes in percent."""

    verdict: Verdict
    seconds: float
    spread_pct: float


def silent(text: str) -> None:
    """Compiler and job output are of no interest here."""


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
        gain, spread = verdict.gain, verdict.spread_pct or 0.0
        say = f"{name}: {verdict.word} {gain.pct:+.2f} % [{gain.low:+.2f}, {gain.high:+.2f}], spread {spread:.2f} %"
        print(say, "accepted" if verdict.accepted else "", file=sys.stderr, flush=True)
        return Settled(verdict, time.perf_counter() - begun, spread)

    async def true_gain(self, name: str, incumbent: str, candidate: str, processes: int) -> Verdict:
        taken = self._bench.time(incumbent, candidate, name.replace(" ", "-"), 0, processes, silent)
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


async def planted(
    work: Workbench, way: str, first: float, source: str, kernel: Kernel, gain: float, searches: Sequence[int]
) -> tuple[str, str, Verdict]:
    """Two built kernels, of which the second saves about `gain` percent, and what it saves in truth."""
    quick = await work.built(wasteful(way, source, kernel, 0.0))
    waste = first
    for processes in searches:
        slow = await work.built(wasteful(way, source, kernel, waste))
        found = await work.true_gain(f"{way} of {waste:.6f}", slow, quick, processes)
        if found.gain.pct <= 0:
            raise SystemExit(f"{way}: a waste of {waste:g} cannot be seen; give the kernel more of it to begin with")
        wanted, had = (pct / (100 - pct) for pct in (gain, found.gain.pct))
        waste = min(waste * wanted / had, 1.0)
    return slow, quick, found


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=sorted(KERNELS), default="transpose_cpu")
    parser.add_argument("--each", type=int, default=40, help="null candidates of each kind")
    parser.add_argument("--planted", type=int, default=50, help="candidates with a gain, of each way")
    parser.add_argument("--gain", type=float, default=2.0, help="percent of time that a planted candidate saves")
    parser.add_argument(
        "--searches", default="15,30,60",
        help="processes of each measurement while the waste is sought; the last one says what the gain is in truth",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after this time")
    args = parser.parse_args()
    until = time.perf_counter() + args.seconds
    searches = [int(processes) for processes in args.searches.split(",")]
    task = load_task(shipped("tasks") / args.task)
    kernel = KERNELS[task.name]
    files = read_files(task.folder, task.editable)
    source = files[kernel.file].decode()
    nulls: dict[str, list[Settled]] = {kind: [] for kind in KINDS}
    gains: dict[str, tuple[Verdict, list[Settled]]] = {}
    with tempfile.TemporaryDirectory() as root:
        host = Host("local", PurePosixPath(root), Local(), leases=f"{root}/leases")
        await host.connect()
        try:
            device = await found_device(host, task)
            work = Workbench(await prepare(host, task, device, silent), files, kernel.file)
            if args.planted:
                pairs = {}
                for way, first in zip(WAYS, kernel.first, strict=True):
                    slow, quick, truth = await planted(work, way, first, source, kernel, args.gain, searches)
                    pairs[way], gains[way] = (slow, quick), (truth, [])
                    print(f"{way}: a true gain of {truth.gain.pct:+.2f} %", file=sys.stderr, flush=True)
            original = await work.built(incumbent(source, kernel))
            for number in range(max(args.each, args.planted)):
                for kind in KINDS:
                    if number < args.each and time.perf_counter() < until:
                        candidate = await work.built(null(kind, number, source, kernel))
                        nulls[kind].append(await work.settle(f"{kind} {number}", original, candidate))
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
