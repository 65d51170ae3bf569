"""The command line against a real server and a real log, which the test writes."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.server import Server
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.daemon.views import answer
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.kinds import Told
from kpd.model.profiles import CaseTime
from kpd.model.verdicts import Gain, Verdict
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.daemon.forked import run_kpd
from tests.support.patience import PATIENCE_S

WIDE = CaseTime("wide", 10.0, 20.0, 50.0, low_pct=48.0, high_pct=52.0)
FASTER = Verdict("faster", Gain(5.0, 4.0, 6.0), 5, True, "told", told="faster beyond doubt")


@dataclass
class Served:
    """A workspace whose log the test writes, behind the daemon's own server; commands are recorded."""

    ws: Workspace
    journal: EventJournal
    commands: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    refusal: DaemonError | None = None
    refused: set[str] = field(default_factory=set)
    looks: list[Any] = field(default_factory=list)

    async def query(self, what: str, args: dict[str, Any]) -> Any:
        return self.looks if what == "glance" else answer(what, args, Sources(self.journal.state, self.ws))

    async def command(self, verb: str, args: dict[str, Any], by: str) -> Any:
        if self.refusal is not None:
            raise self.refusal
        if args.get("run") in self.refused:
            raise DaemonError("refused", f"{args['run']} has not ended", "kpd stop ends it")
        self.commands.append((verb, args))
        if verb == "run":
            self.queue("r1")
            return {"run": "r1"}
        return {"run": "r1", "note": 4, "iteration": 1, "count": 2, "bytes": 1 << 20, "mib": "1.0"}

    def queue(self, run: str) -> None:
        self.journal.emit(e.RunQueued(run, "scale", "sweep", "local", Budget()))

    def iterate(
        self, run: str, number: int, agent: str, outcome: Any, memo: str = "", verdict: Verdict | None = None
    ) -> None:
        """One iteration from its start to its end."""
        own = (run, number, 0.1, 0.01)
        self.journal.emit(e.IterationStarted(run, number, agent, 0))
        self.journal.emit(e.Proposed(*own, {"kernel.c": "ab"}, memo))
        self.journal.emit(e.Timed(*own, 20.0 - number, 5, (WIDE,)))
        self.journal.emit(e.Judged(*own, verdict or FASTER))
        if outcome in ("accepted", "baseline"):
            self.journal.emit(e.Accepted(run, number, {"kernel.c": "ab"}))
        self.journal.emit(e.IterationEnded(run, number, outcome, Told("because")))

    async def start(self, *args: str) -> asyncio.subprocess.Process:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kpd.cli.main", "-w", str(self.ws.root), *args, env=env,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip

    async def kpd(self, *args: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a command that ends by itself."""
        done = await asyncio.to_thread(run_kpd, "-w", str(self.ws.root), *args, env=os.environ)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr


@asynccontextmanager
async def serving(ws: Workspace) -> AsyncIterator[Served]:
    """Serve a workspace's log."""
    journal = EventJournal(EventStore(ws.store))
    made = Served(ws, journal)
    try:
        async with Server(ws.make_socket_folder(), journal, made.query, made.command):
            yield made
    finally:
        journal.close()


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode is not None
    assert "Traceback" not in err.decode()
    return process.returncode, out.decode(), err.decode()


async def heard(process: asyncio.subprocess.Process, stream: str, text: str) -> None:
    """Wait until the command says `text`."""
    reader = getattr(process, stream)
    async with asyncio.timeout(PATIENCE_S):
        while text not in (said := (await reader.readline()).decode()):
            assert said, f"it ended without saying {text!r}"


@pytest.fixture
async def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    root = tmp_path / "ws"
    (root / "tasks" / "scale").mkdir(parents=True)
    (root / "tasks" / "scale" / "task.toml").touch()
    (root / "config.toml").touch()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kpd") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        ws = Workspace.find(root)
        ws.make_private()
        async with serving(ws) as made:
            made.journal.emit(e.DaemonStarted("0.1.0", os.getpid(), str(ws.root)))
            yield made
