"""A small program whose build is a shell script: it sleeps, longer with one kernel than with another."""

import subprocess
from pathlib import Path
from typing import Any

import msgspec

from kpd.production.deploy.deploy import Deploying, Telling
from kpd.production.deploy.winner import AcceptedKernel
from kpd.production.place import ProjectPlace, new_id
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.projects import ProjectConfig

PATH = "src/kernel.c"
SLOW = "int work(int x) { return x + x; }\n"
FAST = "int work(int x) { return 2 * x; }\n"
BUILD = """set -e
mkdir -p target
if grep -q broken src/kernel.c; then exit 3; fi
{
    echo '#!/bin/sh'
    if grep -q 'x + x' src/kernel.c; then echo 'sleep 0.2'; fi
    if grep -q slower src/kernel.c; then echo 'sleep 0.2'; fi
    if grep -q fails src/kernel.c; then echo 'exit 7'; fi
    if grep -q wrong src/kernel.c; then echo 'echo wrong > target/out'; else echo 'echo right > target/out'; fi
    sed 's,/[*].*[*]/ ,,; s,^,# ,' src/kernel.c
} > target/new
chmod +x target/new
mv target/new target/program
"""
"""The program sleeps 0.2 s with the slow kernel. Words in a kernel slow it down, or break its build, run or result."""


def made(root: Path, source: str = SLOW, build: str = BUILD, **more: Any) -> ProjectConfig:
    """Write the program and build it once; return its table of config.toml."""
    (root / "src").mkdir(parents=True)
    (root / PATH).write_text(source)
    subprocess.run(build, shell=True, cwd=root, check=True)
    given: dict[str, Any] = {"host": "local", "build_dir": "target", "run": "target/program", "kernel": "work", **more}
    given = {"outputs": ("target/out",), **given}
    return ProjectConfig(root=str(root), files=(PATH,), binary=("target/program",), build=build, **given)


def content(root: Path) -> tuple[str, str]:
    """The program's source and its binary."""
    return (root / PATH).read_text(), (root / "target" / "program").read_text()


def accepted(new: str = FAST, sure_pct: float = 50.0, old: str = SLOW) -> AcceptedKernel:
    """A kernel as if a run had accepted it with this gain."""
    return AcceptedKernel("a-run", 1, {"k.c": old.encode()}, {"k.c": new.encode()}, sure_pct)


def deploying(place: ProjectPlace, folder: Path, won: AcceptedKernel, telling: Telling, lease_s: float) -> Deploying:
    opened = DeploymentJournal(folder).begin(won.run, won.iteration, "a test", new_id())
    return Deploying(place, opened, telling, lease_s)


def read(folder: Path) -> ProjectConfig:
    """Read the project that a process of its own was given."""
    return msgspec.convert(msgspec.json.decode((folder / "project.json").read_bytes()), ProjectConfig)
