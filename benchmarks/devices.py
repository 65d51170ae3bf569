"""How many contests an hour a run decides on several devices of this machine, beside one on one of them alone.

    python benchmarks/devices.py [--task transpose_cuda] [--devices 2] [--seconds 60]

A real daemon runs the task with the sweep agent on one device, then on several (`kpd run --devices`). Each time the
contests are counted that are judged in so many seconds, from when as many have been judged as there are devices: after
the baseline and the noise floor of each device. Prints one JSON object.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from own_daemon import OwnDaemon, own_daemon

from kpd.model import events as e
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped

MANY = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="transpose_cuda")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kpd-devices-") as scratch:
        one = asyncio.run(counted(Path(scratch) / "one", args.task, 1, args.seconds))
        many = asyncio.run(counted(Path(scratch) / "many", args.task, args.devices, args.seconds))
    if not one["contests"]:
        sys.exit(f"no contest was decided in {args.seconds:g} s: give it more --seconds")
    factor = round(many["contests_per_hour"] / one["contests_per_hour"], 2)
    print(
        json.dumps(
            {"task": args.task, "seconds": args.seconds, "one": one, "several": many, "factor": factor}, indent=2
        )
    )


async def counted(home: Path, task: str, devices: int, seconds: float) -> dict[str, Any]:
    """The devices of a run, and the contests that it decides after what each of them begins with."""
    workspace = Workspace(home)
    workspace.tasks.mkdir(parents=True)
    shutil.copytree(shipped("tasks") / task, workspace.tasks / task)
    workspace.config.write_text('[run]\nprofile = "never"\n')
    changed = asyncio.Event()
    async with own_daemon(workspace, lambda fact: changed.set()) as daemon:
        await daemon.command("run", task=task, agent="sweep", iterations=MANY, patience=MANY, devices=devices)
        while len(ended(daemon)) < devices:
            changed.clear()
            await changed.wait()
        before, begun = len(ended(daemon)), time.monotonic()
        await asyncio.sleep(seconds)
        contests, lasted = len(ended(daemon)) - before, time.monotonic() - begun
        begun_there = Counter(fact.lane for fact in daemon.facts if isinstance(fact, e.IterationStarted))
    return {
        "iterations_by_device": begun_there,
        "contests": contests,
        "contests_per_hour": round(contests / lasted * 3600, 1),
    }


def ended(daemon: OwnDaemon) -> list[e.IterationEnded]:
    """The iterations that a contest has decided."""
    outcomes = ("accepted", "rejected")
    return [fact for fact in daemon.facts if isinstance(fact, e.IterationEnded) and fact.outcome in outcomes]


if __name__ == "__main__":
    main()
