"""A session's place in this process: a real log and real files, and a bench that answers what a test wrote down."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import cast

from kpd.agents.agent import Agent
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.attempt import Attempt
from kpd.engine.control import Control
from kpd.engine.tools.serving import serve_session
from kpd.engine.turns import Turns, claim_of
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.job import Leave, device_claim, job_times, never
from kpd.hosts.link import Transport
from kpd.measure.bench import Bench, BuiltObject, CheckFailed, CheckPassed, FindObject, Say
from kpd.measure.compiling import BuildError
from kpd.measure.samples import ProcessSample
from kpd.measure.score import CaseWork
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.defects import Crashed, WrongResult
from kpd.model.hosts import Device, HostCard
from kpd.model.iteration import Override
from kpd.model.kinds import Told
from kpd.model.profiles import CaseTime, Finding
from kpd.model.state import TaskCard
from kpd.model.trials import TrialBudget
from kpd.model.verdicts import Gain, Verdict
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder
from kpd.workspace.task import load_task
from tests.places import DATA
from tests.support.measure.canned import Canned

KERNEL = (DATA / "tasks" / "scale" / "kernel.c").read_bytes()
FASTER = Verdict("faster", Gain(50.0, 48.0, 52.0), 7, True, "confirmed", 1.0)
FOUND = Finding("call_in_loop", "high", "the loop calls something", "do it once", {"ipc": 0.5})
CPU = Device("cpu", "cpu", "cpu 1")
CASES = (CaseTime("small", 10.0, 20.0, 50.0, 8.0, 1.0, 4.0, low_pct=48.0, high_pct=52.0),)
FACTS = (
    e.DaemonStarted("0.1.0", 77, "/somewhere"),
    e.TaskLoaded(TaskCard("scale", "y = 2 x", "c", ("kernel.c", "build.json"))),
    e.HostProbed(HostCard("local", "local", device="a CPU")),
    e.RunQueued("r1", "scale", "desk", "local", Budget()),
    e.RunStarted("r1", "cpu 1", "local", "cpu"),
    e.IterationStarted("r1", 0, "baseline", 0),
    e.Timed("r1", 0, 0.5, 0.01, 20.0, 5, CASES),
    e.Judged("r1", 0, 0.1, 0.1, Verdict("same", Gain(0.0, -0.2, 0.2), 7, False, "same", 1.0)),
    e.Accepted("r1", 0, {"kernel.c": "00"}),
    e.IterationEnded("r1", 0, "baseline", Told("")),
    e.IterationStarted("r1", 1, "desk", 0),
    e.Proposed("r1", 1, 0.1, 0.1, {"kernel.c": "11"}, "half as often"),
    e.Timed("r1", 1, 0.5, 0.01, 10.0, 7, CASES),
    e.Judged("r1", 1, 0.1, 0.1, FASTER),
    e.Profiled("r1", 1, 0.1, 0.1, {"ipc": 0.5, "call_us": 10.0, "call_us[small]": 10.0}),
    e.Explained("r1", 1, 0.1, 0.1, "arithmetic: 40 % of the roofline", (FOUND,)),
    e.Accepted("r1", 1, {"kernel.c": "11"}, Override("ada")),
    e.IterationEnded("r1", 1, "accepted", Told("")),
    e.IterationStarted("r1", 2, "desk", 1),
    e.StepStarted("r1", 2, "propose", 1, "thinks"),
)


@dataclass
class TrialBench(Canned):
    """A bench for the task `scale`: REPEAT word does not build, REPEAT 0 is wrong, and REPEAT 3 troubles the host."""

    built: list[str] = field(default_factory=list)
    device: Device = CPU
    checks_alone: bool = False
    inspects_beside: bool = True
    process_s: float = 0.0
    asking: asyncio.Event = field(default_factory=asyncio.Event)
    peaks: tuple[float | None, float | None] = (12.0, 90.0)
    work: Mapping[str, CaseWork] = field(default_factory=dict)

    async def stage(self, files: Mapping[str, bytes]) -> str:
        return files["kernel.c"].decode().partition("define REPEAT ")[2].partition("\n")[0]

    async def build(self, tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        self.built.append(tree)
        if tree == "word":
            raise BuildError("'word' undeclared", "kernel.c:5: error: 'word' undeclared", "semantic")
        return BuiltObject(tree, False, "-O2", 0, "")

    async def time(
        self, incumbent: str, candidate: str, job: str, first: int, processes: int, say: Say, quick: int = 0,
        leave: Leave = never,
    ) -> AsyncGenerator[ProcessSample]:  # fmt: skip
        self.asking.set()
        async for sample in super().time(incumbent, candidate, job, first, processes, say, quick, leave):
            await asyncio.sleep(self.process_s)
            yield sample

    async def check(
        self, built: str, job: str, say: Say, incumbent: FindObject | None = None, quick: int = 0
    ) -> CheckPassed:
        if built == "0":
            raise CheckFailed(WrongResult(Crashed(11)))
        if built == "3":
            raise HostError("busy", "local: something else runs")
        return CheckPassed(4, 0.1, "")


class Place:
    """A workspace with a run whose third iteration waits for its agent, and the attempt at that."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)
        for folder in (self.workspace.private, self.workspace.memory, self.workspace.skills):
            folder.mkdir(parents=True)
        self.store = EventStore(self.workspace.store)
        self.journal = EventJournal(self.store)
        for fact in FACTS:
            self.journal.emit(fact)
        for number in (0, 1):
            folder = IterationFolder(self.workspace.iteration_folder("scale", "r1", number))
            folder.write_candidate({"kernel.c": KERNEL, "build.json": b"{}"})
            folder.write("diff.patch", "--- a/kernel.c\n+++ b/kernel.c\n" if number else "")
        self.bench = TrialBench(cases=("small",))
        self.clean: Callable[[str], str] = str
        self.task = load_task(DATA / "tasks" / "scale")
        self.attempt = Attempt(
            self.workspace, Config(), self.journal, Control(self.journal, "r1"), _host(root), cast(Bench, self.bench),
            cast(Agent, None), self.task, self.task.folder, "r1", 2, prepare=self._prepared,
        )  # fmt: skip
        self.tree = root / "tree"
        self.tree.mkdir()
        (self.tree / "kernel.c").write_bytes(KERNEL)
        (self.tree / "build.json").write_text("{}")

    async def _prepared(self) -> Bench:
        return cast(Bench, self.bench)

    def write(self, repeat: object) -> None:
        self.tree.joinpath("kernel.c").write_bytes(KERNEL.replace(b"REPEAT 8", f"REPEAT {repeat}".encode()))

    def serve(self, trials: int = 4, device_s: float = 60.0) -> AbstractAsyncContextManager[Path]:
        """Serve the session, for a test's own task."""
        device_claim.set(claim_of(Turns(self.journal), self.journal, "r1"))
        job_times.set([])
        return serve_session(self.attempt, self.workspace.root, self.tree, TrialBudget(trials, device_s), self.clean)

    def facts(self, kind: type[e.Fact]) -> list[e.Fact]:
        return [event.fact for event in self.journal.events("r1", 2) if isinstance(event.fact, kind)]


def _host(root: Path) -> Host:
    return Host("local", PurePosixPath(root / "host"), cast(Transport, None))
