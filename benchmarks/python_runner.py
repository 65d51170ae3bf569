"""How steady is the runner for Python, and how long does an iteration take? Through the real bench.

    python benchmarks/python_runner.py [--task rmsnorm_py] [--python PATH] [--nulls 5] [--point BLOCK=8] [--seconds 100]
        [--planted LOOPS …] [--gains 1] [--loser LOOPS] [--gpu INDEX] [--out FILE]

Contests of points of the task's sweep against its kernel, and of that against itself (A/A): nulls are the same kernel
with another comment, with data or a function that nobody uses before or after it, or spelled in another way, in turn.
With --planted the incumbent's call spends so many turns of an empty loop that the candidate's does not, in as many
contests as --gains says: some 20 ns each, so 30 are 2 % of 30 µs; with --loser it is the candidate's call that does.
Prints one JSON object; progress goes to stderr.
"""

import argparse
import ast
import asyncio
import json
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path, PurePosixPath
from statistics import median, stdev
from typing import Any

from kpd.agents.space import write_point
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.preflight.cards import devices
from kpd.measure.bench import Bench, BuiltObject
from kpd.measure.catalogue import device_of, prepare
from kpd.measure.contest import contest
from kpd.measure.driver.bench import DriverBench
from kpd.measure.judge import QUICK, judge, log_ratio
from kpd.measure.samples import ProcessSample, deciding
from kpd.model.hosts import Device
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task

MIN_GAIN_PCT = 1.0
NULLS = ("comment", "data before", "function before", "function after", "other spelling")
SIZES = (1, 64, 1000, 5000, 70_000)


def told(samples: tuple[ProcessSample, ...]) -> dict[str, Any]:
    """Return for each case the sd of the log ratio between processes in percent, and the times in µs."""
    kept = deciding(samples)
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


def slowed(kernel: bytes, entry: str, loops: int) -> bytes:
    """Have each call of the kernel's function begin with so many turns of an empty loop."""
    wrapper = f"""


_plain_kernel = {entry}


def {entry}(*arguments):
    for _ in range({loops}):
        pass
    return _plain_kernel(*arguments)
"""
    return kernel + wrapper.encode()


def null(kernel: bytes, number: int) -> tuple[str, bytes]:
    """Return a kind of null candidate, and the kernel in that guise."""
    kind, size, text = NULLS[number % len(NULLS)], SIZES[number // len(NULLS) % len(SIZES)], kernel.decode()
    unused = f"def unused_{number}(values):\n" + "    values = values + 1\n" * min(size, 5000) + "    return values\n"
    match kind:
        case "data before":
            text = f"unused_{number} = [bytes({size}) for _ in range(16)]\n{text}"
        case "function before":
            text = f"{unused}\n\n{text}"
        case "function after":
            text = f"{text}\n\n{unused}"
        case "other spelling":
            text = ast.unparse(ast.parse(text))
    return kind, f"{text}\n# null {number}\n".encode()


async def one(bench: Bench, incumbent: BuiltObject, files: dict[str, bytes], name: str) -> dict[str, Any]:
    """Take a candidate from its files to its verdict, as an iteration does."""
    begun = time.monotonic()
    candidate = (await bench.build(await bench.stage(files), files, lambda text: None)).job
    built = time.monotonic()

    async def found() -> BuiltObject:
        return incumbent

    quick = 0 if name == "baseline" else QUICK
    passed = await bench.check(candidate, f"check-{name}", lambda text: None, found, quick)
    checked = time.monotonic()
    samples = await contest(
        bench,
        incumbent.job,
        candidate,
        lambda part: f"{part}-{name}",
        MIN_GAIN_PCT,
        lambda text: None,
        progress,
        quick=quick,
    )
    ended = time.monotonic()
    verdict = judge(samples, MIN_GAIN_PCT)
    row = {
        "candidate": name, "word": verdict.word, "accepted": verdict.accepted, "gain_pct": round(verdict.gain.pct, 3),
        "processes": verdict.processes, "quick": sum(sample.quick for sample in samples),
        "tainted": sum(bool(sample.taint) for sample in samples),
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
    parser.add_argument("--planted", type=int, action="append", default=[], metavar="LOOPS")
    parser.add_argument("--gains", type=int, default=1, help="contests with each planted gain")
    parser.add_argument("--loser", type=int, default=0, metavar="LOOPS")
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument(
        "--gpu", type=int, metavar="INDEX", help="the GPU to use, by nvidia-smi's index (default: the first)"
    )
    parser.add_argument("--out", type=Path, help="write the object to this file after each row")
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kpd-python-") as folder:
        host = Host("local", PurePosixPath(folder), Local(), leases=f"{folder}/leases")
        await host.connect()
        try:
            task = load_task(shipped("tasks") / args.task)
            task = replace(task, build=replace(task.build, python=args.python))
            kind = device_of(task.language, task.need)
            config = HostConfig() if args.gpu is None else HostConfig(gpus=(args.gpu,))
            device: Device = next(one for one in devices(await host.probe(), config) if one.kind == kind)
            bench = await prepare(host, task, device, lambda text: None)
            assert isinstance(bench, DriverBench)
            files = read_files(task.folder, task.editable)
            incumbent = await bench.build(await bench.stage(files), files, lambda text: None)
            ready = time.monotonic() - begun
            kernel, entry = files["kernel.py"], bench.harness.symbol
            tries: list[tuple[str, bytes, bytes]] = [("baseline", kernel, kernel)]
            for point in args.point:
                pairs = dict(pair.split("=", 1) for pair in point.split(","))
                name = re.sub(r"[^\w.-]", "-", point)
                tries.append((name, kernel, write_point(files, pairs)["kernel.py"]))
            if args.loser:
                tries.append((f"loser{args.loser}", kernel, slowed(kernel, entry, args.loser)))
            for number, loops in enumerate(args.planted * args.gains):
                note = f"\n# planted {number}\n".encode()
                tries.append((f"planted{number}", slowed(kernel, entry, loops), slowed(kernel, entry, 0) + note))
            for number in range(args.nulls):
                told_as, other = null(kernel, number)
                tries.append((f"null{number}-{told_as.replace(' ', '-')}", kernel, other))
            rows: list[dict[str, Any]] = []
            for name, mine, theirs in tries:
                if time.monotonic() - begun > args.seconds:
                    break
                against = incumbent
                if mine != kernel:
                    own = {**files, "kernel.py": mine}
                    against = await bench.build(await bench.stage(own), own, lambda text: None)
                    await bench.check(against.job, f"check-{against.job}", lambda text: None)  # keeps what is compiled
                rows.append(await one(bench, against, {**files, "kernel.py": theirs}, name))
                found = {"device": device.name, "task": args.task, "prepare_s": round(ready, 2), "accepted": {
                    kind: [sum(row["accepted"] for row in those), len(those)]
                    for kind in ("null", "planted")
                    if (those := [row for row in rows if row["candidate"].startswith(kind)])
                }, "rows": rows}  # fmt: skip
                if args.out:
                    args.out.write_text(json.dumps(found, indent=1))
        finally:
            await host.close()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
