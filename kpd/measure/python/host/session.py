"""What one command of the runner works with: the task's harness, workers with kernels, the rule of comparison."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kpd.measure.python.host.calling import CallSets, KernelProblem, problem_of
from kpd.measure.python.host.compare import CompareRule
from kpd.measure.python.host.harness import KINDS, Inputs, PythonHarness
from kpd.measure.python.host.process import Failed, Worker
from kpd.measure.python.host.spare import Spare

SHARED = 96 << 20  # bytes of inputs in the memory that is shared, at the least
ON_GPU = 1 << 30
LOAD_MS = 300_000.0  # for a kernel to be imported: it may compile


def on_gpu() -> bool:
    """Return whether kernels run on a GPU."""
    return bool(os.environ.get("CUDA_VISIBLE_DEVICES"))


class RunnerCommand:
    """A command's settings, harness and workers."""

    def __init__(self, settings: dict[str, str], spares: list[Spare]) -> None:
        self.settings = settings
        self.spares = spares
        self.gpu = on_gpu()
        self.harness = PythonHarness()
        self.kinds = tuple(settings.get("inputs", ",".join(KINDS)).split(","))
        self.rule = self._rule()
        self.workers: list[Worker] = []
        self.folders: list[str] = []
        self.compiled: dict[str, str] = {}

    def _rule(self) -> CompareRule:
        kind, _, steps = self.settings.get("compare", "elementwise").partition(":")
        bounds = json.loads(Path(self.settings["bounds"]).read_text()) if "bounds" in self.settings else {}
        rtol, atol = (float(self.settings.get(name, "0")) for name in ("rtol", "atol"))
        return CompareRule(kind, rtol, atol, int(steps or 0), self.settings.get("nonfinite") == "propagate", bounds)

    def seed(self) -> int:
        """Read the secret seed."""
        return int(sys.stdin.readline().strip() or "0", 16)

    def worker(self, kernels: dict[str, str]) -> Worker:
        """Start a worker that has loaded these kernels, by side and in this order. Raises KernelProblem, NotStarted."""
        sizes = [self.harness.draw(dims, 1, "normal").size for dims in self.harness.cases.values()]
        size = max(ON_GPU if self.gpu else SHARED, 4 * max(sizes))
        libraries = self.harness.libraries + (["torch"] if self.gpu and "torch" not in self.harness.libraries else [])
        folders = [(side, self._unpacked(path)) for side, path in kernels.items()]
        paths = [path for path in sys.path if path != self.harness.place]  # a kernel cannot import the judge
        worker = Worker(self.spares.pop(), size, libraries, True, self.gpu, paths)
        self.workers.append(worker)
        worker.start()
        side = folders[0][0]
        try:
            for side, folder in folders:
                worker.ask(
                    LOAD_MS,
                    what="load",
                    side=side,
                    folder=folder,
                    entry=self.harness.entry,
                    compiled=self.compiled.get(folder, ""),
                )
            worker.threads = worker.count()
        except Failed as err:
            problem = problem_of(err, side)
            if err.kind == "raised":
                problem.report["kind"] = "load"
            raise problem from err
        return worker

    def _unpacked(self, path: str) -> str:
        """Unpack a kernel's files into a folder of the job, whose name does not tell a side."""
        folder = tempfile.mkdtemp(prefix="kernel", dir=Path.cwd())
        self.folders.append(folder)
        if self.gpu:
            self.compiled[folder] = str(Path.cwd() / "compiled" / _digest(path))
            Path(self.compiled[folder]).mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        return folder

    def end(self) -> None:
        """End the workers and spares, and remove what they loaded."""
        for worker in self.workers:
            worker.end()
        for spare in self.spares:
            spare.end()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class WorkerCase:
    """What is to be called: a case with one kind of inputs, in a worker that has loaded the kernels.

    A call may take `limit_ms`; `rng` draws what no kernel may know.
    """

    session: RunnerCommand
    worker: Worker
    case: str
    kind: str
    rng: random.Random
    limit_ms: float

    def calls(self) -> CallSets:
        """Return calls of this case, without inputs yet."""
        return CallSets(self.session.harness, self.worker, self.case, self.dims, self.kind)

    def draw(self) -> Inputs:
        """Draw inputs that nobody has seen."""
        return self.session.harness.draw(self.dims, self.rng.getrandbits(62), self.kind)

    @property
    def dims(self) -> dict[str, int]:
        return self.session.harness.cases[self.case]

    def told(self, problem: KernelProblem, when: str = "check") -> KernelProblem:
        """Return the problem with its case, its kind of inputs and its moment."""
        problem.report.update(case=self.case, distribution=self.kind, when=when)
        return problem


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:32]
