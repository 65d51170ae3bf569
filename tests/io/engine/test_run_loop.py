"""A run of several lanes as its loop ends: nothing goes on that nobody waits for, and no lane begins any more."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.engine.engine import Engine
from kpd.engine.journal import JournalError
from kpd.engine.placement import Placement
from kpd.engine.run_loop import RunLoop
from kpd.hosts.slurm.keys import SlurmKeys
from kpd.hosts.transports import host_of
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.hosts import Device, HostCard
from kpd.model.waits import PausedBy
from kpd.workspace.config import Config
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.paths import Workspace

GPUS = tuple(Device(f"GPU-{number}", "gpu", "H100", "sm_90") for number in range(3))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EventStore]:
    with EventStore(tmp_path / "events.db") as store:
        yield store


@pytest.fixture
async def engine(tmp_path: Path, store: EventStore) -> AsyncIterator[Engine]:
    """An engine with a run of two lanes, each in an allocation of its own, and a third allocation that has ended."""
    (tmp_path / "ws").mkdir()
    engine = Engine(Workspace(tmp_path / "ws"), Config(), EventJournal(store))
    keys = HostConfig(transport="slurm", options=SlurmKeys("1:00:00", bin=str(tmp_path)))
    for number in range(3):
        arrived(engine, number, number < 2)
        name = engine.journal.state.hosts[named(number)].name
        engine.pool.hosts[name] = host_of(name, keys, engine.workspace)
        engine.pool._configs[name] = keys
    engine.journal.emit(e.RunQueued("r1", "scale", "claude", "c", Budget(), devices=0))
    engine.journal.emit(e.RunStarted("r1", "H100", "c", "GPU-0"))
    engine.journal.emit(e.DevicesTaken("r1", ("GPU-1",), ("c.2",)))
    yield engine
    for host in engine.pool.hosts.values():
        await host.close()


def named(number: int) -> str:
    return f"c.{number + 1}" if number else "c"


def arrived(engine: Engine, number: int, up: bool = True) -> None:
    table = "c" if number else ""
    card = HostCard(named(number), "slurm", "up" if up else "down", devices=(GPUS[number],), table=table)
    engine.journal.emit(e.HostProbed(card))


def loop_of(engine: Engine) -> RunLoop:
    places = {number: Placement(named(number), GPUS[number]) for number in range(2)}
    turns = engine.scheduler.turns
    return RunLoop(engine.workspace, lambda: engine.config, engine.journal, engine.pool, places, turns, "r1")


def lanes() -> list[str]:
    return [name for task in asyncio.all_tasks() if " lane " in (name := task.get_name())]


async def looked(engine: Engine) -> None:
    """Have the scheduler look once at what there is to do."""
    serving = asyncio.create_task(engine.scheduler.serve())
    await asyncio.sleep(0.05)
    serving.cancel()


async def test_no_lane_begins_in_a_loop_that_ends(engine: Engine) -> None:
    loop = engine.scheduler.loops["r1"] = loop_of(engine)
    loop.interrupt("shutdown", "")
    await loop.execute()
    arrived(engine, 2)
    await looked(engine)
    run = engine.journal.state.runs["r1"]
    assert run.begun and run.more == (("c.2", "GPU-1"),) and lanes() == []


async def test_where_the_log_cannot_be_written_as_a_lane_leaves_the_others_end_too(
    engine: Engine, store: EventStore
) -> None:
    engine.journal.emit(e.RunPaused("r1", PausedBy("ada"), "ada"))
    loop = loop_of(engine)
    executing = asyncio.create_task(loop.execute())
    await asyncio.sleep(0.05)
    assert sorted(lanes()) == ["r1 lane 0", "r1 lane 1"]
    store.close()
    loop.leave([1])
    with pytest.raises(JournalError):
        await executing
    assert lanes() == []


async def test_a_host_that_is_gone_from_the_config_is_no_error_of_a_run_with_several_devices(engine: Engine) -> None:
    loop = engine.scheduler.loops["r1"] = loop_of(engine)
    gone = engine.pool.hosts.pop("c")
    await looked(engine)
    await gone.close()
    assert engine.journal.state.held is None
    assert [lane.place.host for lane in loop.lanes.values()] == ["c", "c.2", "c.2"], "a GPU that is there has two lanes"
