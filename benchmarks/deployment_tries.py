"""Does a kill -9 or a cut link in any phase of a deployment over SSH leave the program half changed?

    python benchmarks/deployment_tries.py [tries] [minutes] [first]

Prints one JSON object. `examples/cmake-imaging` on this machine's CPU, behind an sshd of its own on loopback. Each try
deploys one kernel, and disturbs that in one phase, at a random moment of its first 0.3 s: kpd is killed, and the next
command settles what it has left, or the host alone restores; the link is cut, and comes back at once; or the host is
unreachable until it has restored by itself. In the end the program must be as before, or wholly the new one, and
history must say which. After so many minutes no other try begins; another call goes on with the `first` that was not
tried. Needs cmake, g++ and OpenSSH's sshd.
"""

import asyncio
import json
import platform
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kpd.hosts.host import Host
from kpd.hosts.ssh.transport import Ssh
from kpd.model.deployments import Deployment, Phase
from kpd.production.deploy.settle import settle
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.projects import ProjectConfig
from kpd.workspace.run_files import digest
from tests.support.hosts.sshd import Sshd, sshd
from tests.support.production import imaging
from tests.support.production.killing import PHASES, begun, deployer
from tests.support.production.provers import FarSide, place_on

TRIES = 52
LANES = 4
MINUTES = 60.0
LEASE_S = 10.0
PATIENCE_S = 240.0
DISTURBANCES = ("killed, settled by the next command", "killed, restored by the host", "link cut", "host unreachable")
EACH: tuple[Phase, ...] = (*PHASES, "fix")
GOOD = imaging.candidate(imaging.LOOPS, imaging.COLUMNS)
BUILD_FAILS = imaging.candidate("int sum = 0;", "int sum = nowhere;")
WRONG = imaging.candidate("count / 2", "count / 3")


@dataclass(frozen=True, slots=True)
class Lane:
    """One copy of the program and its host; tries follow one another on it."""

    folder: Path
    server: Sshd
    project: ProjectConfig

    @classmethod
    def made(cls, folder: Path, server: Sshd) -> "Lane":
        project = imaging.made(folder / "imaging")
        shutil.copytree(folder / "imaging", folder / "as it was")
        return cls(folder, server, project)

    @property
    def root(self) -> Path:
        return self.folder / "imaging"

    def renew(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self.folder / "as it was", self.root)


async def at_rest(far: FarSide) -> None:
    """Wait until nothing is changed on the host, or for good; the host is asked without kpd."""
    while True:
        change = (await asyncio.to_thread(far.ask, "status"))["ok"]["change"]
        if change is None or change["state"] in ("restored", "committed"):
            return
        await asyncio.sleep(0.5)


async def tried(lane: Lane, number: int) -> dict[str, Any]:
    """Deploy once, disturb that, and see what is left and told."""
    phase, how = EACH[number % len(EACH)], DISTURBANCES[(number + number // len(EACH)) % len(DISTURBANCES)]
    lane.renew()
    before, began = imaging.files(lane.root), time.monotonic()
    won = BUILD_FAILS if phase == "fix" else WRONG if phase in ("restore", "recheck") else GOOD
    mended = lane.folder / "mended"
    mended.unlink(missing_ok=True)
    if phase == "fix":
        mended.write_bytes(GOOD.candidate["k.cpp"])
    far = FarSide(lane.project, lane.folder)
    async with asyncio.timeout(PATIENCE_S):
        process = deployer(lane.folder, lane.project, won, "", LEASE_S, str(lane.server.config))
        await begun(process, lane.folder, phase)
        await asyncio.sleep(random.Random(number).uniform(0, 0.3))
        match how:
            case "link cut":
                lane.server.cut()
            case "host unreachable":
                lane.server.stop()
                await at_rest(far)
                lane.server.start()
            case _:
                process.kill()
        await asyncio.to_thread(process.wait, PATIENCE_S)
        if how == "killed, restored by the host":
            await at_rest(far)
    journal = DeploymentJournal(lane.folder / "deployments")
    host = Host("box", PurePosixPath(lane.folder / "host"), Ssh("box", config_files=[lane.server.config]))
    await host.connect()
    try:
        await settle(place_on(host, lane.project, lane.folder), journal)
    finally:
        await host.close()
    ended = journal.all()[-1]
    return {
        "phase": phase, "how": how, "state": ended.state, "cause": ended.cause, "whole": whole(lane, before, ended),
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def whole(lane: Lane, before: dict[str, bytes], ended: Deployment) -> bool:
    """Return whether the program is what history says: as before, or with each file that the deployment has left."""
    now = imaging.files(lane.root)
    left = [path.name for path in lane.root.rglob("*.kpd-new")]
    if ended.state == "deployed":
        built = {path: digest(data) for path, data in now.items()}
        return not left and ended.shas == built and now[imaging.SOURCE] == GOOD.candidate["k.cpp"]
    return not left and now == before and ended.state in ("rolled_back", "failed")


async def main(tries: float = TRIES, minutes: float = MINUTES, first: float = 0) -> dict[str, Any]:
    waiting, ends = list(range(int(first), int(tries)))[::-1], list[dict[str, Any]]()
    until = time.monotonic() + 60 * minutes

    async def work(folder: Path) -> None:
        with sshd(folder / "far", name="box") as server:
            lane = await asyncio.to_thread(Lane.made, folder, server)
            while waiting and time.monotonic() < until:
                ends.append(await tried(lane, waiting.pop()))
                sys.stderr.write(f"{len(ends)}: {json.dumps(ends[-1])}\n")

    with tempfile.TemporaryDirectory(prefix="kpd-tries-") as name:
        folders = [Path(name) / str(lane) for lane in range(LANES)]
        for folder in folders:
            folder.mkdir()
        await asyncio.gather(*map(work, folders))
    return told(ends, first)


def one_by_one(
    tried: Callable[[Path, int], dict[str, Any]], tries: float, minutes: float, first: float
) -> dict[str, Any]:
    """Make the tries from `first` on in folders of their own; begin none after so many minutes."""
    until, ends = time.monotonic() + 60 * minutes, list[dict[str, Any]]()
    for number in range(int(first), int(tries)):
        if time.monotonic() > until:
            break
        with tempfile.TemporaryDirectory(prefix="kpd-") as name:
            ends.append(tried(Path(name), number))
        sys.stderr.write(f"{number}: {json.dumps(ends[-1])}\n")
    return told(ends, first)


def told(ends: list[dict[str, Any]], first: float) -> dict[str, Any]:
    """Count how disturbed deployments have ended."""
    return {
        "machine": platform.machine(), "python": platform.python_version(), "first": int(first), "tries": len(ends),
        "half_changed": sum(not end["whole"] for end in ends),
        "by_disturbance": Counter(end["how"] for end in ends), "by_phase": Counter(end["phase"] for end in ends),
        "states": Counter(f"{end['how']}: {end['state']}" for end in ends),
        "causes": Counter(str(end["cause"]) for end in ends),
        "seconds": [min(end["seconds"] for end in ends), max(end["seconds"] for end in ends)],
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*map(float, sys.argv[1:]))), indent=2))
