"""The whole way of a CUDA program over SSH: check, observe, task, loop, deploy, roll back.

    python benchmarks/deploy_gpu.py [--out DIR]

With `examples/cmake-imaging` on this machine's GPU, reached through an SSH server on its own loopback. One kernel that
sums rows first is proposed beside one with the same work; the run times them on the launches that were observed. Its
winner goes into the program twice: under a small job, most of which is something else, and under a large one, which is
mostly this kernel. Last, the large one is rolled back. Prints one JSON object; progress goes to stderr. Needs an NVIDIA
GPU, nvcc, cmake and g++; CUPTI for the launches.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from loopback import ALIAS, served

from kpd.workspace.paths import Workspace
from tests.places import ROOT

HERE = Path(__file__).with_name("imaging_task")
SOURCE = "src/kernels.cu"
PROJECT = """
[project.{job}]
host = "{host}"
root = "{root}"
files = ["src/kernels.cu"]
binary = ["build/libimaging.so", "build/imaging"]
build_dir = "build"
build = "cmake -S . -B build && cmake --build build"
run = "build/imaging jobs/{job}.job build/out.pgm"
outputs = ["build/out.pgm"]
kernel = "blur_kernel"
approve = false
"""


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
        try:
            return json.loads(said)
        except ValueError:
            return None


def task(folder: Path, production: str, observed: dict[str, Any]) -> None:
    """Write the task: the kernel as it stands in production, timed with the sizes that were observed."""
    folder.mkdir(parents=True)
    for name in ("task.toml", "kernel.h"):
        shutil.copy(HERE / name, folder)
    begin, end = production.index("__global__ void blur_kernel"), production.index("__global__ void sharpen_kernel")
    launch = (HERE / "launch.cu").read_text()
    (folder / "kernel.cu").write_text(f'#include "kernel.h"\n\n{production[begin:end].rstrip()}\n{launch}')
    sizes = sorted({(one["width"], one["height"], one["radius"]) for one in observed["launches"]})
    cases = "".join(f'{{"observed_{at}", {{{w}, {h}, {r}}}}},\n    ' for at, (w, h, r) in enumerate(sizes))
    (folder / "harness.cu").write_text((HERE / "harness.cu").read_text().replace("/* OBSERVED */\n    ", cases))


def candidates(folder: Path, production: str) -> None:
    """Write the prepared candidates: the same work written otherwise, and sums of rows first."""
    begin, end = production.index("__global__ void blur_kernel"), production.index("__global__ void sharpen_kernel")
    kernel, launch = production[begin:end].rstrip(), (HERE / "launch.cu").read_text()
    same = kernel.replace("int sum = 0;", "int sum = 0; // as before")
    for name, text in (("0-same", same), ("1-rows", (HERE / "rows.cu").read_text())):
        (folder / name).mkdir(parents=True)
        (folder / name / "kernel.cu").write_text(f'#include "kernel.h"\n\n{text}\n{launch}')


async def walk(home: Path, out: Path) -> dict[str, Any]:
    """Go the whole way in a folder of its own; return what came of each step."""
    (home / ".ssh").mkdir()
    os.environ["HOME"] = str(home)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    way, root = Way(home, out), home / "imaging"
    shutil.copytree(ROOT / "examples" / "cmake-imaging", root)
    production = (root / SOURCE).read_text()
    way.workspace.tasks.mkdir(parents=True)
    way.workspace.config.write_text(
        f'[run]\nhost = "{ALIAS}"\nprofile = "never"\n'
        f'[hosts.{ALIAS}]\ntransport = "ssh"\naddress = "{ALIAS}"\nleases = "{home}/leases"\n'
        + "".join(PROJECT.format(job=job, host=ALIAS, root=root) for job in ("small", "large"))
    )
    async with served(home / ".ssh"):
        await way.kpd("check", "project", "check", "large", "--normalise", "--json")
        for job in ("small", "large"):
            await way.kpd(f"observe_{job}", "project", "observe", job, "--json")
        seen = way.workspace.root / "refs" / "large.observed.json"
        if seen.exists():
            shutil.copy(seen, out)
        observed = json.loads(seen.read_text()) if seen.exists() else {"launches": [_as_the_job_says()]}
        task(way.workspace.tasks / "blur", production, observed)
        candidates(home / "candidates", production)
        try:
            await way.kpd(
                "run", "run", "blur", "--agent", f"script:{home}/candidates", "--iterations", "2", "--wait"
            )  # fmt: skip
            log = await way.kpd("log", "log", "r1", "--json")
            small = await way.kpd("deploy_small", "project", "deploy", "small", "r1", "--json")
            as_it_was = (root / SOURCE).read_text() == production
            large = await way.kpd("deploy_large", "project", "deploy", "large", "r1", "--json")
            in_place = "BLUR_REACH" in (root / SOURCE).read_text()
            await way.kpd("history", "project", "history", "large")
            back = await way.kpd("rollback", "project", "rollback", "large", "--json")
        finally:
            await way.kpd("stop", "shutdown", "--now")
    return {
        "steps": way.steps, "log": log, "small": small, "small_as_it_was": as_it_was, "large": large,
        "large_in_place": in_place, "rolled_back": back, "as_it_was": (root / SOURCE).read_text() == production,
    }  # fmt: skip


def _as_the_job_says() -> dict[str, int]:
    """Return the large job's launch, where no CUPTI could observe it."""
    rows = (ROOT / "examples/cmake-imaging/jobs/large.job").read_text().splitlines()
    found = dict(row.split() for row in rows if not row.startswith("#"))
    return {name: int(found[name]) for name in ("width", "height", "radius")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=None, help="keep what each command has said here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kpd-deploy-") as scratch:
        out = args.out or Path(scratch) / "out"
        out.mkdir(parents=True, exist_ok=True)
        home = Path(scratch) / "home"
        home.mkdir()
        found = asyncio.run(walk(home, out))
    text = json.dumps(found, indent=2)
    if args.out:
        (args.out / "deploy_gpu.json").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
