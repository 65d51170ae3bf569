"""kill -9 of whoever changes or restores a program, at any moment: it is never left half changed."""

import concurrent.futures
import contextlib
import hashlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.support.patience import PATIENCE_S
from tests.support.production.provers import BUILD, FASTER, SOURCE, FarSide, built, content, made

TRIES = 24
"""Each phase with each way to go on, once."""
LEASE_S = 60.0
PHASES = ("begin", "put", "building", "build", "built", "put the binary", "restore", "lease")
WRITTEN = ("building", "build", "built", "put the binary")  # in these kpd's source is in place


class Try:
    """One change, as a client makes it step by step, which is killed in one of its phases."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.root = folder / "prover"
        self.far = FarSide(made(self.root), folder)
        self.chance = chance
        self.job = folder / "jobs" / "one"
        self.job.mkdir(parents=True)
        for name, data in (("candidate", FASTER), ("binary", built(FASTER)[1])):
            (folder / name).write_bytes(data)
        self.folder = folder

    def popen(self, phase: str) -> "subprocess.Popen[str]":
        project = self.far.project
        match phase:
            case "begin":
                return self.far.popen(
                    "begin", id="one", files=project.files, binary=project.binary, build_dir="target", holder="a test",
                    purpose="to be killed", lease_s=LEASE_S,
                )  # fmt: skip
            case "put" | "put the binary":
                name, path = ("candidate", "src/kernel.c") if phase == "put" else ("binary", "target/prover")
                sha = hashlib.sha256((self.folder / name).read_bytes()).hexdigest()
                return self.far.popen("put", id="one", path=path, content=str(self.folder / name), sha=sha)
            case "build":
                slow = BUILD.replace("cat ", "sleep 0.05; cat ")
                env = {**os.environ, "KPD_JOB": str(self.job)}
                return subprocess.Popen(slow, shell=True, cwd=self.root, env=env, text=True, stdout=subprocess.PIPE)
            case "building" | "built":
                return self.far.popen(phase, job=self.job, id="one")
        return self.far.popen("restore")

    def until(self, phase: str) -> None:
        """Make the change up to this phase, in which the client is killed after a random time."""
        takes = 0.3
        for step in PHASES:
            if step == "lease":
                return
            begun = time.monotonic()
            process = self.popen(step)
            if step == phase:
                time.sleep(self.chance.uniform(0, takes))
                process.kill()
                process.communicate()
                return
            process.communicate()
            takes = time.monotonic() - begun

    def switches(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if str(self.far.program) in process.cmdline() and process.cwd() == "/":
                    found.append(process)
        return found


def tried(folder: Path, number: int) -> tuple[str, bool]:
    """Kill in one phase; every third time the switch, too, and of every third change one of its two processes.

    Return what was wrong, and whether something was changed when the client was killed.
    """
    chance = random.Random(number)
    one = Try(folder, chance)
    phase = PHASES[number % len(PHASES)]
    one.until(phase)
    was_changed = content(one.root) != built(SOURCE)
    killed = one.switches() if number % 3 == 0 else one.switches()[: number % 3 - 1]
    for process in killed:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGKILL)
    if number % 3 == 0:  # nobody there restores: the next one who comes does, and may be killed, too
        again = one.far.popen("restore")
        time.sleep(chance.uniform(0, 0.25))
        again.kill()
        again.communicate()
        one.far.ask("restore")
    else:
        one.far.ask("renew", id="one", lease_s=0.1)  # the last time that anybody renews it
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        status = one.far.ask("status")["ok"]
        change = status["change"]
        if change is None or change["state"] == "restored":
            break
        time.sleep(0.2)
    left = [path.name for path in one.root.rglob("*") if "kpd" in path.name]
    if content(one.root) != built(SOURCE) or left or (change or {}).get("conflicts"):
        return f"try {number}, killed in {phase}: {content(one.root)}, {left}, {status}", was_changed
    return "", was_changed


@pytest.mark.parametrize("half", [0, 1])
def test_no_kill_leaves_a_program_half_changed(half: int, tmp_path: Path) -> None:
    numbers = range(half, TRIES, 2)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: tried(tmp_path / str(number), number), numbers))
    assert [wrong for wrong, _ in found if wrong] == []
    written = [number for number in numbers if PHASES[number % len(PHASES)] in WRITTEN]
    unchanged = [number for number in written if not found[numbers.index(number)][1]]
    assert unchanged == [], "there was nothing to restore"
