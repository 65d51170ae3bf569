"""Whose fault trouble in a measurement is: what is tried, what is recorded, and what people read meanwhile."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, cast, get_args

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.attempt import Attempt, CandidateFailed, Unconfirmed
from kpd.engine.blame import HOSTS_OWN, is_suspect, tried
from kpd.engine.control import Control
from kpd.engine.host_trouble import IncumbentHasIt
from kpd.engine.iteration import STEPS
from kpd.hosts.errors import HostError, HostErrorKind, LostBuild
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure.seeds import Draws
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import ContestBroken, TooBusy
from kpd.model.defects import NoReturn, WrongResult
from kpd.model.faults import BreaksMeasurement, Incorrect
from kpd.model.iteration import Confirming
from kpd.model.notices import BuiltAgain
from kpd.model.waits import ForIncumbent, IncumbentToo
from kpd.text.faults import fault
from kpd.text.waits import pause, wait

CHECK, BUILD = (next(step for step in STEPS if step.name == name) for name in ("check", "build"))
LOST = LostBuild("corrupt", "local", "/root/jobs/harness-1/out/bench")
DRIVER = HostError("host", "the check driver failed", "look at it")
WRONG = CandidateFailed(Incorrect(WrongResult(NoReturn())))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[EventJournal]:
    journal = EventJournal(EventStore(tmp_path / "events.db"))
    journal.emit(e.RunQueued("r1", "scale", "sweep", "local", Budget()))
    journal.emit(e.RunStarted("r1", "a CPU", "local", "cpu"))
    for number, job in enumerate(("build-0", "build-1")):
        journal.emit(e.IterationStarted("r1", number, "sweep", 0))
        journal.emit(e.Built("r1", number, 0, 0, job, False))
    yield journal
    journal.close()


class Trial:
    """One step of r1.1 or, with `confirming`, of a contest of it: each time it is taken, the next answer comes."""

    def __init__(self, journal: EventJournal, *answers: Exception | str, confirming: Confirming = "") -> None:
        self.journal, self.answers = journal, list(answers)
        self.taken: list[str] = []
        self.prepared = 0
        number = 1
        if confirming:
            number = 2
            journal.emit(e.IterationStarted("r1", 2, "again", 0, again=1, confirming=confirming))
        host = Host("local", PurePosixPath("/root"), Local())
        control = Control(journal, "r1")
        given: list[Any] = [None, None, journal, control, host, "bench 0", None, None, Path(), "r1", number]
        self.attempt = Attempt(*given, prepare=cast(Any, self.prepare))

    async def prepare(self) -> str:
        self.prepared += 1
        return f"bench {self.prepared}"

    async def take(self, who: Attempt) -> str:
        waits = self.journal.state.runs["r1"].waiting
        assert isinstance(waits, ForIncumbent) == bool(who.in_place), "it is told while the incumbent is tried"
        self.taken.append(f"{'incumbent' if who.in_place else 'candidate'} on {cast(str, who.bench)}")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def result(self, step: Any = CHECK) -> str | e.MeasurementBroken:
        found = self.attempt.detail_of(self.attempt.number)
        fact = await tried(self.attempt, step, found, self.take)
        if isinstance(fact, e.MeasurementBroken):
            self.journal.emit(fact)
        return fact


@pytest.mark.parametrize("kind", get_args(HostErrorKind))
def test_what_a_candidate_can_provoke_is_suspect(journal: EventJournal, kind: HostErrorKind) -> None:
    at = Trial(journal).attempt
    assert is_suspect(at, CHECK, HostError(kind, "")) == (kind not in HOSTS_OWN)
    assert not is_suspect(at, BUILD, HostError(kind, "")), "nothing of the candidate runs there"


async def test_a_candidate_that_changes_what_was_built_is_suspected_once_all_is_built_again(
    journal: EventJournal,
) -> None:
    first = Trial(journal, LOST, "good")
    assert isinstance(await first.result(), e.MeasurementBroken)
    assert first.taken == ["candidate on bench 0", "incumbent on bench 1"]
    second = Trial(journal, LOST)
    with pytest.raises(CandidateFailed) as refused:
        await second.result()
    assert refused.value.what == BreaksMeasurement("check", LOST.fact) and refused.value.final
    assert second.attempt.bench == cast(Any, "bench 1"), "the next candidate finds all in place"


@pytest.mark.parametrize(("job", "of"), [("build-0", 0), ("build-1", 1), ("harness-1", None)])
async def test_what_had_changed_before_a_step_began_is_built_again_and_blamed_on_nobody(
    journal: EventJournal, job: str, of: int | None
) -> None:
    path = f"/root/jobs/{job}/out/kernel.so"
    trial = Trial(journal, LostBuild("stale", "local", path), "good")
    assert await trial.result() == "good"
    assert trial.taken == ["candidate on bench 0", "candidate on bench 1"]
    told = [one.fact.about for one in journal.events() if isinstance(one.fact, e.Noticed)]
    assert told == [BuiltAgain("r1", path, "local", of)]


async def test_a_file_that_goes_again_and_again_is_suspect(journal: EventJournal) -> None:
    gone = HostError("not_found", "job x needs a file that is gone")
    trial = Trial(journal, gone, gone, "good")
    assert isinstance(await trial.result(), e.MeasurementBroken)
    assert [who.split()[0] for who in trial.taken] == ["candidate", "candidate", "incumbent"]


@pytest.mark.parametrize(
    ("own", "said"),
    [(WRONG, "incorrect: did not return in time"), (HostError("host", "the check driver failed", "x"), "")],
)
async def test_trouble_that_the_incumbent_has_too_is_told_as_both(
    journal: EventJournal, own: Exception, said: str
) -> None:
    with pytest.raises(IncumbentHasIt) as raised:
        await Trial(journal, DRIVER, own).result()
    told = pause(raised.value.pause)
    assert isinstance(raised.value.pause, IncumbentToo)
    assert told.startswith("infrastructure: the check driver failed; look at it; r1.0, the incumbent, has trouble too")
    assert said in told
    assert journal.state.runs["r1"].waiting is None


async def test_a_link_that_breaks_in_the_incumbents_try_is_waited_for(journal: EventJournal) -> None:
    with pytest.raises(HostError) as raised:
        await Trial(journal, DRIVER, HostError("unreachable", "no link")).result()
    assert raised.value.kind == "unreachable"


async def test_the_last_contest_waits_for_no_busy_device_in_any_step(journal: EventJournal) -> None:
    for step in (CHECK, BUILD):
        with pytest.raises(Unconfirmed) as raised:
            await Trial(journal, HostError("busy", "taken", "wait"), confirming="end").result(step)
        assert raised.value.why == TooBusy("taken; wait")


async def test_a_last_contest_that_breaks_has_a_word_of_its_own(journal: EventJournal) -> None:
    assert isinstance(await Trial(journal, DRIVER, "good", confirming="end").result(), e.MeasurementBroken)
    with pytest.raises(Unconfirmed) as raised:
        await Trial(journal, DRIVER, confirming="end").result()
    assert raised.value.why == ContestBroken(DRIVER.fact)


async def test_the_incumbent_meets_the_same_seeds(journal: EventJournal) -> None:
    seeds: list[str] = []

    class Drawing(Trial):
        async def take(self, who: Attempt) -> str:
            seeds.append(Draws("check").seed())
            return await super().take(who)

    await Drawing(journal, DRIVER, "good").result()
    assert len(seeds) == 2 and len(set(seeds)) == 1


def test_a_wait_says_who_is_tried_and_why() -> None:
    assert wait(ForIncumbent("r1", 2, "check", DRIVER.fact)) == (
        "r1.2, the incumbent, is tried in the candidate's place, as its check met trouble: the check driver failed"
    )


async def test_without_an_incumbent_the_trouble_itself_counts(journal: EventJournal) -> None:
    """As where the task's own files are not right, and no candidate was yet: each is its own parent."""

    def trial(*answers: Exception) -> Trial:
        found = Trial(journal, *answers)
        found.attempt.number = 2
        return found

    journal.emit(e.IterationStarted("r1", 2, "sweep", 2))
    assert isinstance(await trial(DRIVER).result(), e.MeasurementBroken)
    with pytest.raises(CandidateFailed) as refused:
        await trial(DRIVER).result()
    assert refused.value.what == BreaksMeasurement("check", DRIVER.fact, alone=True) and refused.value.final
    assert "and there is no incumbent to try: the check driver" in fault(refused.value.what)
    with pytest.raises(HostError, match="taken"):
        await trial(HostError("busy", "taken", "wait")).result()


async def test_the_tasks_own_files_are_trusted(journal: EventJournal) -> None:
    journal.emit(e.IterationStarted("r1", 2, "baseline", 2))
    trial = Trial(journal, DRIVER)
    trial.attempt.number = 2
    with pytest.raises(HostError, match="driver"):
        await trial.result()
