"""Does a cluster lose a run's work, double it, or keep an allocation that nobody needs?

    python benchmarks/slurm_disturbances.py [--local] [disturbances] [most minutes] [seed] [kind ...]

Prints one JSON object. A real daemon works through short runs on a real Slurm of two nodes, whose GPUs are plain files:
every second run in two allocations at once, with candidates built in a third one, all of them over an sshd, or with
`--local` without one.
Again and again, at a random step of an iteration, something happens to it: one of the kinds of
`tests/support/slurm/disturbing.py`, or of those that are named. After each the run has to come to its next iteration's
end; at the end every run has ended, every iteration and step is there once, never more than one job of kpd ran at a
time under one name, no run was paused, and no allocation is left. Needs root, slurm-wlm and munge.
"""

import argparse
import contextlib
import json
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from kpd.hosts.slurm.holder import PREFIX
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import TASKS, RealDaemon
from tests.support.hosts.remote_box import Box, box
from tests.support.slurm.cluster import Cluster, running_cluster
from tests.support.slurm.disturbing import FORGOTTEN_S, KINDS, LOOK_S, Bench
from tests.support.slurm.inside import own_names, processes

STEPS = ("build", "check", "time", "judge")
RUN = """[run]
profile = "never"

"""
TABLE = """
[hosts.cluster]
transport = "slurm"
{via}bin = "{bin}"
partition = "gpu"
gres = "gpu:fake:2"
time = "60"
cpus = 2
root = "{root}"
leases = "{root}-leases"
idle_release = "2s"
abandon_after = "2m"
max_allocations = 2

[hosts.cluster.build]
partition = "cpu"
cpus = 1
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local", action="store_true", help="without an sshd before the login node")
    parser.add_argument("disturbances", type=int, nargs="?", default=100)
    parser.add_argument("minutes", type=float, nargs="?", default=60.0)
    parser.add_argument("seed", type=int, nargs="?", default=11)
    parser.add_argument("kinds", nargs="*", metavar="kind", help="of tests/support/slurm/disturbing.py; else all")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kpd-slurm-") as folder:
        sys.stdout.write(json.dumps(disturb(Path(folder), args), indent=2) + "\n")


def disturb(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    began = time.monotonic()
    place = folder / "place"
    with running_cluster(folder / "c", nodes=2) as slurm, box(place, "login", MaxStartups="10:30:100") as login:
        made = workspace(place / "w", slurm, None if args.local else login)
        bench = Bench(RealDaemon(made), slurm, login, random.Random(args.seed))
        watch = threading.Thread(target=watch_jobs, args=(bench,))
        bench.daemon.start()
        watch.start()
        try:
            done = series(bench, args.disturbances, args.kinds or sorted(KINDS), began + 60 * args.minutes)
            bench.daemon.until(lambda: not bench.running(), "the last run to end")
            bench.until(lambda: not bench.mine(), "the last allocation was not given back", FORGOTTEN_S)
            left = bench.mine()
        except BaseException:
            keep(bench)
            raise
        finally:
            bench.over.set()
            watch.join()
            events = bench.events()
            bench.daemon.stop()
        if bench.lost:
            keep(bench)
        return verdict(bench, events, bench.daemon.output, left, done, time.monotonic() - began)


def keep(bench: Bench) -> None:
    """Keep the logs of Slurm and of kpd, and what Slurm says of its nodes and jobs, for whoever looks for the cause."""
    kept = Path(tempfile.mkdtemp(prefix="kpd-slurm-lost-"))
    for log in (*bench.slurm.folder.glob("*.log"), *bench.daemon.workspace.root.parent.glob("output.txt")):
        shutil.copy(log, kept)
    shutil.copytree(bench.daemon.workspace.root / ".kpd", kept / "kpd", ignore_dangling_symlinks=True)
    for what in ("node", "job"):
        with contextlib.suppress(subprocess.SubprocessError):  # the controller may be what is gone
            (kept / f"{what}s.txt").write_text(bench.slurm.run("scontrol", "show", what))
    sys.stderr.write(f"its logs are in {kept}\n")


def workspace(root: Path, slurm: Cluster, login: Box | None) -> Workspace:
    for name in ("tasks", "skills", "memory"):
        (root / name).mkdir(parents=True)
    via, before = ('via = "login"\n', login.table()) if login is not None else ("", "")
    table = TABLE.format(via=via, bin=slurm.bin, root=slurm.folder / "root")
    (root / "config.toml").write_text(RUN + before + table)
    shutil.copytree(TASKS / "scale", root / "tasks" / "scale")
    made = Workspace(root)
    made.make_private()
    return made


def series(bench: Bench, wanted: int, kinds: list[str], end: float) -> Counter[str]:
    """Cause as many disturbances as are wanted and there is time for, each kind as often as the others."""
    done: Counter[str] = Counter()
    order: list[str] = []
    while sum(done.values()) < wanted and time.monotonic() < end and not bench.lost:
        if not order:
            order = list(kinds)
            bench.chance.shuffle(order)
        kind = order.pop()
        step = at_a_step(bench)
        ended = len(bench.events("iteration_ended"))
        begun = time.monotonic()
        KINDS[kind](bench)
        after = f"{kind} at {step}"
        bench.until(partial(one_more, bench, ended), f"no iteration ended after {after}")
        took = time.monotonic() - begun
        bench.recoveries.setdefault(kind, []).append(took)
        done[kind] += 1
        sys.stderr.write(f"{sum(done.values()):3} {after}: {took:.1f} s\n")
    return done


def one_more(bench: Bench, ended: int) -> bool:
    """Return whether another iteration has ended; a run that had its end just before the disturbance has none."""
    bench.keep_running()
    return len(bench.events("iteration_ended")) > ended


def at_a_step(bench: Bench) -> str:
    """Wait for one of the steps of an iteration, and then for a random moment."""
    want, seen = bench.chance.choice(STEPS), len(bench.events("step_started"))

    def begun() -> bool:
        bench.keep_running()
        return want in [event["body"]["step"] for event in bench.events("step_started")[seen:]]

    bench.until(begun, f"the step {want} did not begin")
    time.sleep(bench.chance.uniform(0, 0.4))
    return want


# ── what is seen ──────────────────────────────────────────────────────────────────────────────────────────────────────


def watch_jobs(bench: Bench) -> None:
    """Note every moment at which two jobs of kpd run under one name."""
    while not bench.over.wait(LOOK_S):
        try:
            jobs = Counter(job[2] for job in bench.mine() if job[1] == "RUNNING")
        except subprocess.SubprocessError:
            continue  # the controller is away
        bench.doubled += [f"two jobs at once: {name}" for name, count in jobs.items() if count > 1]


ONCE = ("iteration_started", "iteration_ended", "accepted", "run_started", "run_ended", "judged", "built", "checked")


def verdict(
    bench: Bench, events: list[dict[str, Any]], output: str, left: list[list[str]], done: Counter[str], seconds: float
) -> dict[str, Any]:
    seen = Counter(
        (event["kind"], event["body"]["run"], event["body"].get("iteration"))
        for event in events
        if event["kind"] in ONCE
    )
    begun = {key[1:] for key in seen if key[0] == "iteration_started"}
    ended = {key[1:] for key in seen if key[0] == "iteration_ended"}
    entered = set(re.findall(r"entered job (\d+)", output))
    holders = [f"process {process.pid}" for process in processes(bench.daemon.workspace)]
    folders = [*Path(PREFIX).parent.glob(f"{Path(PREFIX).name}{own_names(bench.daemon.workspace)}*")]
    for folder in folders:
        shutil.rmtree(folder)
    took = [one for each in bench.recoveries.values() for one in each]
    said = bench.slurm.run("sbatch", "--version")
    return {
        "machine": f"{platform.system()} {platform.machine()}, Python {sys.version.split()[0]}",
        "slurm": said.split()[1],
        "disturbances": sum(done.values()),
        "by_kind": dict(sorted(done.items())),
        "preempted_are": sorted(set(bench.ends)),
        "seconds": round(seconds, 1),
        "allocations": len(entered),
        "logins": bench.login.server.log().count("Accepted publickey"),
        "without_holder": output.count("nobody holds job"),
        "lanes_lost": sum(bool(event["body"]["away"]) for event in events if event["kind"] == "lanes_changed"),
        "runs": bench.runs,
        "iterations": len(ended),
        "outcomes": Counter(event["body"]["outcome"] for event in events if event["kind"] == "iteration_ended"),
        "lost": [*bench.lost, *(f"{of} did not end" for of in sorted(begun - ended, key=str))],
        "paused": [event["body"]["reason"] for event in events if event["kind"] == "run_paused"],
        "doubled": [*sorted(set(bench.doubled)), *(f"{count} x {key}" for key, count in seen.items() if count > 1)],
        "allocations_left": [job[0] for job in left] + holders,
        "folders_left": len(folders),
        "recovery_median_s": round(median(took), 1) if took else None,
        "recovery_max_s": round(max(took), 1) if took else None,
        "recovery_median_s_by_kind": {kind: round(median(each), 1) for kind, each in sorted(bench.recoveries.items())},
    }


if __name__ == "__main__":
    main()
