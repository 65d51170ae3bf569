"""The example tasks for kpd's own runner, and what was prepared for them: are they right, and by how much faster?

    python benchmarks/python_tasks.py TASK … [--only NAME …] [--python PATH] [--contest NAME …] [--out FILE]

Checks each task's own kernel and its candidates in benchmarks/python_candidates/TASK, or those named with --only, as an
iteration does, one after another. A candidate whose name begins with `wrong` has to be refused. Those named with
--contest (or `all`) are then timed against the task's own kernel. Prints JSON lines, also into FILE; exits with 1 where
a kernel was not judged as it should be, or could not be.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from python_runner import MIN_GAIN_PCT, told

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.preflight.cards import devices
from kpd.measure.bench import Bench, CheckFailed
from kpd.measure.catalogue import device_of, prepare
from kpd.measure.compiling import BuildError
from kpd.measure.contest import contest
from kpd.measure.judge import judge
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import TaskError, load_task

CANDIDATES = Path(__file__).parent / "python_candidates"


def silent(text: str) -> None:
    """Leave out what a bench says while it works."""


async def checked(bench: Bench, files: dict[str, bytes], name: str) -> tuple[str, dict[str, Any]]:
    """Build and check files. Returns the job that built them, empty where they are wrong, and a row."""
    begun = time.monotonic()
    try:
        job = (await bench.build(await bench.stage(files), files, silent)).job
        passed = await bench.check(job, f"check-{name}", silent)
    except (BuildError, CheckFailed) as err:
        return "", {"candidate": name, "right": False, "error": str(err)[:2000]}
    seconds = round(time.monotonic() - begun, 2)
    return job, {"candidate": name, "right": True, "worst": round(passed.worst, 4), "check_s": seconds}


async def timed(bench: Bench, incumbent: str, candidate: str, name: str) -> dict[str, Any]:
    """Time a candidate against the incumbent, as an iteration does."""
    begun = time.monotonic()
    samples = await contest(
        bench, incumbent, candidate, lambda part: f"{part}-{name}", MIN_GAIN_PCT, silent, lambda all: None
    )
    verdict = judge(samples, MIN_GAIN_PCT)
    seconds = round(time.monotonic() - begun, 2)
    gain = {"word": verdict.word, "gain_pct": round(verdict.gain.pct, 2), "processes": verdict.processes}
    return {**gain, "time_s": seconds, "cases": told(samples)}


async def tried(host: Host, name: str, args: argparse.Namespace) -> AsyncIterator[dict[str, Any]]:
    """Yield a row for a task's own kernel and for each of its candidates. Raises HostError, TaskError, BuildError."""
    task = load_task(shipped("tasks") / name)
    task = replace(task, build=replace(task.build, python=args.python))
    kind = device_of(task.language, task.need)
    device = next((one for one in devices(await host.probe(), HostConfig()) if one.kind == kind), None)
    if device is None:
        yield {"error": f"{task.name} needs a {kind}, and this machine has none"}
        return
    bench = await prepare(host, task, device, silent)
    own = read_files(task.folder, task.editable)
    incumbent, row = await checked(bench, own, "baseline")
    yield {"device": device.name, **row}
    for path in sorted((CANDIDATES / task.name).glob("*/kernel.py")):
        candidate = path.parent.name
        if args.only and candidate not in args.only:
            continue
        job, row = await checked(bench, {**own, "kernel.py": path.read_bytes()}, candidate)
        if job and incumbent and ("all" in args.contest or candidate in args.contest):
            row |= await timed(bench, incumbent, job, candidate)
        yield row


def as_wanted(row: dict[str, Any]) -> bool:
    """Return whether a kernel was judged as its name wants it: `wrong…` refused, every other one right."""
    return "right" in row and row["right"] != str(row["candidate"]).startswith("wrong")


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="+", metavar="TASK")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--contest", action="append", default=[], metavar="NAME")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []

    def told_of(task: str, row: dict[str, Any]) -> None:
        rows.append({"task": task, **row, "as_wanted": as_wanted(row)})
        print(json.dumps(rows[-1]), flush=True)
        if args.out:
            args.out.write_text("".join(f"{json.dumps(one)}\n" for one in rows))

    with tempfile.TemporaryDirectory(prefix="kpd-python-") as folder:
        host = Host("local", PurePosixPath(folder), Local(), leases=f"{folder}/leases")
        await host.connect()
        try:
            for task in args.tasks:
                try:
                    async for row in tried(host, task, args):
                        told_of(task, row)
                except (HostError, TaskError, BuildError) as err:
                    told_of(task, {"error": str(err)})
        finally:
            await host.close()
    return 0 if all(row["as_wanted"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
