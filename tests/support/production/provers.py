"""A small production program, which a shell builds from one source, and the place where kpd may change it."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from kpd.hosts.host import Host
from kpd.hosts.link import Transport
from kpd.production.place import ProjectPlace
from kpd.production.program import sources
from kpd.workspace.projects import ProjectConfig
from tests.support.hosts.local import host_at
from tests.support.patience import PATIENCE_S

SOURCE = b"int twice(int x) { return 2 * x; }\n"
FASTER = b"int twice(int x) { return x + x; }\n"
BUILD = "mkdir -p target && { echo built; cat src/kernel.c; } > target/new && mv target/new target/prover"


def made(root: Path, source: bytes = SOURCE, build: str = BUILD, **more: Any) -> ProjectConfig:
    """Write the program and build it once; return its table of config.toml."""
    (root / "src").mkdir(parents=True)
    (root / "src" / "kernel.c").write_bytes(source)
    (root / "notes.txt").write_text("mine\n")
    subprocess.run(BUILD, shell=True, cwd=root, check=True)
    (root / "target" / "prover").chmod(0o755)
    given = {"host": "local", "build_dir": "target", "run": "target/prover", "kernel": "twice", **more}
    return ProjectConfig(root=str(root), files=("src/kernel.c",), binary=("target/prover",), build=build, **given)


def content(root: Path) -> tuple[bytes, bytes]:
    """The program's source and its binary."""
    return (root / "src" / "kernel.c").read_bytes(), (root / "target" / "prover").read_bytes()


def built(source: bytes) -> tuple[bytes, bytes]:
    """A source beside the binary that is built of it."""
    return source, b"built\n" + source


@contextlib.asynccontextmanager
async def place_at(
    project: ProjectConfig, folder: Path, transport: Transport | None = None
) -> AsyncIterator[ProjectPlace]:
    leases = folder / "leases"  # of its own: nothing here waits for what else measures on this machine
    leases.mkdir(exist_ok=True)
    async with host_at(folder / "host", transport, leases=str(leases)) as host:
        yield place_on(host, project, folder)


def place_on(host: Host, project: ProjectConfig, folder: Path) -> ProjectPlace:
    return ProjectPlace(host, project, places=str(folder / "places"))


class FarSide:
    """The program on the host, asked without kpd, as by hand."""

    def __init__(self, project: ProjectConfig, folder: Path) -> None:
        self.project = project
        self.places = folder / "places"
        self.program = folder / "program"
        for name, data in sources().items():
            path = self.program / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def popen(self, op: str, job: Path | None = None, **given: Any) -> "subprocess.Popen[str]":
        """Start a request; `job` is the folder of the job in which it runs."""
        asked = json.dumps({"root": self.project.root, "places": str(self.places), **given})
        command = [sys.executable, "-I", "-S", "-B", str(self.program), op, asked]
        env = {**os.environ, **({"KPD_JOB": str(job)} if job is not None else {})}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)

    def ask(self, op: str, **given: Any) -> dict[str, Any]:
        process = self.popen(op, **given)
        answer: dict[str, Any] = json.loads(process.communicate(timeout=PATIENCE_S)[0])
        return answer

    def state(self) -> str:
        """The state of the last change as its record has it: to ask starts a Python, and may bring it about."""
        found = [json.loads(path.read_text())["state"] for path in self.places.glob("*/change.json")]
        return str(found[0]) if found else ""

    def begin(self, id: str, lease_s: float) -> dict[str, Any]:
        project = self.project
        return self.ask(
            "begin", id=id, files=project.files, binary=project.binary, build_dir=project.build_dir, holder="a test",
            purpose="to see", lease_s=lease_s,
        )["ok"]  # fmt: skip
