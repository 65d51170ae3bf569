"""Does a run that goes on into production over SSH end whole, whoever is killed on the way?

    python benchmarks/deployment_by_daemon.py [tries] [minutes] [first]

Prints one JSON object. A small program on this machine, behind an sshd of its own on loopback, and the recorded run of
`kpd demo` as one that was queued with --deploy. A real daemon deploys the winner; in one phase of that, at a random
moment of its first 0.3 s, the process that deploys is killed, or the daemon, which is started again, or both, or the
link is cut for a second. `asks` is the wait for a person, whose yes comes after the disturbance. In the end the daemon
must know how it went, and the program must be as that says: wholly the new one, or as before. After so many minutes no
other try begins; another call goes on with the `first` that was not tried. Needs OpenSSH's sshd.
"""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from deployment_tries import one_by_one

from kpd.workspace.deployments import DeploymentJournal
from tests.support.daemon.real_daemon import RealDaemon, leftovers
from tests.support.hosts.remote_box import Box, box
from tests.support.production.killing import PHASES
from tests.support.production.recorded import with_program
from tests.support.production.sleepers import FAST, content

DISTURBANCES = ("deployment killed", "daemon killed", "both killed", "link cut")
EACH = ("asks", *PHASES)
TRIES = len(EACH) * len(DISTURBANCES)
MINUTES = 30.0
FAILS = FAST.replace("2 * x", "2 * fails(x)")


def reached(journal: DeploymentJournal, phase: str) -> bool:
    """Return whether a deployment has begun the phase, or has ended."""
    found = journal.all()
    if not found:
        return False
    now = found[-1]
    return now.state != "open" or (bool(now.asks) if phase == "asks" else now.phase == phase)


def tried(folder: Path, number: int) -> dict[str, Any]:
    """Let a daemon deploy once, disturb that, and see what is left and told."""
    phase, how = EACH[number % len(EACH)], DISTURBANCES[(number + number // len(EACH)) % len(DISTURBANCES)]
    began = time.monotonic()
    with box(folder, SetEnv=f"HOME={folder / 'far-home'}") as far:
        fast = FAILS if phase in ("restore", "recheck") else FAST
        ws, root = with_program(folder, deploy="p", host="box", table=far.table(), fast=fast, approve=phase == "asks")
        before = content(root)
        daemon, journal = RealDaemon(ws), DeploymentJournal(ws.deployments / "p")
        daemon.start()
        try:
            daemon.until(lambda: reached(journal, phase), phase)
            time.sleep(random.Random(number).uniform(0, 0.3))
            disturb(how, daemon, far)
            last = daemon.until(lambda: ended(daemon), "the end")
        finally:
            daemon.stop()
        now = content(root)
        left = [path.name for path in root.rglob("*.kpd-new")]
        deployed = last["state"] == "deployed"
        whole = not left and (now[0] == fast and fast in now[1] if deployed else now == before)
        said = [one.state for one in journal.all()]
    return {
        "phase": phase, "how": how, "state": last["state"], "cause": last["cause"], "whole": whole, "history": said,
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def disturb(how: str, daemon: RealDaemon, far: Box) -> None:
    if how in ("deployment killed", "both killed"):
        for process in (one for one in leftovers(daemon.workspace) if "--gate" in cmdline(one)):
            process.send_signal(signal.SIGKILL)
    if how in ("daemon killed", "both killed"):
        daemon.kill()
        daemon.start()
    if how == "link cut":
        far.go_down()
        time.sleep(1.0)
        far.come_back()


def cmdline(process: psutil.Process) -> list[str]:
    try:
        found: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return found


def ended(daemon: RealDaemon) -> dict[str, Any] | None:
    """Return the last deployment as the daemon has it, once that has ended; say yes to one that waits."""
    if not (cards := daemon.query("status")["deployments"]):
        return None
    last: dict[str, Any] = {"cut": cards[-1]["cut"], **cards[-1]["deployment"]}
    if last["asks"] and not last["cut"]:
        subprocess.run([*kpd(daemon), "project", "approve", "p", "--yes"], capture_output=True)
    return last if last["state"] != "open" and last["cause"] != "cut" else None


def kpd(daemon: RealDaemon) -> list[str]:
    return [sys.executable, "-m", "kpd.cli.main", "-w", str(daemon.workspace.root)]


def main(tries: float = TRIES, minutes: float = MINUTES, first: float = 0) -> dict[str, Any]:
    return one_by_one(tried, tries, minutes, first)


if __name__ == "__main__":
    print(json.dumps(main(*map(float, sys.argv[1:])), indent=2))
