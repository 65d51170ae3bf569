"""What becomes of a first right candidate, the baseline where the task's own files are not right."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.attempt import Attempt, CandidateFailed
from kpd.engine.record import record
from kpd.engine.steps import judge
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.bench import BuiltObject, CheckFailed
from kpd.measure.samples import CaseSample, ProcessSample, samples_to_json
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import Flagged, Superseded
from kpd.model.defects import Complaint, WrongResult
from kpd.model.faults import Incorrect
from kpd.model.flags import Calls
from kpd.model.hosts import Device
from kpd.model.iteration import Override
from kpd.model.verdicts import Gain, Verdict
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import digest
from kpd.workspace.specs import CheckSpec
from tests.support.model.samples import task_of

FLAG = Calls("clock_gettime")
ITSELF = Verdict("undecided", Gain(0.0, -1.0, 1.0), 7, False, "undecided", 1.0)


@pytest.fixture(name="journal")
def _journal(tmp_path: Path) -> Iterator[EventJournal]:
    journal = EventJournal(EventStore(tmp_path / "events.db"))
    journal.emit(e.RunQueued("r1", "scale", "claude", "local", Budget()))
    journal.emit(e.TaskPinned("r1", {}, {}, own_files="absent"))
    yield journal
    journal.close()


def attempt_of(
    root: Path, journal: EventJournal, number: int, bench: SimpleNamespace, flagged: Literal["hold", "reject"] = "hold"
) -> Attempt:
    task = replace(task_of(root / "scale", {}), check=CheckSpec(flagged=flagged))
    host = Host("local", PurePosixPath("/root"), Local())
    given: list[Any] = [Workspace(root), None, journal, None, host, bench, None, task, Path(), "r1", number]
    attempt = Attempt(*given, prepare=cast(Any, None))
    attempt.folder.write_candidate({"kernel.c": b""})
    return attempt


async def recorded(
    root: Path, journal: EventJournal, number: int, flagged: Literal["hold", "reject"]
) -> e.IterationEnded:
    """The end of a candidate that was measured against itself and has a flag."""
    attempt = attempt_of(root, journal, number, SimpleNamespace(device=Device("cpu", "cpu", "a CPU")), flagged)
    journal.emit(e.Judged("r1", number, 0, 0, ITSELF, flags=(FLAG,)))
    return await record(attempt, attempt.detail_of(number))


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("repeats", [True, False])
async def test_what_needs_no_other_kernel_holds_for_it_as_for_any_winner(
    tmp_path: Path, journal: EventJournal, repeats: bool, alone: bool
) -> None:
    """Its object is inspected, while it is called again and again if there are CPUs for both; no gain is looked for."""
    wrong, looked = WrongResult(Complaint("it differs")), list[str]()

    async def staged(*given: Any) -> str:
        return "tree"

    async def built(*given: Any) -> BuiltObject:
        return BuiltObject("job", False, "", 0, "")

    async def repeated(*given: Any) -> dict[str, int]:
        assert given[-1] is None, "there is no incumbent to audit it against"
        await asyncio.sleep(0)
        assert looked == ([] if alone else ["begun"])
        if not repeats:
            raise CheckFailed(wrong)
        return {"one": 20, "two": 3}

    async def inspected(*given: Any) -> tuple[Calls, ...]:
        looked.append("begun")
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            looked.append("ended")
            raise
        return (FLAG,)

    async def held_out(*given: Any) -> None:
        """Nothing is held out."""

    bench = SimpleNamespace(
        stage=staged, build=built, repeat=repeated, inspect=inspected, final=held_out, inspects_beside=not alone
    )
    journal.emit(e.IterationStarted("r1", 0, "claude", 0))
    attempt = attempt_of(tmp_path, journal, 0, bench)
    samples = samples_to_json([ProcessSample(n, {"one": CaseSample(1, (9, 9), (9, 9))}) for n in range(3)])
    attempt.folder.write("timing.json", samples)
    journal.emit(e.Timed("r1", 0, 0, 0, 1.0, 3, (), samples=digest(samples)))
    if not repeats:
        with pytest.raises(CandidateFailed) as failed:
            await judge(attempt, attempt.detail_of(0))
        assert failed.value.what == Incorrect(wrong)
        assert looked == ([] if alone else ["begun", "ended"])
        return
    fact = await judge(attempt, attempt.detail_of(0))
    assert (fact.flags, fact.repeats, fact.audited, fact.verdict.accepted) == ((FLAG,), 23, None, False)


@pytest.mark.parametrize(("flagged", "outcome"), [("hold", "held"), ("reject", "rejected")])
async def test_a_flagged_one_is_held_or_rejected_as_the_task_says(
    tmp_path: Path, journal: EventJournal, flagged: Literal["hold", "reject"], outcome: str
) -> None:
    journal.emit(e.IterationStarted("r1", 0, "claude", 0))
    ended = await recorded(tmp_path, journal, 0, flagged)
    assert (ended.outcome, ended.cause) == (outcome, Flagged(ITSELF, (FLAG,)))


async def test_one_that_was_under_way_when_a_person_accepted_another_is_no_second_baseline(
    tmp_path: Path, journal: EventJournal
) -> None:
    journal.emit(e.IterationStarted("r1", 0, "claude", 0))
    journal.emit(await recorded(tmp_path, journal, 0, "hold"))
    journal.emit(e.IterationStarted("r1", 1, "claude", 1))
    journal.emit(e.Accepted("r1", 0, {}, Override("ada")))
    ended = await recorded(tmp_path, journal, 1, "hold")
    assert (ended.outcome, ended.cause) == ("rejected", Superseded(ITSELF, "r1", 0))


@pytest.mark.parametrize("rolled_back", [False, True])
async def test_one_that_beat_a_former_incumbent_is_not_audited_and_not_accepted(
    tmp_path: Path, journal: EventJournal, rolled_back: bool
) -> None:
    """Nothing is asked of the bench. It stays so where its parent is the incumbent again before it is recorded."""
    bench = SimpleNamespace(device=Device("cpu", "cpu", "a CPU"))
    for number in (0, 1, 2):
        journal.emit(e.IterationStarted("r1", number, "claude", 0))
    for number in (0, 1):
        journal.emit(e.Accepted("r1", number, {}, Override("ada")))
        attempt_of(tmp_path, journal, number, bench).folder.write_candidate({"kernel.c": b"%d" % number})
    attempt = attempt_of(tmp_path, journal, 2, bench)
    samples = samples_to_json([ProcessSample(n, {"one": CaseSample(1, (9, 9), (4, 4))}) for n in range(9)])
    attempt.folder.write("timing.json", samples)
    journal.emit(e.Timed("r1", 2, 0, 0, 1.0, 9, (), samples=digest(samples)))
    fact = await judge(attempt, attempt.detail_of(2))
    assert (fact.verdict.accepted, fact.superseded_by, fact.audited) == (True, 1, None)
    journal.emit(fact)
    if rolled_back:
        journal.emit(e.RolledBack("r1", 0, {}, "ada"))
        assert attempt.superseded_by is None
    ended = await record(attempt, attempt.detail_of(2))
    assert (ended.outcome, ended.cause) == ("rejected", Superseded(fact.verdict, "r1", 1))
