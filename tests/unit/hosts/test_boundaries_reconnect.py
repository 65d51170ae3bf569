"""How patient a link is: when it is tried again, and when it counts as lost. Time is the test's own: nothing waits."""

import asyncio
import contextlib
import random
import selectors
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from kpd.hosts.errors import LOST, PENDING_S, HostError, HostErrorKind, HostKey, Pending
from kpd.hosts.helper.wire import GREETING
from kpd.hosts.link import CHATTER, Link
from kpd.hosts.reconnect import Reconnector
from kpd.model.waits import ForAllocation

Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a coroutine on a loop that is at once where it would wait for, and with waits as long as they are meant."""
    now = 0.0

    class Jumping(selectors.SelectSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            nonlocal now
            ready = super().select(0)
            if not ready:
                assert timeout is not None, "nothing will ever happen again"
                now += max(0.0, timeout)
            return ready

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(random, "uniform", lambda low, high: (low + high) / 2)

    def ran(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(Jumping())) as runner:
            runner.run(test())

    return ran


@dataclass
class Pipe:
    """A helper that greets after so much `chatter`, and says nothing more; its pipe breaks after `lives_s`."""

    lives_s: float = 1e9
    close_s: float = 0.0
    chatter: int = 0
    left: bytes = b""
    reader: "Pipe" = field(init=False)
    writer: "Pipe" = field(init=False)

    def __post_init__(self) -> None:
        self.reader = self.writer = self
        self.left = b"x" * self.chatter + GREETING

    async def readexactly(self, n: int) -> bytes:
        if not self.left:
            await asyncio.sleep(self.lives_s)
            raise EOFError
        said, self.left = self.left[:n], self.left[n:]
        return said

    read = readexactly

    def write(self, data: bytes) -> None:
        """It is taken."""

    async def drain(self) -> None:
        """At once."""

    async def close(self) -> str:
        await asyncio.sleep(self.close_s)
        return ""


@dataclass
class Way:
    """A transport that answers each try with the next of `answers`, the last one for ever; `tried` are the seconds."""

    answers: list[HostErrorKind | Pipe | float]
    kind: str = "test"
    tried: list[float] = field(default_factory=list)

    async def open(self) -> Pipe:
        self.tried.append(time.monotonic())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            raise HostError("unreachable", "late")
        if answer == "pending":
            raise Pending("asked for", ForAllocation("box", "7"))
        if isinstance(answer, str):
            raise HostError(answer, "away")
        return answer

    async def trust(self, key: HostKey) -> None:
        """Whoever it is."""

    async def close(self) -> None:
        """Nothing is kept."""


async def nothing(link: Link) -> None:
    """Ready as it is."""


def pauses(run: Run, *answers: HostErrorKind | Pipe | float, until_s: float) -> list[float]:
    """The seconds between the tries within the first `until_s`."""
    way = Way(list(answers))

    async def keep() -> None:
        keeper = Reconnector("box", way, nothing)
        keeper.start()
        await asyncio.sleep(until_s)
        await keeper.close()

    run(keep)
    return [after - before for before, after in zip(way.tried, way.tried[1:], strict=False)]


def test_a_scheduler_is_asked_for_what_waits_at_an_even_pace(run: Run) -> None:
    assert pauses(run, "pending", until_s=100) == pytest.approx([PENDING_S] * 6)


@pytest.mark.parametrize("kind", sorted(LOST - {"pending"}))
def test_what_time_heals_is_tried_again_with_a_growing_pause(run: Run, kind: HostErrorKind) -> None:
    growing = [1.5**at for at in range(11)]
    assert pauses(run, kind, until_s=400) == pytest.approx([*growing, 60.0, 60.0, 60.0])
    assert growing[-1] < 60 < 1.5 * growing[-1]


@pytest.mark.parametrize(
    ("kind", "pause"), [("auth", 300.0), ("no_python", 60.0), ("config", 60.0), ("host", 60.0)]
)  # fmt: skip
def test_what_needs_a_person_is_tried_seldom(run: Run, kind: HostErrorKind, pause: float) -> None:
    assert pauses(run, kind, until_s=2000) == pytest.approx([pause] * int(2000 / pause))


def test_a_host_that_shows_another_key_is_not_tried_again(run: Run) -> None:
    assert pauses(run, "host_key", until_s=1e6) == []


def test_a_host_has_half_a_minute_to_answer(run: Run) -> None:
    assert pauses(run, 29.9, until_s=70) == pytest.approx([29.9 + 1, 29.9 + 1.5])
    assert pauses(run, 1e6, until_s=70) == pytest.approx([30 + 1, 30 + 1.5])


@pytest.mark.parametrize(("lived", "pauses_s"), [(0.25, [0.25] * 4), (0.2499, [1.2499, 1.7499, 2.4999])])
def test_after_a_link_that_lived_for_a_quarter_second_the_next_try_comes_at_once(
    run: Run, lived: float, pauses_s: list[float]
) -> None:
    assert pauses(run, *(Pipe(lived) for _ in range(99)), until_s=6)[: len(pauses_s)] == pytest.approx(pauses_s)


def test_a_good_link_makes_the_pauses_short_again(run: Run) -> None:
    found = pauses(run, "unreachable", "unreachable", Pipe(10.0), "unreachable", until_s=20)
    assert found == pytest.approx([1.0, 1.5, 10.0, 1.0, 1.5, 2.25])


@pytest.mark.parametrize(("close_s", "lost"), [(0.0, 20.0), (4.9, 24.9), (1e9, 25.0)])
def test_a_far_side_that_says_nothing_is_lost_after_a_ping_and_its_patience(
    run: Run, close_s: float, lost: float
) -> None:
    """Five seconds to the first ping, fifteen for an answer, and five at most to close what has broken."""
    assert pauses(run, Pipe(close_s=close_s), Pipe(), until_s=lost + 1) == pytest.approx([lost])


@pytest.mark.parametrize(("chatter", "read"), [(CHATTER + 1 - len(GREETING), True), (CHATTER + 1, False)])
def test_how_much_a_login_shell_may_say_before_the_helper(run: Run, chatter: int, read: bool) -> None:
    assert CHATTER == 16 * 1024

    async def connect() -> None:
        link = Link("box", Pipe(chatter=chatter))
        refused = contextlib.nullcontext() if read else pytest.raises(HostError)
        with refused as caught:
            await link.start()
        assert link.up is read
        assert caught is None or caught.value.kind == "config"
        await link.close()

    run(connect)


@pytest.mark.parametrize(("end", "pause"), [(min, 0.9), (max, 1.1)])
def test_pauses_differ_by_a_tenth_so_that_not_all_come_at_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, end: Callable[[float, float], float], pause: float
) -> None:
    monkeypatch.setattr(random, "uniform", end)
    assert pauses(run, "unreachable", until_s=3) == pytest.approx([pause, 1.5 * pause])


@pytest.mark.parametrize("was_up", [False, True])
@pytest.mark.parametrize("kind", ["unreachable", "helper_died", "auth", "no_python", "config", "host_key"])
def test_who_asks_waits_for_what_time_heals_and_for_a_link_that_was_up(
    run: Run, kind: HostErrorKind, was_up: bool
) -> None:
    """A host's key that has changed is an error in any case."""
    raised: type[Exception] = HostError if kind == "host_key" or not (kind in LOST or was_up) else TimeoutError
    way = Way([Pipe(1.0), kind] if was_up else [kind])

    async def ask() -> None:
        keeper = Reconnector("box", way, nothing)
        with pytest.raises(HostError):
            await keeper.linked()  # nobody keeps it yet
        keeper.start()
        if was_up:
            assert (await keeper.linked()).up
            assert keeper.up and keeper.trouble is None and keeper.tries == 1
            await asyncio.sleep(2)
        with pytest.raises(raised):
            async with asyncio.timeout(10):
                await keeper.linked()
        assert not keeper.up and keeper.trouble is not None and keeper.trouble.kind == kind
        await keeper.close()

    run(ask)


def test_tries_are_counted_and_a_nudge_is_one_more(run: Run) -> None:
    async def count() -> None:
        keeper = Reconnector("box", Way(["host_key"]), nothing)
        assert keeper.tries == 0
        keeper.start()
        await keeper.tried(0)
        assert keeper.tries == 1
        keeper.retry_now()
        await keeper.tried(1)
        assert keeper.tries == 2
        await keeper.close()
        await keeper.tried(9)

    run(count)


def test_a_host_that_is_wanted_again_while_it_is_given_back_is_asked_for_afterwards(run: Run) -> None:
    done: list[str] = []

    class Lent(Way):
        async def open(self) -> Pipe:
            done.append("asked")
            return Pipe()

        async def close(self) -> None:
            done.append("leaving")
            await asyncio.sleep(5)
            done.append("left")

    async def leave() -> None:
        keeper = Reconnector("box", Lent([]), nothing)
        keeper.start()
        await keeper.linked()
        leaving = asyncio.create_task(keeper.close())
        await asyncio.sleep(1)
        keeper.start()
        assert (await keeper.linked()).up and leaving.done() and keeper.kept
        assert done == ["asked", "leaving", "left", "asked"]
        await keeper.close()

    run(leave)
