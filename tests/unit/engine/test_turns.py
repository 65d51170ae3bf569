"""Whose turn it is on a device that runs share: one at a time, the oldest first, and nobody is forgotten."""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine import turns as engine_turns
from kpd.engine.turns import DeviceClaim, Turns, claim_of, next_to_measure
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Paused, Running
from kpd.model.waits import ForLease, ForTurn, PausedBy, Wait

PLACE = ("local", "cpu")
NAMES = ("r1", "r2", "r3", "r4")


def state(**changed: Run) -> State:
    """Four runs on one device, the one that is named first is the oldest."""
    runs = {
        name: Run(name, name, "sweep", "local", Budget(), queued=0.0, status=Running(), started=float(nth))
        for nth, name in enumerate(NAMES)
    }
    return State(runs=runs | changed)


ALL = state()


def test_the_oldest_is_first_and_then_who_has_measured_longest_ago() -> None:
    assert next_to_measure(["r3", "r2", "r4"], {}, ALL) == "r2"
    assert next_to_measure(["r1", "r4"], {"r1": 1}, ALL) == "r4"
    assert next_to_measure(["r3", "r2", "r1"], {"r1": 3, "r2": 2, "r3": 1}, ALL) == "r3"
    assert next_to_measure(["r4.2-full", "r4"], {}, ALL) == "r4", (
        "what a person asks for waits for those that ask with it"
    )
    assert next_to_measure([], {}, ALL) is None


def test_who_cannot_go_on_is_passed_over() -> None:
    paused = state(r1=replace(ALL.runs["r1"], status=Paused(PausedBy("ada"))))
    assert next_to_measure(["r1", "r2"], {"r2": 7}, paused) == "r2"
    assert next_to_measure(["r1"], {}, paused) is None
    assert next_to_measure(["r1", "r2"], {}, replace(ALL, held=Told("disk full"))) is None
    assert next_to_measure(["r1", "r2.4-full"], {}, replace(ALL, held=Told("disk full"))) == "r2.4-full"


@given(st.data())
def test_nobody_waits_for_more_than_one_turn_of_each_of_the_others(data: st.DataObject) -> None:
    asking: dict[str, int] = {}  # and how many turns each has waited for
    measured: dict[str, int] = {}
    for number in range(1, data.draw(st.integers(1, 40))):
        for name in data.draw(st.sets(st.sampled_from(NAMES))):
            asking.setdefault(name, 0)
        chosen = next_to_measure(list(asking), measured, ALL)
        assert (chosen is None) == (not asking)
        if chosen is not None:
            del asking[chosen]
            measured[chosen] = number
            asking = {name: waited + 1 for name, waited in asking.items()}
            assert all(waited < len(NAMES) for waited in asking.values())


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[EventJournal]:
    with EventStore(tmp_path / "events.db") as store:
        journal = EventJournal(store)
        for name in NAMES:
            journal.emit(e.RunQueued(name, name, "sweep", "local", Budget()))
            journal.emit(e.RunStarted(name, "EPYC", "local", "cpu"))
        yield journal


def waits(journal: EventJournal) -> list[tuple[str, Wait | None]]:
    return [(event.fact.run, event.fact.wait) for event in journal.events() if isinstance(event.fact, e.RunWaits)]


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(20))
async def test_one_at_a_time_whoever_is_cut_off_in_between(journal: EventJournal, seed: int) -> None:
    chance, turns, inside, most = random.Random(seed), Turns(journal), 0, 0

    async def measures(name: str) -> None:
        nonlocal inside, most
        claim = claim_of(turns, journal, name)
        for _ in range(5):
            async with claim.turn(*PLACE):
                inside += 1
                most = max(most, inside)
                try:
                    async with claim.turn(*PLACE):  # who has the device does not wait for it
                        await asyncio.sleep(chance.random() / 1000)
                finally:
                    inside -= 1
            await asyncio.sleep(chance.random() / 1000)

    tasks = [asyncio.create_task(measures(name)) for name in NAMES]
    await asyncio.sleep(chance.random() / 100)
    chance.choice(tasks).cancel()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
    assert [type(one) for one in ended].count(type(None)) >= len(NAMES) - 1
    assert most == 1
    assert not any(run.waiting for run in journal.state.runs.values())
    async with claim_of(turns, journal, "r1").turn(*PLACE):
        assert not waits(journal) or waits(journal)[-1][1] is None, "nothing is left of those that were there"


async def test_who_waits_says_for_whom_and_a_pause_lets_the_next_one_pass(journal: EventJournal) -> None:
    turns, order = Turns(journal), []
    first, over = asyncio.Event(), asyncio.Event()

    async def measures(name: str, until: asyncio.Event) -> None:
        async with claim_of(turns, journal, name).turn(*PLACE):
            order.append(name)
            await until.wait()

    tasks = [asyncio.create_task(measures("r1", first))]
    await settle()
    tasks += [asyncio.create_task(measures(name, over)) for name in ("r3", "r2")]
    await settle()
    assert journal.state.runs["r2"].waiting == ForTurn("local", "r1")
    other = asyncio.create_task(measures_elsewhere(turns, journal))
    await settle()
    assert other.done(), "another device is another matter"
    journal.emit(e.RunPaused("r2", PausedBy("ada"), by="ada"))
    journal.emit(e.RunWaits("r3", None))  # what a link says that has come back
    first.set()
    await settle()
    assert order == ["r1", "r3"]
    assert journal.state.runs["r2"].waiting == ForTurn("local", "r3")
    assert journal.state.runs["r3"].waiting is None
    over.set()
    await settle()
    assert order == ["r1", "r3"] and journal.state.runs["r2"].waiting is None
    journal.emit(e.RunResumed("r2", by="ada"))
    turns.look()
    await asyncio.gather(*tasks)
    assert order == ["r1", "r3", "r2"]


async def measures_elsewhere(turns: Turns, journal: EventJournal) -> None:
    async with claim_of(turns, journal, "r4").turn("local", "GPU-1"):
        return


async def test_a_wait_for_a_lease_is_said_once_it_has_lasted(
    journal: EventJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_turns, "SHORT_S", 0.1)
    said: list[Wait | None] = []
    claim = DeviceClaim(Turns(journal), "r1.2-full", said.append)
    claim.waits("local: ann measures on it")
    claim.waits("")
    await asyncio.sleep(0.2)
    assert said == [None]
    claim.waits("local: ann measures on it")
    await asyncio.sleep(0.2)
    claim.waits("")
    assert said == [None, ForLease("local: ann measures on it"), None]
