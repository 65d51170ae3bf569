"""The example tasks for kpd's own runner, and what was prepared for them: are they right, and by how much faster?

    python benchmarks/python_tasks.py TASK [NAME …] [--python PATH] [--contest NAME …]

Checks the task's own kernel and each candidate in benchmarks/python_candidates/TASK, or those named, as an iteration
does; candidates named with --contest (or `all`) are then timed against the task's own kernel. Prints JSON lines.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
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
from kpd.workspace.config import HostConfig
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


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--contest", action="append", default=[], metavar="NAME")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kpd-python-") as folder:
        host = Host("local", PurePosixPath(folder), Local(), leases=f"{folder}/leases")
        await host.connect()
        try:
            task = load_task(shipped("tasks") / args.task)
            task = replace(task, build=replace(task.build, python=args.python))
            kind = device_of(task.language, task.need)
            device = next((one for one in devices(await host.probe(), HostConfig()) if one.kind == kind), None)
            if device is None:
                sys.exit(f"{task.name} needs a {kind}, and this machine has none")
            bench = await prepare(host, task, device, silent)
            own = read_files(task.folder, task.editable)
            incumbent, row = await checked(bench, own, "baseline")
            print(json.dumps({"task": task.name, "device": device.name, **row}), flush=True)
            for path in sorted((CANDIDATES / task.name).glob("*/kernel.py")):
                name = path.parent.name
                if args.names and name not in args.names:
                    continue
                job, row = await checked(bench, {**own, "kernel.py": path.read_bytes()}, name)
                if job and incumbent and ("all" in args.contest or name in args.contest):
                    row |= await timed(bench, incumbent, job, name)
                print(json.dumps({"task": task.name, **row}), flush=True)
        except (HostError, TaskError, BuildError) as err:
            print(json.dumps({"task": args.task, "error": str(err)}), flush=True)
        finally:
            await host.close()


if __name__ == "__main__":
    asyncio.run(main())
