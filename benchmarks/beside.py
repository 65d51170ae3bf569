"""Is timing on a CPU disturbed by builds beside it? A kernel against itself, with and without a loop of compilations.

    python benchmarks/beside.py [--task transpose_cpu] [--rounds 10] [--processes 6]

In turns: `quiet`, with nothing beside it; `beside`, with builds by kpd's own bench, which leave the CPU alone that is
timed on; `anywhere`, with the same builds on any CPU. Two go on at a time. Prints JSON; progress goes to stderr.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from itertools import count
from pathlib import PurePosixPath
from statistics import median, quantiles
from typing import Any

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.preflight.probe import measuring_cpu, spare_cpus
from kpd.measure.bench import Bench
from kpd.measure.c import build, toolchain
from kpd.measure.c.bench import prepare
from kpd.measure.judge import log_ratio, percent
from kpd.measure.samples import ProcessSample
from kpd.model.hosts import Device
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task

STATES = ("quiet", "beside", "anywhere")


def silent(text: str) -> None:
    """Compiler and job output are of no interest here."""


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="transpose_cpu")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=6)
    args = parser.parse_args()
    load_before = os.getloadavg()[0]
    task = load_task(shipped("tasks") / args.task)
    files = read_files(task.folder, task.editable)
    with tempfile.TemporaryDirectory() as root:
        host = Host("local", PurePosixPath(root), Local(), leases="/tmp/kpd-leases")
        await host.connect()
        try:
            facts = await host.probe()
            bench = await prepare(host, task, Device("cpu", "cpu", "CPU"), silent)
            tools = toolchain.choose(host.name, facts)
            numbers = count()
            built: dict[str, int] = defaultdict(int)

            async def compiles(state: str) -> None:
                while True:
                    candidate = {**files, "kernel.c": files["kernel.c"] + f"/* {next(numbers)} */\n".encode()}
                    tree = await bench.stage(candidate)
                    if state == "beside":
                        await bench.build(tree, candidate, silent)
                    else:
                        await build.build(host, tools, tree, bench.harness.symbol, task.build.flags, task.build.limit_s)
                    built[state] += 1

            kernel = (await bench.build(await bench.stage(files), files, silent)).job
            taken: dict[str, list[ProcessSample]] = {state: [] for state in STATES}
            spent: dict[str, float] = defaultdict(float)
            for number in range(args.rounds):
                for state in STATES:
                    loops = [asyncio.create_task(compiles(state)) for _ in STATES[1:]] if state != "quiet" else []
                    begun = time.perf_counter()
                    job = f"{state}-{number}"
                    taken[state] += await timed(bench, kernel, job, number * args.processes, args.processes)
                    spent[state] += time.perf_counter() - begun
                    for loop in loops:
                        loop.cancel()
                    await asyncio.gather(*loops, return_exceptions=True)
                    print(f"{state} {number}: {len(taken[state])} processes", file=sys.stderr, flush=True)
        finally:
            await host.close()
    quiet = told(taken["quiet"])
    found: dict[str, Any] = {}
    for state in STATES:
        mine = told(taken[state])
        slower = {name: round(100 * (us / quiet["us"][name] - 1), 2) for name, us in mine["us"].items()}
        builds = round(built[state] / spent[state], 1)
        found[state] = {**mine, "slower_than_quiet_pct": slower, "builds_per_s": builds}
    load = {"others": f"a load of {load_before:.1f} before"}
    machine = {"system": platform.platform(), "cpu": facts["cpu"], "cpus": len(facts["cpus"]), **load}
    where = {"timed_on": measuring_cpu(facts), "builds_on": spare_cpus(facts)}
    print(json.dumps({"task": args.task, "machine": machine, **where, **found}, indent=2))


async def timed(bench: Bench, kernel: str, job: str, first: int, processes: int) -> list[ProcessSample]:
    return [sample async for sample in bench.time(kernel, kernel, job, first, processes, silent)]


def told(samples: list[ProcessSample]) -> dict[str, Any]:
    """Microseconds a call of each case, the ratio of the two sides, and how many processes kpd would not believe.

    `slow_batches_pct` are the batches that took longer than a twentieth more than the middle one of their case.
    """
    batches = {
        name: [ns / sample.cases[name].reps / 1e3 for sample in samples for ns in sample.cases[name].b_ns]
        for name in samples[0].cases
    }
    us = {name: median(taken) for name, taken in batches.items()}
    slow = [one > 1.05 * us[name] for name, taken in batches.items() for one in taken]
    ratios = [percent(log_ratio(one)) for sample in samples for one in sample.cases.values()]
    return {
        "processes": len(samples),
        "tainted": sum(bool(sample.taint) for sample in samples),
        "us": {name: round(one, 3) for name, one in us.items()},
        "slow_batches_pct": round(100 * sum(slow) / len(slow), 1),
        "gain_pct": {"median": round(median(ratios), 3), "middle_half": [round(one, 3) for one in halves(ratios)]},
    }


def halves(values: list[float]) -> tuple[float, float]:
    """The quartiles."""
    first, _, third = quantiles(values, n=4)
    return first, third


asyncio.run(main())
