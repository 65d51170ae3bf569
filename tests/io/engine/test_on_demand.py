"""Hosts that schedulers lend: which are asked for, and which go back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import ClassVar

import pytest

from kpd.engine.on_demand import OnDemand
from kpd.hosts.host import Host
from tests.support.hosts.lent import LentMachine
from tests.support.hosts.local import until


class Lent(LentMachine):
    kind: ClassVar[str] = "slurm"


@pytest.fixture
async def hosts(tmp_path: Path) -> AsyncIterator[dict[str, Host]]:
    """Two allocations of a table, and one that builds for both."""
    made = {name: Host(name, PurePosixPath(tmp_path, name), Lent()) for name in ("c", "c.2", "c.build")}
    made["c"].builder = made["c.2"].builder = made["c.build"]
    yield made
    for host in made.values():
        await host.close()


async def test_what_a_killed_daemon_has_left_goes_back_unless_a_run_wants_it_or_what_builds_for_it(
    hosts: dict[str, Host],
) -> None:
    back: list[str] = []
    asked: list[str] = []
    demand = OnDemand(lambda name, host: back.append(name), asked.append, set(hosts))
    demand.want((), hosts, held=True)
    await asyncio.sleep(0.05)
    assert back == [], "a person has not said yet what goes on"
    demand.want({"c"}, hosts, held=False)
    demand.want({"c"}, hosts, held=False)
    await until(lambda: back == ["c.2"])
    assert asked == ["c"], "before anything is submitted, and once"
    await until(lambda: hosts["c"].up)
    demand.want({"c"}, hosts, held=False)
    assert asked == ["c", "c.build"], "what builds is asked for once the other is there"


async def test_what_begins_when_no_run_wants_it_goes_back_at_once(hosts: dict[str, Host]) -> None:
    back: list[str] = []
    demand = OnDemand(lambda name, host: back.append(name), lambda name: None)
    demand.want({"c"}, hosts, held=False)
    assert not demand.began_in_vain("c", hosts["c"])
    demand.want((), hosts, held=True)
    assert not demand.began_in_vain("c", hosts["c"]), "a run that is paused may go on soon"
    demand.want((), hosts, held=False)
    assert demand.began_in_vain("c", hosts["c"]) and back == ["c"]
    await asyncio.sleep(Lent.idle_s + 0.1)
    assert back == ["c"], "and not once more"


async def test_what_begins_as_the_last_run_ends_goes_back_too(hosts: dict[str, Host]) -> None:
    """Its link is up before the next look at what runs want: until then it counts as wanted."""
    back: list[str] = []
    demand = OnDemand(lambda name, host: back.append(name), lambda name: None)
    demand.want({"c", "c.2"}, hosts, held=False)
    await until(lambda: hosts["c"].up and hosts["c.2"].up)
    assert not demand.began_in_vain("c.2", hosts["c.2"])
    demand.want({"c"}, hosts, held=True)
    assert back == [], "a person may want it back"
    demand.want({"c"}, hosts, held=False)
    assert back == ["c.2"]
    demand.want((), hosts, held=True)
    await asyncio.sleep(Lent.idle_s / 2)
    assert back == ["c.2"], "that which a run had stands idle for a while"
