"""What is deployed, what is taken back, and does a kill -9 in any phase leave a program half changed?

    python benchmarks/deployments.py [nulls] [kills]

Prints one JSON object. With `examples/cmake-imaging` on this machine's CPU: a real gain; nulls, the same kernel with
other text or other code around it, each of which is said to have won alone; a kernel that wins alone, as measured
here in one process with many calls, and loses in the program, which makes few; one that does not build, and one with
a wrong result; somebody's edit meanwhile. Then so many deployments, each killed at a random moment from the beginning
of one of the phases on; half of them are settled by the next command, half by the host alone. Needs cmake and g++.
"""

import asyncio
import json
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from kpd.model.deployments import Deployment, Phase
from kpd.production.deploy.deploy import Telling, approved
from kpd.production.deploy.settle import settle
from kpd.production.deploy.winner import AcceptedKernel
from tests.support.hosts.local import until
from tests.support.production import imaging, sleepers
from tests.support.production.killing import PHASES, killed
from tests.support.production.provers import FarSide, place_at

NULLS = 20
KILLS = 33
LANES = 3
PATIENCE_S = 120.0
ALONE = """
#include "imaging.h"
#include <chrono>
#include <cstdio>
int main() {
    imaging::Image image{640, 480, std::vector<uint8_t>(640 * 480, 7)};
    imaging::Settings settings{3, 96};
    imaging::process_on_cpu(image, settings);
    auto began = std::chrono::steady_clock::now();
    for (int call = 0; call < 20; ++call) imaging::process_on_cpu(image, settings);
    std::printf("%f", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}
"""


def shown(ended: Deployment, same: bool, seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "state": ended.state,
        "cause": ended.cause,
        "as_it_was": same,
        "seconds": round(seconds, 1),
    }
    if ended.verdict is not None:
        gain = ended.verdict.gain
        found |= {"program_pct": [round(one, 2) for one in (gain.low, gain.pct, gain.high)]}
        found |= {"quads": ended.verdict.processes}
    return found


async def deployed(folder: Path, won: AcceptedKernel, edit: bool = False) -> dict[str, Any]:
    """Deploy one kernel in a fresh copy of the example."""
    root = folder / "imaging"
    project = imaging.made(root)
    before = imaging.files(root)

    def tell(phase: Phase) -> None:
        if edit and phase == "time":
            (root / imaging.SOURCE).write_text("somebody's\n")

    began = time.monotonic()
    async with place_at(project, folder) as place:
        telling = Telling(approved, tell)
        ended = await imaging.deploying(place, folder / "deployments", won, telling).deploy(won)
    found = shown(ended, imaging.files(root) == before, time.monotonic() - began)
    return found | ({"edit_kept": (root / imaging.SOURCE).read_text() == "somebody's\n"} if edit else {})


async def many(folder: Path, waiting: list[AcceptedKernel]) -> list[dict[str, Any]]:
    """Deploy kernels one after the other in one copy of the example, for as long as any wait."""
    root, found = folder / "imaging", []
    project = imaging.made(root)
    before = imaging.files(root)
    async with place_at(project, folder) as place:
        while waiting:
            won, began = waiting.pop(), time.monotonic()
            deploying = imaging.deploying(place, folder / "deployments", won, Telling(approved))
            ended = await deploying.deploy(won)
            found.append(shown(ended, imaging.files(root) == before, time.monotonic() - began))
            if ended.state == "deployed":
                break  # what it has left is another baseline
    return found


def nulls(count: int) -> list[AcceptedKernel]:
    """Return kernels with the same work: the same text, other text, or other code beside it in the binary."""
    found = []
    for number in range(count):
        text = f"int sum = 0;  // null {number}"
        beside = f"__attribute__((used)) static int beside_{number}(int x) {{ return x * {number + 3}; }}\n\n"
        old, new = [("int sum = 0;", text), ("void run_on_cpu(", f"{beside}void run_on_cpu(")][number % 2]
        found.append(imaging.candidate(old, "int sum = 0;" if number == 0 else new))
    return found


