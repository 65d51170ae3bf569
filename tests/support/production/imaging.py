"""The example of a C++ program as a project of its own, with candidates for the loop that it runs on the CPU."""

import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from kpd.production.deploy.deploy import Deploying, Telling
from kpd.production.deploy.winner import AcceptedKernel
from kpd.production.place import ProjectPlace, new_id
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.projects import ProjectConfig
from tests.places import ROOT

SOURCE = "src/pipeline.cpp"
LOOPS = """        for (int x = 0; x < w; ++x) {
            int sum = 0;
            for (int dy = -r; dy <= r; ++dy)
                for (int dx = -r; dx <= r; ++dx)
                    sum += in[std::clamp(y + dy, 0, h - 1) * w + std::clamp(x + dx, 0, w - 1)];
"""
COLUMNS = """        std::vector<int> column(w);
        for (int dy = -r; dy <= r; ++dy)
            for (int x = 0; x < w; ++x) column[x] += in[std::clamp(y + dy, 0, h - 1) * w + x];
        for (int x = 0; x < w; ++x) {
            int sum = 0;
            for (int dx = -r; dx <= r; ++dx) sum += column[std::clamp(x + dx, 0, w - 1)];
"""
"""Sums of columns first: far less work for the same result."""


SLOW_START = """    static volatile unsigned turns = 0;
    while (turns < 1000000000u) turns = turns + 1;
    int w = image.width, h"""
"""Does something once in a process, which only a program with many calls makes good."""


def made(root: Path, source: str | None = None, **more: Any) -> ProjectConfig:
    """Copy the example, build it, and return its table with the loop on the CPU as its kernel."""
    shutil.copytree(ROOT / "examples" / "cmake-imaging", root)
    if source is not None:
        (root / SOURCE).write_text(source)
    table = (root / "README.md").read_text().partition("```toml\n")[2].partition("```")[0].replace("HERE", str(root))
    project = msgspec.convert(tomllib.loads(table)["project"]["imaging"], ProjectConfig)
    project = replace(project, files=(SOURCE,), kernel="run_on_cpu", build="cmake -S . -B build && cmake --build build")
    subprocess.run(project.build, shell=True, cwd=root, check=True, stdout=subprocess.DEVNULL)
    return replace(project, **more)


def files(root: Path) -> dict[str, bytes]:
    """What kpd may change of the program: its source and its binaries."""
    return {path: (root / path).read_bytes() for path in (SOURCE, "build/libimaging.so", "build/imaging")}


def candidate(old: str, new: str, sure_pct: float = 50.0) -> AcceptedKernel:
    """A winner that has this text of the source in place of another, as if a run had accepted it with this gain."""
    text = (ROOT / "examples" / "cmake-imaging" / SOURCE).read_text()
    assert old in text
    return AcceptedKernel("a-run", 1, {"k.cpp": text.encode()}, {"k.cpp": text.replace(old, new).encode()}, sure_pct)


def alone() -> AcceptedKernel:
    """A winner that is faster from its second call on."""
    found = candidate(LOOPS, COLUMNS)
    text = found.candidate["k.cpp"].decode().replace("    int w = image.width, h", SLOW_START)
    return replace(found, candidate={"k.cpp": text.encode()})


def deploying(
    place: ProjectPlace, folder: Path, winner: AcceptedKernel, telling: Telling, lease_s: float = 60.0
) -> Deploying:
    opened = DeploymentJournal(folder).begin(winner.run, winner.iteration, "a test", new_id())
    return Deploying(place, opened, telling, lease_s)
