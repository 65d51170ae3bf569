"""Decides which run of this daemon measures next on a shared device.

All of this is in memory: the lease on the host decides, also between daemons, and a crash leaves nothing behind.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from math import inf

from kpd.engine.journal import Journal
from kpd.engine.waiting import WaitReporter
from kpd.model.hosts import DeviceRef
from kpd.model.state import State
from kpd.model.status import Running
from kpd.model.waits import ForLease, ForTurn, Wait

SHORT_S = 1.0
"""A shorter wait for a lease is not recorded."""
Say = Callable[[Wait | None], None]


def next_to_measure(asking: Iterable[str], measured: Mapping[str, int], state: State) -> str | None:
    """Return who measures next: the one whose last turn is longest ago; before all, those without a turn yet.

    Among those without a turn yet, the oldest run comes first. So nobody waits for more than one turn of each of the
    others. `measured` numbers the last turn of each. A run that is paused is passed over, and so is every run while the
    queue is held. A name that is not a run's id is a job that a person asked for.
    """
    able = [who for who in asking if who not in state.runs or _goes_on(state, who)]
    return min(able, key=lambda who: (measured.get(who, 0), _age(state, who)), default=None)


def _goes_on(state: State, run: str) -> bool:
    return not state.held and isinstance(state.runs[run].status, Running)


def _age(state: State, who: str) -> float:
    run = state.runs.get(who)
    return inf if run is None or run.started is None else run.started


@dataclass(eq=False, slots=True)
class _Asks:
    who: str
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class Turns:
    """The users of each device: who measures on it, and who waits for it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._asking: dict[DeviceRef, list[_Asks]] = {}
        self._holds: dict[DeviceRef, _Asks] = {}
        self._measured: dict[str, int] = {}
        self._numbers = count(1)

    @asynccontextmanager
    async def turn(self, place: DeviceRef, who: str, say: Say) -> AsyncIterator[None]:
        """Wait for a turn on the device and hold it during the block.

        `say` is told who has the device meanwhile, and None when the wait is over. Cancelling the caller ends the wait
        or the turn.
        """
        asks = _Asks(who)
        self._asking.setdefault(place, []).append(asks)
        try:
            self.look()
            while (holder := self._holds.get(place)) is not asks:
                say(ForTurn(place[0], holder.who) if holder is not None else None)
                asks.woken.clear()
                await asks.woken.wait()
            say(None)
            yield
        finally:
            say(None)
            self._asking[place].remove(asks)
            if self._holds.get(place) is asks:
                del self._holds[place]
                self._measured[who] = next(self._numbers)
            self.look()

    def look(self) -> None:
        """Give each free device to the one whose turn it is. Call this when a run may go on again."""
        for place, asking in self._asking.items():
            if place not in self._holds:
                who = next_to_measure([one.who for one in asking], self._measured, self._journal.state)
                if who is not None:
                    self._holds[place] = next(one for one in asking if one.who == who)
            for one in asking:
                one.woken.set()


class DeviceClaim:
    """A run's claim to devices for its jobs, see `hosts.host.Claim`: its turns, and what it reports while it waits.

    A wait for a lease is reported only after it has lasted for SHORT_S.
    """

    def __init__(self, turns: Turns, who: str, say: Say) -> None:
        self._turns = turns
        self._who = who
        self._say = say
        self._has: set[DeviceRef] = set()
        self._later: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def turn(self, host: str, device: str) -> AsyncIterator[None]:
        place = host, device
        if place in self._has:
            yield
            return
        async with self._turns.turn(place, self._who, self._say):
            self._has.add(place)
            try:
                yield
            finally:
                self._has.remove(place)

    def waits(self, reason: str) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if reason:
            self._later = asyncio.get_running_loop().call_later(SHORT_S, self._say, ForLease(reason))
        else:
            self._say(None)


def claim_of(turns: Turns, journal: Journal, run: str, lane: int = 0) -> DeviceClaim:
    """Return the claim of a run's lane, which reports on the run what it waits for."""
    return DeviceClaim(turns, run, WaitReporter(journal, run, lane))
