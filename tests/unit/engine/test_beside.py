"""The looks of compute-sanitizer beside a run: when one begins, and what trouble with a candidate's process means."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.attempt import Attempt
from kpd.engine.control import Interrupted, Interruption
from kpd.engine.lane import Lane
from kpd.engine.sanitize import Beside, sanitize
from kpd.engine.turns import Turns
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.bench import BuiltObject
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.faults import BreaksMeasurement
from kpd.model.iteration import Iteration
from kpd.model.notices import Unsound
from kpd.model.sanitizer import TOOLS, Tool, ToolReport
from kpd.model.waits import ForSanitizer
from kpd.text.sanitizer import provisional
from kpd.workspace.paths import Workspace
from tests.support.model.samples import NO_CAUSE, done, run_of

WON = Iteration(1, "sweep", 0, 0.0, status=done("accepted"), provisional=True)
RUN = run_of(Iteration(0, "baseline", 0, 0.0, status=done("baseline")), WON, replace(WON, number=2))


class Looks:
    """The looks at the two winners of a run, each of which ends as told; what was begun, and what was said."""

    def __init__(self, **ends: Exception) -> None:
        self.ends = ends
        self.begun: list[int] = []
        self.said: list[tuple[int, str]] = []
        self.beside = Beside(self.look, lambda number, err: self.said.append((number, str(err))))

    async def look(self, number: int) -> None:
        self.begun.append(number)
        if (err := self.ends.get(f"r{number}")) is not None:
            raise err

    async def turns(self, count: int) -> None:
        """As many turns of the run's loop."""
        for _ in range(count):
            self.beside.begin(RUN)
            await asyncio.sleep(0)
            await asyncio.sleep(0)


async def test_a_look_that_met_trouble_is_told_once_and_begun_again_at_the_end_only() -> None:
    looks = Looks(r2=HostError("host", "no device"))
    await looks.turns(5)
    assert looks.begun == [1, 2] and len(looks.said) == 1 and "no device" in looks.said[0][1]
    with pytest.raises(HostError, match="no device"):
        await looks.beside.ended(2)
    assert looks.begun == [1, 2, 2]
    looks.ends.clear()
    await looks.beside.ended(2)
    await looks.beside.ended(1)
    assert looks.begun == [1, 2, 2, 2]
    await looks.beside.stop()


async def test_what_is_no_trouble_of_the_host_is_raised_at_once() -> None:
    looks = Looks(r1=ValueError("own"))
    with pytest.raises(ValueError, match="own"):
        await looks.turns(2)
    await looks.beside.stop()


