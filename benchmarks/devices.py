"""How many contests an hour a run decides on several devices of this machine, beside one on one of them alone.

    python benchmarks/devices.py [--task transpose_cuda] [--gpus 0,1] [--counts 1,2] [--seconds 60]
        [--min-gain 50]

A real daemon runs the task with the sweep agent on one device, then on several (`kpd run --devices`). Each time the
contests are counted that are judged in so many seconds, from when as many have been judged as there are devices: after
the baseline and the noise floor of each device. `--gpus` are those that it may use, the first ones first, and
`--counts` on how many of them it runs. With a `--min-gain` that no candidate has none is accepted: what audits and
compute-sanitizer take is by chance in one of the counts. Prints one JSON object: `each` has the contests with the
seconds of their steps.
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
    parser.add_argument("--gpus", default="0,1", help="nvidia-smi's indices, with commas between them")
    parser.add_argument("--counts", default="1,2", help="numbers of devices, with commas between them")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--min-gain", type=float, default=50.0, metavar="PCT", help="the least gain that is accepted")
    args = parser.parse_args()
    found: dict[str, Any] = {"task": args.task, "seconds": args.seconds, "min_gain_pct": args.min_gain, "on": {}}
    for count in map(int, args.counts.split(",")):
        gpus = [int(gpu) for gpu in args.gpus.split(",")[:count]]
        with tempfile.TemporaryDirectory(prefix="kpd-devices-") as scratch:
            found["on"][count] = asyncio.run(counted(Path(scratch), args.task, gpus, args.seconds, args.min_gain))
    rates = [one["contests_per_hour"] for one in found["on"].values()]
    if not rates[0]:
        sys.exit(f"no contest was decided in {args.seconds:g} s: give it more --seconds")
    print(json.dumps(found | {"factors": [round(rate / rates[0], 2) for rate in rates]}, indent=1))


async def counted(home: Path, task: str, gpus: list[int], seconds: float, least: float) -> dict[str, Any]:
    """The devices of a run, and the contests that it decides after what each of them begins with."""
    workspace, devices = Workspace(home), len(gpus)
    workspace.tasks.mkdir(parents=True)
    shutil.copytree(shipped("tasks") / task, workspace.tasks / task)
    workspace.config.write_text(f'[run]\nprofile = "never"\n[hosts.local]\ngpus = {gpus}\n')
    changed = asyncio.Event()
    async with own_daemon(workspace, lambda fact: changed.set()) as daemon:
        asked = {"iterations": MANY, "patience": MANY, "devices": devices, "min_gain_pct": least}
        await daemon.command("run", task=task, agent="sweep", **asked)
        while len(ended(daemon)) < devices:
            changed.clear()
            await changed.wait()
        before, begun = len(ended(daemon)), time.monotonic()
        await asyncio.sleep(seconds)
        contests, lasted = ended(daemon)[before:], time.monotonic() - begun
        begun_there = Counter(fact.lane for fact in daemon.facts if isinstance(fact, e.IterationStarted))
        each = [steps(daemon, fact) for fact in contests]
    return {
        "iterations_by_lane": begun_there,
        "contests": len(contests),
        "contests_per_hour": round(len(contests) / lasted * 3600, 1),
        "each": each,
    }


def ended(daemon: OwnDaemon) -> list[e.IterationEnded]:
    """The iterations that a contest has decided."""
    outcomes = ("accepted", "rejected")
    return [fact for fact in daemon.facts if isinstance(fact, e.IterationEnded) and fact.outcome in outcomes]


def steps(daemon: OwnDaemon, end: e.IterationEnded) -> dict[str, Any]:
    """The outcome of an iteration, the processes of its contest, and the seconds of its steps."""
    facts = [fact for fact in daemon.facts if isinstance(fact, e.IterationFact) and fact.iteration == end.iteration]
    judged = [fact.verdict.processes for fact in facts if isinstance(fact, e.Judged)]
    spent = {fact.kind(): round(fact.seconds, 2) for fact in facts if isinstance(fact, e.StepFact)}
    return {"iteration": end.iteration, "outcome": end.outcome, "processes": judged[-1:], "seconds": spent}


if __name__ == "__main__":
    main()
