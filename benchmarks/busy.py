"""Is the number of a run true on a busy machine? Does what it shows while it goes on hold at its end?

    python benchmarks/busy.py [runs]

Prints one JSON object. Each run is one of `rmsnorm_silu_cpu` by a sweep, beside two processes that load the cores in
bursts of random length. While a run goes on, its speed-up is chained: the product of the contests of what it accepted,
with an interval. At its end the best is measured against the baseline in one contest, the headline. It should lie
within the chained bounds. The quotient of the two scores, which were measured minutes apart, is told beside it.
"""

import asyncio
import contextlib
import json
import multiprocessing
import os
import platform
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from own_daemon import own_daemon

from kpd.model import events as e
from kpd.model.fold import fold_all
from kpd.model.headline import chained, headline, lineage
from kpd.model.run import Run
from kpd.model.verdicts import Speedup
from kpd.workspace.paths import Workspace

ROOT = Path(__file__).resolve().parents[1]
TASK = "rmsnorm_silu_cpu"
ITERATIONS = 4
BURST_S, PAUSE_S = (0.05, 1.5), (0.2, 4.0)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    found = []
    for number in range(runs):
        with tempfile.TemporaryDirectory(prefix="kpd-busy-") as folder, load():
            found.append(told(asyncio.run(run(Path(folder)))))
            sys.stderr.write(f"{number + 1} of {runs}: {found[-1]}\n")
    within = [one["within"] for one in found if one["within"] is not None]
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    overlap = sum(one["overlap"] for one in found if one["within"] is not None)
    answer = {
        "machine": machine, "task": TASK, "with_a_gain": len(within), "within": sum(within), "overlap": overlap,
        "runs": found,
    }  # fmt: skip
    sys.stdout.write(json.dumps(answer, indent=2) + "\n")


@contextlib.contextmanager
def load() -> Iterator[None]:
    """Load the cores in bursts while the block runs."""
    burning = [multiprocessing.Process(target=burn, args=(seed,), daemon=True) for seed in range(os.cpu_count() or 1)]
    for process in burning:
        process.start()
    try:
        yield
    finally:
        for process in burning:
            process.terminate()
            process.join()


def burn(seed: int) -> None:
    chance = random.Random(seed)
    while True:
        end = time.monotonic() + chance.uniform(*BURST_S)
        while time.monotonic() < end:
            pass
        time.sleep(chance.uniform(*PAUSE_S))


async def run(folder: Path) -> Run:
    workspace = Workspace(folder)
    workspace.tasks.mkdir()
    shutil.copytree(ROOT / "tasks" / TASK, workspace.tasks / TASK)
    async with own_daemon(workspace, lambda fact: None) as daemon:
        await daemon.command("run", task=TASK, agent="sweep", iterations=ITERATIONS)
        await daemon.until(e.RunEnded)
        return fold_all(daemon.events).runs["r1"]


def told(run: Run) -> dict[str, Any]:
    """Return the headline and the chain of its best; `within`: the first lies within the bounds of the second."""
    found = headline(run)
    chain = chained(run, found.of) if found is not None else None
    accepted = sum(it.outcome == "accepted" for it in run.iterations)
    if found is None or chain is None or run.best is None or run.baseline is None:
        return {"accepted": accepted, "how": None, "within": None}
    scores = (run.baseline.score or 0.0) / (run.best.score or 1.0)
    return {
        "accepted": accepted,
        "how": found.how,
        "headline": ends(found.speedup),
        "chained": ends(chain),
        "steps": [ends(it.verdict.gain.speedup) for it in lineage(run, found.of) if it.verdict is not None],
        "quotient_of_scores": round(scores, 4),
        "within": chain.low <= found.speedup.ratio <= chain.high,
        "overlap": chain.low <= found.speedup.high and found.speedup.low <= chain.high,
    }


def ends(of: Speedup) -> list[float]:
    return [round(value, 4) for value in (of.ratio, of.low, of.high)]


if __name__ == "__main__":
    main()