async def test_a_look_that_is_left_is_gone() -> None:
    gone = asyncio.Event()

    async def look(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    beside = Beside(look, lambda number, err: None)
    beside.begin(RUN)
    await asyncio.sleep(0)
    await beside.leave(1)
    assert gone.is_set()
    await beside.stop()


class Broken:
    """A bench on which the tools meet the trouble that is told of an object, by its job; else they see no error."""

    def __init__(self, **troubles: list[HostError]) -> None:
        self.troubles = troubles
        self.prepared = 0
        self.tools = TOOLS

    async def stage(self, files: dict[str, bytes]) -> str:
        return files["k"].decode()

    async def build(self, tree: str, files: dict[str, bytes], say: object) -> BuiltObject:
        return BuiltObject(tree, True, "", 0, "")

    async def sanitize(self, built: str, tool: Tool, job: str, limit_s: float, say: object) -> ToolReport:
        if tool == "memcheck" and self.troubles.get(built):
            raise self.troubles[built].pop(0)
        return ToolReport(tool, 2, 2, 1.0)

    async def prepare(self) -> "Broken":
        self.prepared += 1
        return self


@pytest.fixture(name="journal")
def _journal(tmp_path: Path) -> Iterator[EventJournal]:
    journal = EventJournal(EventStore(tmp_path / "events.db"))
    journal.emit(e.RunQueued("r1", "scale", "sweep", "local", Budget()))
    journal.emit(e.RunStarted("r1", "gpu", "local", "gpu"))
    journal.emit(e.SanitizerFound("r1", True))
    for number, outcome in enumerate(("baseline", "accepted")):
        journal.emit(e.IterationStarted("r1", number, "sweep", 0))
        journal.emit(e.Accepted("r1", number, {"k": str(number)}, None))
        journal.emit(e.IterationEnded("r1", number, cast(Any, outcome), NO_CAUSE))
    journal.emit(e.RolledBack("r1", 0, {"k": "0"}, "me"))
    yield journal
    journal.close()


async def looked(root: Path, journal: EventJournal, bench: Broken) -> Iteration:
    """Look at iteration 1, and return what it is then."""
    host = Host("local", PurePosixPath("/root"), Local())
    given: list[Any] = [Workspace(root), None, journal, None, host, bench, None, None, root, "r1", 1]
    attempt = Attempt(*given, prepare=cast(Any, bench.prepare))
    for number in range(2):
        attempt.folder_of(number).write_candidate({"k": f"build-{number}".encode()})
    await sanitize(attempt, Turns(journal))
    return journal.state.runs["r1"].iterations[1]


def broken(count: int, kind: Any = "host") -> list[HostError]:
    return [HostError(kind, "job x was ended by signal 9") for _ in range(count)]


async def test_a_build_that_is_gone_is_built_again(tmp_path: Path, journal: EventJournal) -> None:
    bench = Broken(**{"build-1": broken(1, "not_found")})
    it = await looked(tmp_path, journal, bench)
    assert (it.outcome, it.provisional, bench.prepared) == ("accepted", False, 1)


async def test_one_whose_job_is_ended_each_time_is_refused(tmp_path: Path, journal: EventJournal) -> None:
    it = await looked(tmp_path, journal, Broken(**{"build-1": broken(2)}))
    assert it.outcome == "rejected" and isinstance(it.cause, BreaksMeasurement)
    assert any(isinstance(one.about, Unsound) for one in journal.state.notices)


async def test_trouble_of_the_baseline_too_is_held_against_nobody(tmp_path: Path, journal: EventJournal) -> None:
    it = await looked(tmp_path, journal, Broken(**{"build-1": broken(2), "build-0": broken(1)}))
    assert (it.outcome, it.provisional, it.unsanitized) == ("accepted", True, False)


@pytest.mark.parametrize("kind", ["unreachable", "busy"])
async def test_trouble_of_the_host_is_no_trouble_of_the_tool(tmp_path: Path, journal: EventJournal, kind: str) -> None:
    with pytest.raises(HostError, match="signal"):
        await looked(tmp_path, journal, Broken(**{"build-1": broken(1, kind)}))
    assert journal.state.runs["r1"].iterations[1].unsanitized


async def waits(root: Path, journal: EventJournal, how: Interruption) -> tuple[bool, type[Exception] | None]:
    """Interrupt the wait for a look at iteration 1 that never ends; whether the look was ended, and what was raised."""
    gone = asyncio.Event()

    async def look(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    pool = cast(Any, SimpleNamespace(hosts={"local": Host("local", PurePosixPath("/nowhere"), Local())}))
    place = cast(Any, SimpleNamespace(host="local"))
    loop = Lane(Workspace(root), cast(Any, lambda: None), journal, pool, place, Turns(journal), "r1")
    beside = Beside(look, lambda number, err: None)
    beside.begin(loop.run)
    waiting = asyncio.create_task(loop._sanitized(1, beside, TOOLS))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert loop.run.waiting == ForSanitizer("r1", 1)
    loop.control.interrupt(how, "ada")
    await asyncio.wait([waiting])
    assert loop.run.waiting is None, "another wait can be shown"
    ended = gone.is_set()
    await beside.stop()
    raised = waiting.exception()
    return ended, type(raised) if isinstance(raised, Exception) else None


async def test_a_skip_ends_the_wait_and_the_look_for_good(tmp_path: Path, journal: EventJournal) -> None:
    assert await waits(tmp_path, journal, "skip") == (True, None)
    it = journal.state.runs["r1"].iterations[1]
    assert it.provisional and not it.unsanitized
    assert "memcheck: did not run: skipped by ada" in provisional(it)


async def test_a_shutdown_leaves_the_look_to_the_next_daemon(tmp_path: Path, journal: EventJournal) -> None:
    assert await waits(tmp_path, journal, "shutdown") == (False, Interrupted)
    assert journal.state.runs["r1"].iterations[1].unsanitized
