"""A whole run of a task on this machine's GPU, over SSH, beside what profiling the same kernel by hand takes.

    python benchmarks/gpu_run.py TASK [--iterations 12] [--recipe 3] [--full 0,best] [--reports DIR]

A real daemon reaches this machine through an SSH server on its own loopback and runs the task with the sweep agent.
`--recipe` times a recipe by hand so often before and after the run: nvcc, the program, `ncu --set full`, its import
(benchmarks/recipe.cu, so for transpose_cuda alone). `--full` profiles iterations again with `--set full` and says
whether the same rules fire. Prints one JSON object; progress goes to stderr. Needs an NVIDIA GPU, nvcc and ncu.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from loopback import ALIAS, served
from own_daemon import OwnDaemon, own_daemon
from same_rules import same_rules

from kpd.engine.steps import TIMING
from kpd.measure.judge import log_ratio, percent
from kpd.measure.samples import ProcessSample, samples_from_json
from kpd.model import events as e
from kpd.model.profiles import CaseTime
from kpd.text import endings, waits
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped

LOOK_S = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task")
    parser.add_argument("--iterations", type=int, default=12, help="after the baseline; 0 for the baseline alone")
    parser.add_argument("--recipe", type=int, default=0, metavar="TIMES")
    parser.add_argument("--full", default="", metavar="ITERATIONS", help="numbers, or `best`, with commas between them")
    parser.add_argument("--reports", type=Path, metavar="DIR", help="keep the reports of the baseline and of the best")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kpd-gpu-") as scratch:
        home = Path(scratch)
        by_hand = [recipe(home) for _ in range(args.recipe)]
        facts, full, look = asyncio.run(run(home, args.task, args.iterations, args.full, args.reports))
        baseline = Workspace(home / "workspace").iteration_folder(args.task, "r1", 0)
        samples = samples_from_json(baseline.joinpath(TIMING).read_bytes())
        by_hand += [recipe(home) for _ in range(args.recipe)]
    found = told(facts) | {"gpu_at_work": look}
    found |= {"baseline_against_itself_pct": pairs(samples), "baseline_gpu": gpu(samples)}
    if by_hand:
        found["by_hand_s"] = {name: round(median(one[name] for one in by_hand), 2) for name in by_hand[0]}
        found["iteration_over_by_hand"] = round(found["iteration_s"]["median"] / found["by_hand_s"]["all"], 3)
    if full:
        found["full_profiles"] = full
    print(json.dumps(found, indent=2))


def recipe(scratch: Path) -> dict[str, float]:
    """Seconds of each command of a profile by hand."""
    task = shipped("tasks") / "transpose_cuda"
    program, report = scratch / "recipe", scratch / "recipe.ncu-rep"
    source = Path(__file__).with_name("recipe.cu")
    commands: dict[str, list[str | Path]] = {
        "nvcc": ["nvcc", "-O3", "-lineinfo", "-arch=native", f"-I{task}", source, "-o", program],
        "run": [program],
        "ncu": ["ncu", "--set", "full", "--clock-control", "none", "-f", "-o", report, program, "profile"],
        "import": ["ncu", "--import", report, "--csv", "--page", "details"],
    }
    took = {}
    for name, command in commands.items():
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=scratch)
        took[name] = time.perf_counter() - begun
    say("by hand: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items()))
    return {**took, "all": sum(took.values())}


async def run(
    home: Path, task: str, iterations: int, full: str, reports: Path | None
) -> tuple[list[e.Fact], dict[str, Any], dict[str, Any] | None]:
    """The facts of a run by a daemon of its own, what `full` profiles say of some of its iterations, and `glances`."""
    (home / ".ssh").mkdir()
    os.environ["HOME"] = str(home)
    workspace = Workspace(home / "workspace")
    shutil.copytree(shipped("tasks") / task, workspace.tasks / task)
    workspace.config.write_text(
        f'[run]\nhost = "{ALIAS}"\n[hosts.{ALIAS}]\ntransport = "ssh"\naddress = "{ALIAS}"\nleases = "{home}/leases"\n'
    )
    async with served(home / ".ssh"), own_daemon(workspace, progress) as daemon:
        budget = {"iterations": iterations, "patience": iterations} if iterations else {}
        await daemon.command("run", task=task, agent="sweep" if iterations else "operator", **budget)
        looking = asyncio.create_task(glances(daemon))
        await daemon.until(e.RunPaused, e.RunEnded, *(() if iterations else (e.IterationEnded,)))
        again = {}
        for word in filter(None, full.split(",")):
            number = best(daemon.facts) if word == "best" else int(word)
            await daemon.command("profile", iteration=f"r1.{number}")
            again[str(number)] = same_rules(workspace.iteration_folder(task, "r1", number))
        if reports:
            for number in {0, best(daemon.facts)}:
                copy_reports(workspace.iteration_folder(task, "r1", number), reports / f"iter_{number:04}")
        look = await looking
    return daemon.facts, again, look


async def glances(daemon: OwnDaemon) -> dict[str, Any] | None:
    """What the Hosts tab and `kpd hosts` tell of the GPU at its busiest, until the baseline is judged or given up."""
    seen = []
    while not any(isinstance(fact, e.Judged | e.IterationEnded | e.RunPaused | e.RunEnded) for fact in daemon.facts):
        for look in await daemon.query("glance"):
            seen += [device for id, device in look["devices"].items() if id != "cpu" and device["holder"]]
        await asyncio.sleep(LOOK_S)
    return max(seen, key=lambda device: device["power_w"] or 0.0, default=None)


def progress(fact: e.Fact) -> None:
    if isinstance(fact, e.StepFact):
        say(f"iteration {fact.iteration}: {fact.kind()}, {fact.seconds:.1f} s")
    if isinstance(fact, e.IterationEnded):
        say(f"{fact.kind()}: {endings.iteration_ended(fact.cause)}")
    if isinstance(fact, e.RunPaused):
        say(f"{fact.kind()}: {waits.pause(fact.cause)}")
    if isinstance(fact, e.RunEnded):
        say(f"{fact.kind()}: {endings.run_ended(fact.cause)}")


def copy_reports(folder: Path, out: Path) -> None:
    """The reports of an iteration and what `ncu` exports of them."""
    out.mkdir(parents=True)
    for report in folder.glob("*.ncu-rep"):
        shutil.copy(report, out)
        for page in ("raw", "details"):
            table = subprocess.run(
                ["ncu", "--import", report, "--csv", "--print-units", "base", "--page", page],
                check=True, capture_output=True,
            )  # fmt: skip
            (out / f"{report.stem}.{page}.csv").write_bytes(table.stdout)


def best(facts: list[e.Fact]) -> int:
    return max((fact.iteration for fact in facts if isinstance(fact, e.Accepted)), default=0)


def told(facts: list[e.Fact]) -> dict[str, Any]:
    """The run in short: the device, every iteration, and how long an iteration takes without its agent."""
    started = next(fact for fact in facts if isinstance(fact, e.RunStarted))
    iterations: dict[int, dict[str, Any]] = defaultdict(dict)
    seconds: dict[int, dict[str, float]] = defaultdict(dict)
    for fact in facts:
        if isinstance(fact, e.StepFact):
            seconds[fact.iteration][fact.kind()] = round(fact.seconds, 3)
        if isinstance(fact, e.IterationFact):
            iterations[fact.iteration] |= iteration(fact)
    whole = {
        number: sum(took for step, took in steps.items() if step != "proposed") for number, steps in seconds.items()
    }
    measured = [took for number, took in whole.items() if number > 0 and "profiled" in seconds[number]]
    accepted = [took for number, took in whole.items() if iterations[number]["outcome"] == "accepted"]
    for number, steps in seconds.items():
        iterations[number]["seconds"] = steps
    return {
        "device": started.device,
        "best": best(facts),
        "iteration_s": {
            "median": rounded(median(measured)) if measured else None,
            "each": [round(took, 2) for took in measured],
            "accepted": [round(took, 2) for took in accepted],
        },
        "iterations": {str(number): iterations[number] for number in sorted(iterations)},
    }


def iteration(fact: e.IterationFact) -> dict[str, Any]:
    match fact:
        case e.Proposed():
            return {"memo": fact.memo}
        case e.Timed():
            return {"cases": {case.case: times(case) for case in fact.cases}}
        case e.Judged():
            gain = fact.verdict.gain
            return {"gain_pct": [round(side, 2) for side in (gain.pct, gain.low, gain.high)], "word": fact.verdict.word,
                    "processes": fact.verdict.processes}  # fmt: skip
        case e.Profiled():
            return {"metrics": len(fact.metrics), "missing": len(fact.missing), "advice": len(fact.advice)}
        case e.Explained():
            return {"bottleneck": fact.bottleneck, "findings": [finding.rule for finding in fact.findings]}
        case e.IterationEnded():
            return {"outcome": fact.outcome, "reason": endings.iteration_ended(fact.cause)}
    return {}


def times(case: CaseTime) -> dict[str, float | None]:
    share = case.roofline_us and 100 * case.roofline_us / case.candidate_us
    known = {"us": case.candidate_us, "device_us": case.device_us, "warm_us": case.warm_us, "roofline_pct": share}
    return {name: rounded(value) for name, value in known.items()}


def gpu(samples: Sequence[ProcessSample]) -> dict[str, Any]:
    """Between what the GPU was, all processes together, and of how many of them it is known."""
    cases = [[*sample.judged.values()] for sample in samples]
    seen = [case.telemetry for process in cases for case in process if case.telemetry is not None]
    found: dict[str, Any] = {"known": sum(any(case.telemetry for case in process) for process in cases)}
    for name in ("sm_mhz", "mem_mhz", "power_w", "temp_c") if seen else ():
        values = [value for one in seen for value in getattr(one, name)]
        found[name] = [min(values), max(values)]
    return found | {"reasons": sorted({one.reasons for one in seen}), "processes": len(samples)}


def pairs(samples: Sequence[ProcessSample]) -> dict[str, list[float]]:
    """How much quicker the baseline was than itself, in percent: of each case, in each process."""
    found = defaultdict(list)
    for sample in samples:
        for name, case in sample.cases.items():
            found[name].append(round(percent(log_ratio(case)), 2))
    return found


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