def alone_pct(folder: Path, won: AcceptedKernel) -> float:
    """Measure a kernel alone: many calls in one process after a first one, in turns; percent of time saved."""
    times: dict[str, list[float]] = {"old": [], "new": []}
    source = imaging.made(folder / "alone").root
    for side, files in (("old", won.baseline), ("new", won.candidate)):
        (folder / f"{side}.cpp").write_bytes(files["k.cpp"])
        (folder / "main.cpp").write_text(ALONE)
        command = ["g++", "-O3", "-std=c++17", f"-I{source}/src", f"{side}.cpp", "main.cpp", "-o", side]
        subprocess.run(command, cwd=folder, check=True)
    for _ in range(7):
        for side, found in times.items():
            found.append(float(subprocess.run([folder / side], capture_output=True, check=True).stdout))
    return 100 * (1 - median(times["new"]) / median(times["old"]))


def over(far: FarSide) -> bool:
    """Return whether nothing is changed on the host, or for good."""
    change = far.ask("status")["ok"]["change"]
    return change is None or change["state"] in ("restored", "committed")


LEASE_S = 8.0  # until the host restores by itself


async def kill(folder: Path, number: int) -> dict[str, Any]:
    """Kill a deployment in one phase, and see who restores it, and what history says."""
    phase, chance = PHASES[number % len(PHASES)], random.Random(number)
    before, journal = await killed(folder, phase, chance.uniform(0, 0.3), LEASE_S)
    alone = number % 2 == 1
    project = sleepers.read(folder)
    far = FarSide(project, folder)
    began = time.monotonic()
    if alone:
        async with asyncio.timeout(PATIENCE_S):
            await until(lambda: over(far))
    restored_s = time.monotonic() - began
    async with place_at(project, folder) as place:
        await settle(place, journal)
    ended = journal.all()[-1]
    source, binary = now = sleepers.content(folder / "program")
    whole = now == before if ended.state != "deployed" else source == sleepers.FAST and sleepers.FAST in binary
    return {
        "phase": phase, "by": "host" if alone else "command", "state": ended.state, "whole": whole,
        "restored_s": round(restored_s, 1) if alone else None,
    }  # fmt: skip


async def main(count: int, kills: int) -> dict[str, Any]:
    lanes = asyncio.Semaphore(LANES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wins = imaging.alone()
        found: dict[str, Any] = {
            "gain": await deployed(folder / "gain", imaging.candidate(imaging.LOOPS, imaging.COLUMNS)),
            "wins_alone": {"alone_pct": round(alone_pct(folder, wins), 1)} | await deployed(folder / "alone_too", wins),
            "build": await deployed(folder / "build", imaging.candidate("int sum = 0;", "int sum = nowhere;")),
            "wrong_result": await deployed(folder / "wrong", imaging.candidate("count / 2", "count / 3")),
            "edit": await deployed(folder / "edit", imaging.candidate(imaging.LOOPS, imaging.COLUMNS), edit=True),
        }
        waiting = nulls(count)
        folders = [folder / f"nulls{lane}" for lane in range(LANES if count else 0)]
        shared = await asyncio.gather(*(many(each, waiting) for each in folders))
        each = [one for lane in shared for one in lane]
        found["nulls"] = {
            "count": len(each), "deployed": sum(one["state"] == "deployed" for one in each),
            "causes": Counter(one["cause"] for one in each), "as_it_was": sum(one["as_it_was"] for one in each),
            "timed": [one["program_pct"] for one in each if "program_pct" in one],
        }  # fmt: skip

        async def one(number: int) -> dict[str, Any]:
            async with lanes:
                return await kill(folder / f"kill{number}", number)

        ends = await asyncio.gather(*(one(number) for number in range(kills)))
        by_host = [end["restored_s"] for end in ends if end["restored_s"] is not None]
        found["kills"] = {
            "count": kills, "half_changed": sum(not end["whole"] for end in ends),
            "states": Counter(f"{end['phase']}: {end['state']}" for end in ends),
            "restored_by_host_s": [min(by_host), max(by_host)] if by_host else [],
        }  # fmt: skip
    return {"machine": platform.machine(), "python": platform.python_version(), **found}


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]] + [NULLS, KILLS][len(sys.argv) - 1 :]
    print(json.dumps(asyncio.run(main(*given)), indent=2))
