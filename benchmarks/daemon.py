"""What a real daemon costs: idle before and after a run, and its own share of an iteration.

    python benchmarks/daemon.py [--iterations 12]

Runs the rmsnorm_silu_cpu task with the sweep in a temporary workspace and prints one JSON object. The overhead of an
iteration is the wall time from its first event to its last, less what the host's jobs (compiler, measured processes)
and the agent took; the steps record both.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from kpd.client import DaemonError, ask
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped

IDLE_S = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=12)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kpd-bench-") as root:
        workspace = Workspace(Path(root).resolve())
        for folder in ("tasks", "skills", "memory"):
            (workspace.root / folder).mkdir()
        workspace.config.touch()
        shutil.copytree(shipped("tasks") / "rmsnorm_silu_cpu", workspace.tasks / "rmsnorm_silu_cpu")
        daemon = subprocess.Popen(
            [sys.executable, "-m", "kpd.cli.main", "-w", root, "daemon"], stderr=subprocess.DEVNULL
        )
        try:
            found: dict[str, Any] = {"cpus": os.cpu_count(), "python": sys.version.split()[0]}
            wait(lambda: query(workspace, "status"))
            time.sleep(1)
            found["idle_fresh"] = idle(daemon.pid)
            given = {"task": "rmsnorm_silu_cpu", "iterations": args.iterations, "patience": args.iterations}
            ask(workspace.socket, "command", "run", given)
            wait(lambda: ended(workspace))
            time.sleep(2)
            found["idle_after_a_run"] = idle(daemon.pid)
            found["iterations"] = overheads(query(workspace, "events", after=0, limit=10_000))
            ask(workspace.socket, "command", "shutdown", {"now": True})
        finally:
            daemon.wait(20)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def idle(pid: int) -> dict[str, float]:
    """Memory, and CPU over IDLE_S seconds, of the daemon; its helper child apart."""
    process = psutil.Process(pid)
    before = process.cpu_times()
    time.sleep(IDLE_S)
    after = process.cpu_times()
    spent = (after.user + after.system) - (before.user + before.system)
    children = [child.memory_info().rss / 1e6 for child in process.children()]
    return {"rss_mb": process.memory_info().rss / 1e6, "cpu_pct": 100 * spent / IDLE_S, "helpers_rss_mb": sum(children)}


def overheads(events: list[dict[str, Any]]) -> dict[str, Any]:
    """kpd's own milliseconds an iteration, and by step."""
    by_step: dict[str, list[float]] = {}
    whole: list[float] = []
    for number in {event["body"]["iteration"] for event in events if "iteration" in event["body"]}:
        own = [event for event in events if event["body"].get("iteration") == number]
        steps = [event for event in own if "overhead_s" in event["body"]]
        for event in steps:
            by_step.setdefault(event["kind"], []).append(1000 * event["body"]["overhead_s"])
        elsewhere = sum(event["body"]["seconds"] - event["body"]["overhead_s"] for event in steps)
        if number and steps:
            whole.append(1000 * (own[-1]["at"] - own[0]["at"] - elsewhere))
    return {
        "count": len(whole),
        "overhead_ms_median": median(whole),
        "overhead_ms_max": max(whole),
        "by_step_ms_median": {step: median(took) for step, took in by_step.items()},
    }


def ended(workspace: Workspace) -> bool:
    return any(event["kind"] == "run_ended" for event in query(workspace, "log", limit=50))


def query(workspace: Workspace, what: str, **args: Any) -> Any:
    return ask(workspace.socket, "query", what, args)


def wait(ready: Any, limit_s: float = 300.0) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        with suppress(DaemonError):  # it is still starting
            if ready():
                return
        time.sleep(0.2)
    raise SystemExit("the daemon did not get there in time")


if __name__ == "__main__":
    main()
