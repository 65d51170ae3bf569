"""The whole way of a CUDA program over SSH by `kpd project run`, with a daemon killed on it; then back, and in vain.

    python benchmarks/deploy_gpu.py [--out DIR] [--rehearse]

With `examples/cmake-imaging` on this machine's GPU, reached through an SSH server on its own loopback. One command
checks, observes, has a harness made, runs and deploys, under a large job, which is mostly blurring. The harness is
answered in the mailbox, and two candidates are prepared: one with the same work, and one that sums rows first. While
the harness is awaited, the daemon is killed with `kill -9`, and the same command goes on. The change of the program is
approved by its hash. What was deployed is rolled back, and tried under a small job, most of which is something else.

Prints one JSON object; progress goes to stderr. Needs an NVIDIA GPU, nvcc, cmake, g++, and CUPTI. With --rehearse it
needs no GPU: with smaller jobs, and kernels that run on the CPU, built by the tests' stand-in for nvcc. These cannot be
observed, so a table of their launches is given.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loopback import ALIAS, served

from kpd.client import ask
from kpd.workspace.paths import Workspace
from tests.places import READS, ROOT

HERE = Path(__file__).with_name("imaging_task")
SOURCE = "src/kernels.cu"
PATIENCE_S = 240.0
JOBS = ("small", "large")
BUILD = "cmake -S . -B build && cmake --build build"
PROJECT = """
[project.{job}]
host = "{host}"
root = "{root}"
files = ["src/kernels.cu"]
binary = ["build/libimaging.so", "build/imaging"]
build_dir = "build"
build = {build}
run = "build/imaging jobs/{job}.job build/out.pgm"
outputs = ["build/out.pgm"]
kernel = "blur_kernel"
context = ["src/kernels.h"]
"""
REHEARSED = {
    "small": "width 32\nheight 24\nimages 1\nradius 1\namount 96\nseed 7\n",
    "large": "width 96\nheight 64\nimages 40\nradius 16\namount 96\nseed 7\n",
}
REHEARSED_BUILD = (  # what CMakeLists.txt does, as CMake does not take the stand-in for a compiler
    "mkdir -p build && nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC -DIMAGING_CUDA -Isrc src/kernels.cu"
    " src/pipeline.cpp -o build/libimaging.so"
    " && g++ -O3 -std=c++17 -Isrc src/main.cpp -Lbuild -limaging '-Wl,-rpath,$ORIGIN' -o build/imaging"
)


class Way:
    """The commands in their order, with the seconds that each took."""

    def __init__(self, home: Path, out: Path) -> None:
        self.workspace = Workspace(home / "workspace")
        self.out = out
        self.steps: dict[str, dict[str, Any]] = {}

    async def kpd(self, name: str, *args: str) -> Any:
        """Run one command of kpd, keep what it says in `out`, and return what it prints as JSON."""
        began = time.monotonic()
        command = [sys.executable, "-m", "kpd.cli.main", "-w", str(self.workspace.root), *args]
        with (self.out / f"{name}.txt").open("wb") as told:  # as it comes: a command that is killed has told something
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=told, cwd=ROOT)
            said, _ = await process.communicate()
            told.write(b"\n----\n" + said)
        self.steps[name] = {"exit": process.returncode, "seconds": round(time.monotonic() - began, 1)}
        sys.stderr.write(f"{name}: {self.steps[name]}\n")
        with contextlib.suppress(ValueError):
            return json.loads(said)

    async def until(self, name: str, ready: Callable[[], bool]) -> None:
        """Wait until something is so. Raises TimeoutError."""
        began = time.monotonic()
        async with asyncio.timeout(PATIENCE_S):
            while not ready():  # noqa: ASYNC110  # other processes make it so
                await asyncio.sleep(0.5)
        self.steps[name] = {"seconds": round(time.monotonic() - began, 1)}


def harness(job: dict[str, int]) -> str:
    """Return the answer to the question for a harness: with the case that the job makes the program launch."""
    width, height, radius = job["width"], job["height"], job["radius"]
    grid = f"{-(-width // 32)}, {-(-height // 8)}"
    case = f"{{{width}, {height}, {radius}}}, KPD_CHECK_AND_TIME, {{{grid}}}, {{32, 8}}"
    text = (HERE / "harness.cu").read_text().replace("/* the case that was observed */", case)
    return f"```cuda\n{text}```\n"


def candidates(folder: Path, prompt: str) -> None:
    """Write the prepared kernel sections: the same work written otherwise, and sums of rows first."""
    section = prompt.partition("## The kernel section\n\n```cuda\n")[2].partition("```")[0]
    begin = section.index("__global__ void blur_kernel")
    end = section.index("\n}\n", begin) + len("\n}\n")
    same = section.replace("int sum = 0;", "int sum = 0; // as before")
    rows = section[:begin] + (HERE / "rows.cu").read_text() + section[end:]
    for name, text in (("0-same", same), ("1-rows", rows)):
        (folder / name).mkdir()
        (folder / name / "blur_kernel.cu").write_text(text)


def read_job(path: Path) -> dict[str, int]:
    rows = (row.split() for row in path.read_text().splitlines() if not row.startswith("#"))
    return {name: int(value) for name, value in rows}


async def prepared(way: Way, command: list[str], job: dict[str, int], folder: Path) -> dict[str, Any]:
    """Call the command, kill its daemon while a harness is awaited, answer, and have it go on; return what was told."""
    mailbox = way.workspace.root / "onboarding" / "large"
    first = asyncio.create_task(way.kpd("run_first", *command))
    await way.until("asked", lambda: first.done() or (mailbox / "prompt.md").exists())
    if first.done():
        raise SystemExit("kpd project run has ended, and asked for no harness: see run_first.txt")
    status = await way.kpd("status_before", "status", "--json")
    os.kill(status["pid"], signal.SIGKILL)
    await first
    candidates(folder, (mailbox / "prompt.md").read_text())
    (mailbox / "reply.md").write_text(harness(job))
    await way.kpd("run_held", *command)
    held = (await way.kpd("status_after", "status", "--json"))["held"]
    await way.kpd("resume", "resume")
    return {"phase": "task", "held": held}


async def deployed(way: Way, command: list[str]) -> str:
    """Call the command once more, and approve the change that it comes to by its hash; return that, or nothing."""
    going_on = asyncio.create_task(way.kpd("run_again", *command))

    def waits() -> bool:
        cards = ask(way.workspace.socket, "query", "status", {})["deployments"]
        return going_on.done() or any(one["waits"] for one in cards)

    await way.until("change_waits", waits)
    cards = [one for one in await way.kpd("held", "held", "--json") or [] if "deployment" in one]
    asks = cards[0]["deployment"]["asks"] if cards else ""
    if asks:
        await way.kpd("approve", "project", "approve", "large", "--diff", asks)
    await going_on
    return str(asks)


async def walk(home: Path, out: Path, rehearse: bool) -> dict[str, Any]:
    """Go the whole way in a folder of its own; return what came of each step."""
    (home / ".ssh").mkdir()
    os.environ["HOME"] = str(home)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    way, root, more = Way(home, out), home / "imaging", ""
    shutil.copytree(ROOT / "examples" / "cmake-imaging", root)
    if rehearse:
        more = f"reads = {json.dumps(READS)}\n"
        os.environ["PATH"] = stand_in(home / "bin")
        for name, text in REHEARSED.items():
            (root / "jobs" / f"{name}.job").write_text(text)
    production, job = (root / SOURCE).read_text(), read_job(root / "jobs" / "large.job")
    way.workspace.tasks.mkdir(parents=True)
    build = json.dumps(REHEARSED_BUILD if rehearse else BUILD)
    way.workspace.config.write_text(
        f'[run]\nhost = "{ALIAS}"\nprofile = "never"\n'
        f'[hosts.{ALIAS}]\ntransport = "ssh"\naddress = "{ALIAS}"\nleases = "{home}/leases"\n{more}'
        + "".join(PROJECT.format(job=job, host=ALIAS, root=root, build=build) for job in JOBS)
    )
    given = home / "candidates"
    given.mkdir()
    command = ["project", "run", "large", "--mailbox", "--agent", f"script:{given}", "--iterations", "2", "--wait"]
    if rehearse:
        command += ["--observed", str(as_the_job_says(home / "launches.json", job))]
    async with served(home / ".ssh"):
        await way.kpd("check", "project", "check", "large", "--normalise", "--json")
        try:
            killed = await prepared(way, command, job, given)
            asks = await deployed(way, command)
            in_place = "BLUR_REACH" in (root / SOURCE).read_text()
            log = await way.kpd("log", "log", "r1", "--json")
            cost = await way.kpd("cost", "cost", "r1", "--json")
            history = await way.kpd("history", "project", "history", "large", "--json")
            back = await way.kpd("rollback", "project", "rollback", "large", "--json")
            as_it_was = (root / SOURCE).read_text() == production
            small = await way.kpd("deploy_small", "project", "deploy", "small", "r1", "--yes", "--json")
        finally:
            await way.kpd("stop", "shutdown", "--now")
            shutil.copytree(way.workspace.root / "refs", out / "refs", dirs_exist_ok=True)
            shutil.copy(way.workspace.log, out)
    observed = way.workspace.root / "refs" / "large.observed.json"
    return {
        "rehearsed": rehearse, "steps": way.steps, "killed": killed,
        "observed": json.loads(observed.read_text()) if observed.exists() else None, **history, "log": log,
        "cost": cost, "approved": asks, "in_place": in_place, "rolled_back": back, "as_it_was_then": as_it_was,
        "small": small, "asked_again": len(list(way.workspace.root.glob("onboarding/large/reply_*.md"))),
        "as_it_was": (root / SOURCE).read_text() == production,
    }  # fmt: skip


def stand_in(folder: Path) -> str:
    """Make a machine that passes for one with a GPU; return its PATH."""
    from tests.support.cassette import gpu_machine
    from tests.support.measure.cuda_measured import ROOFLINE_ONLY

    path = gpu_machine.machine(folder / "real", without="ncu")["PATH"]
    (folder / "nvcc").write_text(ROOFLINE_ONLY.format(nvcc=folder / "real" / "nvcc"))
    (folder / "cuobjdump").write_text("#!/bin/sh\n")  # there is no code of a GPU in what the stand-in builds
    for name in ("nvcc", "cuobjdump"):
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{path}"


def as_the_job_says(path: Path, job: dict[str, int]) -> Path:
    """Write the table of a job's launches, where nothing can observe them."""
    size = {name: job[name] for name in ("width", "height", "radius")}
    launch = {"grid": [-(-job["width"] // 32), -(-job["height"] // 8)], "block": [32, 8], **size}
    table = {"kernel": "blur_kernel", "captured_at": "2026-11-28", "launches": [launch] * job["images"]}
    path.write_text(json.dumps(table))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=None, help="keep what each command has said here")
    parser.add_argument("--rehearse", action="store_true", help="without a GPU, on the tests' stand-in")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kpd-deploy-") as scratch:
        out = args.out or Path(scratch) / "out"
        out.mkdir(parents=True, exist_ok=True)
        home = Path(scratch) / "home"
        home.mkdir()
        found = asyncio.run(walk(home, out, args.rehearse))
    text = json.dumps(found, indent=2)
    if args.out:
        (args.out / "deploy_gpu.json").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
