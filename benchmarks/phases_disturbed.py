"""Does a run's preparation over SSH end as it should, whoever is killed in which of its phases?

    python benchmarks/phases_disturbed.py [tries] [minutes] [first]

Prints one JSON object. A project on this machine, behind an sshd of its own on loopback; a real daemon makes its task.
In one phase before the first iteration, at a random moment of its first seconds, the phase's process is killed, or the
daemon, which is started again and resumed, or both, or the link is cut for a second. The program that is observed
leaves a record that another one left on a GPU. A try is whole where the program's files are as before, byte by byte,
each phase has ended once and well, at most one task was made, and no question was asked again. After so many minutes
no other try begins; another call goes on with the `first` that was not tried. Needs CUPTI, nvcc and OpenSSH's sshd.
"""

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from deployment_by_daemon import cmdline, kpd
from deployment_tries import one_by_one

from kpd.client import DaemonError
from kpd.model.preparation import BEFORE
from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, leftovers
from tests.support.hosts.remote_box import Box, box
from tests.support.onboarding.kernels import GOOD, fenced, sources
from tests.support.production.records import OBSERVED

DISTURBANCES = ("process killed", "daemon killed", "both killed", "link cut")
TRIES = 2 * len(BEFORE) * len(DISTURBANCES)
MINUTES = 30.0
WITHIN_S = 3.0
RECORDED = f"sleep 2; gunzip -c {OBSERVED}/all.record.gz >$KPD_OBSERVE_DIR/1.record"


def made(folder: Path, far: Box, phase: str) -> tuple[Workspace, Path, list[str]]:
    """Make the program and its workspace; return both, and the options of `kpd project run`."""
    root, ws = folder / "program", Workspace(folder / "ws")
    found = sources(root)
    (root / "prog").touch()
    ws.tasks.mkdir(parents=True)
    words = ["--mailbox", "--agent", "operator"]
    kernel, file = "row_scale", "row_scale.cu"
    if phase == "observe":
        kernel, file = "imaging::transpose", "launches.cu"
        (root / file).write_bytes((OBSERVED / "launches.cu").read_bytes())
    else:
        words += ["--observed", str(found.observed)]
    ws.config.write_text(
        f'{far.table()}[project.p]\nhost = "box"\nroot = "{root}"\nfiles = ["{file}"]\ncontext = ["host.cu"]\n'
        f'binary = ["prog"]\nbuild_dir = "out"\nbuild = "true"\nrun = {json.dumps(RECORDED)}\nkernel = "{kernel}"\n'
        'outputs = ["result"]\n'
    )
    return ws, root, words


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def tried(folder: Path, number: int) -> dict[str, Any]:
    """Prepare one run, disturb one phase of that, and see what is left and told."""
    phase, how = BEFORE[number % len(BEFORE)], DISTURBANCES[(number // len(BEFORE)) % len(DISTURBANCES)]
    began = time.monotonic()
    with box(folder, SetEnv=f"HOME={folder / 'far-home'}") as far:
        ws, root, words = made(folder, far, phase)
        mailbox, before, daemon = ws.root / "onboarding" / "p", files(root), RealDaemon(ws)
        daemon.start()
        try:
            subprocess.run([*kpd(daemon), "project", "run", "p", *words], check=True, capture_output=True)
            daemon.until_event("phase_begun", run="r1", phase=phase)
            time.sleep(random.Random(number).uniform(0, WITHIN_S))
            disturb(how, daemon, far)
            if phase == "task":
                daemon.until((mailbox / "prompt.md").exists, "the question for a harness")
                (mailbox / "reply.md").write_text(fenced(GOOD))
            daemon.until_event("phase_ended", run="r1", phase=phase)
            with contextlib.suppress(DaemonError):
                daemon.command("stop", run="r1")
            daemon.until(lambda: not at_a_phase(daemon), "the phase's process to end")
            ends = [one["body"] for one in daemon.events("phase_ended")]
        finally:
            daemon.stop()
        asked = len(list(mailbox.glob("reply_*.md")))
    done = [one for one in ends if one["phase"] == phase]
    tasks = [path.name for path in ws.tasks.iterdir() if not path.name.startswith(".")]
    whole = (
        files(root) == before and len(done) == 1 and not done[0]["result"]["failed"] and asked == 0
        and max(Counter(one["phase"] for one in ends).values()) == 1 and tasks == (["p"] if phase == "task" else [])
    )  # fmt: skip
    return {
        "phase": phase, "how": how, "state": "done" if not done[0]["result"]["failed"] else "failed",
        "cause": done[0]["result"]["failed"] or None, "whole": whole, "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def at_a_phase(daemon: RealDaemon) -> list[Any]:
    return [one for one in leftovers(daemon.workspace) if "phase" in cmdline(one)]


def disturb(how: str, daemon: RealDaemon, far: Box) -> None:
    if how in ("process killed", "both killed"):
        for process in at_a_phase(daemon):
            process.send_signal(signal.SIGKILL)
    if how in ("daemon killed", "both killed"):
        daemon.kill()
        daemon.start()
        with contextlib.suppress(DaemonError):  # the phase may have ended, and nothing be held
            daemon.command("resume")
    if how == "link cut":
        far.go_down()
        time.sleep(1.0)
        far.come_back()


def main(tries: float = TRIES, minutes: float = MINUTES, first: float = 0) -> dict[str, Any]:
    return one_by_one(tried, tries, minutes, first)


if __name__ == "__main__":
    print(json.dumps(main(*map(float, sys.argv[1:])), indent=2))
