"""What one command of the runner works with: the task's harness, workers with kernels, the rule of comparison."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import shutil
import sys
import tempfile
import zipfile
from collections import ChainMap
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from pathlib import Path

from kpd.measure.python.host import heap, kept, probes
from kpd.measure.python.host.ahead import computed
from kpd.measure.python.host.cores import NONE, cores, move
from kpd.measure.python.host.device import CudaDevice, DeviceError
from kpd.measure.python.host.environment import on_gpu
from kpd.measure.python.host.harness import KINDS, CaseInputs, HarnessError, PythonHarness
from kpd.measure.python.host.judging import Judging, judged
from kpd.measure.python.host.marks import Marks
from kpd.measure.python.host.problems import Failed, KernelProblem, NotStarted, blamed, leaves, problem_of
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.rules import rule_of
from kpd.measure.python.host.secret import SecretRandom, line
from kpd.measure.python.host.spare import Spare
from kpd.measure.python.host.truths import Oracle, Referee
from kpd.measure.python.host.turns import MEASURED, STARTED, ContestTurn
from kpd.measure.python.host.watched import threads

SHARED = 4 << 30  # bytes for inputs, as many as a job may write to one file; what is not used takes no memory
GOES_ON = ("wrong", "raised", "input")  # problems of a kernel after which its worker can be asked again
AUDIT_MS = 10_000.0
MOST_NAMED = 3
EXPLAINED = 2  # processes of a contest that measure, besides, how long a call takes on the device alone
THREADS, THREADS_OF_A_CPU = 64, 4  # that a kernel on a CPU may start while it is imported
LOAD_MS = 300_000.0  # for a kernel to be imported: it may compile


class RunnerCommand:
    """A command's settings, harness and workers. With an `order` it is a process of a contest, or what comes before.

    `device` is that of a GPU, if there is a context already.
    """

    def __init__(
        self,
        settings: dict[str, str],
        marks: Marks,
        spares: list[Spare],
        order: ContestTurn | None = None,
        device: CudaDevice | None = None,
    ) -> None:
        heap.keep()  # whatever runs kernels has been forked
        self.settings = settings
        self.spares = spares
        self.order = order
        self.measured = False  # in its turn
        self.gpu = on_gpu()
        self.ahead = self.gpu or order is not None
        self.explains = self.gpu and (order is None or order.number < EXPLAINED)
        self.harness = PythonHarness()
        self.place = secrets.randbits(62)  # where the memory of workers begins: the same in both of a contest
        self.kinds = self.harness.kinds = tuple(settings.get("inputs", ",".join(KINDS)).split(","))
        self.rule = rule_of(settings)
        self.marks = Marks(marks)
        self.workers: list[Worker] = []
        self.owns: Worker | None = None
        self.device = device
        self.probes: dict[str, list[int]] = {"a": [], "b": []}
        self.folders: list[str] = []
        self.compiled: dict[str, str] = {}
        self.truth = self._truth()
        self.later = self.ahead and self.truth.forks
        self.judging = Judging(partial(judged, self.truth, self.rule), self.later)

    def _truth(self) -> Oracle | Referee:
        """Start the process of the task's own kernel before any candidate's, if its results are the truth."""
        if "truth" not in self.settings:
            return Oracle(self.harness)
        try:
            return Referee(self.harness, self.worker({"b": self.settings["truth"]}))
        except KernelProblem as err:
            raise HarnessError(f"kernel.py: the task's own kernel cannot be loaded: {err}") from err

    def rng(self) -> SecretRandom:
        """Return what draws by the secret seed, which is the first line of stdin where no setting tells it."""
        return SecretRandom(int(self.settings.get("seed") or line() or "0", 16))

    def drawing(self, calls: Iterable[tuple[str, str, int]], rng: random.Random) -> Generator[CaseInputs]:
        """Draw inputs that nobody has seen, for so many calls of a case with a kind of inputs. Raises HarnessError.

        On a GPU, and in a process of a contest that was forked, children draw them, ahead of time. The first ones of a
        case tell how many elements its outputs have.
        """
        known, seeded = set(self.harness.counts), []
        for case, kind, count in calls:
            counted = self.truth.forks and case not in known
            seeded.append((case, [rng.getrandbits(62) for _ in range(count)], kind, counted))
            known.add(case)
        drawn = computed((partial(self.harness.drawn, *one) for one in seeded), self.ahead)
        return self._waited(drawn, [(case, kind) for case, _, kind, _ in seeded])

    def _waited(self, drawn: Generator[CaseInputs], calls: list[tuple[str, str]]) -> Generator[CaseInputs]:
        with contextlib.closing(drawn):
            for case, kind in calls:
                with self.marks.of("draw"):
                    found = next(drawn)
                    if isinstance(self.truth, Referee):
                        found = found._replace(counts=self.truth.counts(case, kind, found.sets[0]))
                    else:
                        found = found._replace(counts=self.harness.counts.setdefault(case, found.counts))
                yield found

    def worker(self, kernels: dict[str, str]) -> Worker:
        """Start a worker that has loaded these kernels, by side and in this order. Raises KernelProblem, NotStarted."""
        libraries = self.harness.libraries + (["torch"] if self.gpu and "torch" not in self.harness.libraries else [])
        folders = [(side, self.unpacked(path)) for side, path in kernels.items()]
        paths = [path for path in sys.path if path != self.harness.place]  # a kernel cannot import the judge
        writes = [str(Path.cwd() / self.compiled[folder]) for _, folder in folders if folder in self.compiled]
        first_ms = float(self.settings.get("first_ms", "0"))
        worker = Worker(self.spares.pop(), SHARED, libraries, writes, self.gpu, paths, self.place, first_ms)
        self.workers.append(worker)
        if self.gpu:
            worker.lend(self._device())
        worker.start()
        side = folders[0][0]
        try:
            for side, folder in folders:
                entry, compiled = self.harness.entry, self.compiled.get(folder, "")
                worker.ask(LOAD_MS, what="load", side=side, folder=folder, entry=entry, compiled=compiled)
            begun, worker.threads = worker.threads, len(threads(worker.pid))
        except Failed as err:
            problem = problem_of(err, side)
            if err.kind == "raised":
                problem.report["kind"] = "load"
            raise problem from err
        most = THREADS + THREADS_OF_A_CPU * (os.cpu_count() or 1)
        if not self.gpu and worker.threads - begun > most:
            raise KernelProblem("load", side, f"it starts {worker.threads - begun} threads, more than {most}")
        return worker

    def own(self) -> Worker | None:
        """Return the worker of the task's own kernel; None where no setting says which that is.

        It is started once, and anew where it has ended or hangs, if there is a spare. Raises KernelProblem, NotStarted.
        """
        path = self.settings.get("own") or self.settings.get("baseline")
        if self.owns is not None and self.spares and not (self.owns.ended is None and self.owns.stopped):
            self.owns.kill()
            self.owns = None
        if self.owns is None and path:
            self.owns = self.worker({"b": path})
        return self.owns

    def _device(self) -> CudaDevice:
        """Return the device, of which a context is made once. Raises NotStarted and DeviceError."""
        if self.device is None:
            with self.marks.of("context"):
                self.device = CudaDevice()
            try:
                self.device.handle(self.device.waste)
            except DeviceError as err:
                what = "the GPU's memory cannot be shared with another process, which kernels in Python need"
                raise NotStarted(f"{what}: {err}; is this WSL, or has the driver no CUDA IPC?") from err
        return self.device

    def both(self, paths: dict[str, str], first: str, apart: bool = False) -> dict[str, Worker]:
        """Start what has loaded the kernels of both sides, `first` before the other one. Raises as `worker` does.

        What is done with both is done in the order that is returned: who comes first finds another interpreter.
        Each has a process of its own, so that none can reach the other. On a GPU they share one, unless they are to be
        `apart`: two contexts take turns on the device.
        """
        order = [first, *({"a", "b"} - {first})]
        if self.gpu and not apart:
            found = dict.fromkeys(order, self.worker({side: paths[side] for side in order}))
        else:
            found = {side: self.worker({side: paths[side]}) for side in order}
        alike(found)
        self.started()
        return found

    def started(self) -> None:
        """Tell that kernels are loaded, on a GPU, where others may make their contexts now."""
        if self.gpu and self.order:
            self.order.tell(STARTED)

    def probed(self, side: str, ns: int) -> None:
        """Note for how long this process waited for a GPU after a batch; 0 where it did not."""
        if ns:
            self.probes[side].append(ns)

    def refuse_early(self) -> bool:
        """Refuse a candidate whose answers come before the device is done. Raises KernelProblem.

        Return whether the device was busy after the incumbent's, too: then it is with other work.
        """
        told = probes.tell(self.probes, min((worker.probe_ns for worker in self.workers), default=0))
        if told == "early":
            raise KernelProblem("raised", "b", "it answers before the GPU has done its work")
        return told == "busy"

    def audit(self, worker: Worker) -> None:
        """Refuse a candidate that has changed what other code of its program uses, or has left threads, on a GPU.

        What its own process says of it is worth little against one that means to deceive. Raises KernelProblem.
        """
        with blamed("b"):
            said = worker.ask(AUDIT_MS, what="audit")
            if said["changed"]:
                raise KernelProblem(
                    "raised", "b", f"it replaces or changes {', '.join(map(str, said['changed'][:MOST_NAMED]))}"
                )
            if said["threads"] and self.gpu:  # without one they are stopped between calls
                raise KernelProblem("raised", "b", leaves(int(said["threads"])))

    def unpacked(self, path: str) -> str:
        """Unpack a kernel's files into a folder of the job, whose name does not tell a side."""
        folder = tempfile.mkdtemp(prefix="kernel", dir=Path.cwd())
        self.folders.append(folder)
        if self.gpu:
            self.compiled[folder] = kept.folder(path)
            Path(self.compiled[folder]).mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        return folder

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Let only one process of a contest run the block at a time. Results are judged while the next one does."""
        if self.order is None:
            yield
            return
        with self.marks.of("turn"):
            self.order.wait()
        kept = cores() if self.gpu else NONE  # on a CPU the job has those that it was given
        for pid in (os.getpid(), *(worker.pid for worker in self.workers)):
            move(pid, kept.measuring)
        yield
        move(os.getpid(), kept.others)
        self.order.tell(MEASURED)
        self.measured = True

    def wait_to_report(self) -> None:
        """Wait until those processes have reported that measured before this one."""
        if self.measured and self.order is not None:
            self.order.wait()

    def spent(self) -> dict[str, float]:
        """Return where the time has gone, in seconds by part: its own parts, and the requests to workers."""
        return dict(ChainMap(self.marks.rounded(), *(worker.marks.rounded() for worker in self.workers)))

    def end(self) -> None:
        """End the workers and spares, and remove what they loaded."""
        for worker in self.workers:
            worker.end()
        for spare in self.spares:
            spare.end()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


def alike(workers: dict[str, Worker]) -> None:
    """Have requests to both cost the same: what they differ by is chance."""
    cost = min(worker.idle for worker in workers.values())
    for worker in workers.values():
        worker.idle = cost
