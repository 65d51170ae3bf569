"""How steady is the runner for Python, and how long does an iteration take? Through the real bench.

    python benchmarks/python_runner.py [--task rmsnorm_py] [--python PATH] [--nulls 5] [--point BLOCK=8] [--seconds 100]

Contests of the task's kernel against itself (A/A) and of points of its sweep against it. Prints one JSON object;
progress goes to stderr.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import PurePosixPath
from statistics import median, stdev
from typing import Any

from kpd.agents.space import write_point
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.preflight.cards import devices
from kpd.measure.bench import Bench
from kpd.measure.catalogue import device_of, prepare
from kpd.measure.contest import contest
from kpd.measure.judge import judge, log_ratio
from kpd.measure.samples import ProcessSample
from kpd.model.hosts import Device
from kpd.workspace.config import HostConfig
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task

MIN_GAIN_PCT = 1.0


def told(samples: tuple[ProcessSample, ...]) -> dict[str, Any]:
    """Return for each case the sd of the log ratio between processes in percent, and the times in µs."""
    kept = [sample for sample in samples if not sample.taint]
    found = {}
    for name in kept[0].cases:
        cases = [sample.cases[name] for sample in kept]
        ratios = [100 * log_ratio(case) for case in cases]
        device = [case.device_ns[1] / 1000 for case in cases if case.device_ns]
        found[name] = {
            "calls_a_batch": cases[0].reps,
            "gain_pct": round(sum(ratios) / len(ratios), 3),
            "sd_pct": round(stdev(ratios), 3),
            "us": round(median(time / case.reps for case in cases for time in case.b_ns) / 1000, 3),
            "device_us": round(median(device), 3) if device else None,
        }
    return found


def spent(samples: tuple[ProcessSample, ...]) -> dict[str, float]:
    """Return the seconds of each part of a process: the median over the processes that tell it."""
    parts = {part for sample in samples for part in sample.spent}
    return {part: median(sample.spent[part] for sample in samples if part in sample.spent) for part in sorted(parts)}


def progress(samples: tuple[ProcessSample, ...]) -> None:
    print(f"process {samples[-1].process}: {dict(samples[-1].spent)}", file=sys.stderr, flush=True)


async def one(bench: Bench, incumbent: str, files: dict[str, bytes], name: str) -> dict[str, Any]:
    """Take a candidate from its files to its verdict, as an iteration does."""
    begun = time.monotonic()
    candidate = (await bench.build(await bench.stage(files), files, lambda text: None)).job
    built = time.monotonic()
    passed = await bench.check(candidate, f"check-{name}", lambda text: None)
    checked = time.monotonic()
    samples = await contest(
        bench, incumbent, candidate, lambda part: f"{part}-{name}", MIN_GAIN_PCT, lambda text: None, progress
    )
    ended = time.monotonic()
    verdict = judge(samples, MIN_GAIN_PCT)
    row = {
        "candidate": name, "word": verdict.word, "accepted": verdict.accepted, "gain_pct": round(verdict.gain.pct, 3),
        "processes": verdict.processes, "tainted": sum(bool(sample.taint) for sample in samples),
        "spread_pct": round(verdict.spread_pct or 0.0, 3), "seconds": round(ended - begun, 2),
        "build_s": round(built - begun, 2), "check_s": round(checked - built, 2), "time_s": round(ended - checked, 2),
        "check_spent": passed.spent, "time_spent": spent(samples), "cases": told(samples),
    }  # fmt: skip
    print(json.dumps({key: value for key, value in row.items() if key != "cases"}), file=sys.stderr, flush=True)
    return row


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="rmsnorm_py")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--nulls", type=int, default=5)
    parser.add_argument("--point", action="append", default=[], help="NAME=VALUE,NAME=VALUE of the task's sweep")
    parser.add_argument("--seconds", type=float, default=100.0)
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kpd-python-") as folder:
        host = Host("local", PurePosixPath(folder), Local(), leases=f"{folder}/leases")
        await host.connect()
        try:
            task = load_task(shipped("tasks") / args.task)
            task = replace(task, build=replace(task.build, python=args.python))
            kind = device_of(task.language, task.need)
            device: Device = next(one for one in devices(await host.probe(), HostConfig()) if one.kind == kind)
            bench = await prepare(host, task, device, lambda text: None)
            files = read_files(task.folder, task.editable)
            incumbent = (await bench.build(await bench.stage(files), files, lambda text: None)).job
            ready = time.monotonic() - begun
            rows = [await one(bench, incumbent, files, "baseline")]
            for point in args.point:
                pairs = dict(pair.split("=", 1) for pair in point.split(","))
                rows.append(await one(bench, incumbent, write_point(files, pairs), re.sub(r"[^\w.-]", "-", point)))
            for number in range(args.nulls):
                if time.monotonic() - begun > args.seconds:
                    break
                null = {"kernel.py": files["kernel.py"] + f"\n# null {number}\n".encode()}
                rows.append(await one(bench, incumbent, null, f"null{number}"))
        finally:
            await host.close()
    print(json.dumps({"device": device.name, "task": args.task, "prepare_s": round(ready, 2), "rows": rows}, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
