"""What time heals, against a real HTTP server: it is waited for, told, billed once a call, and never ends by itself."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.pace import Pace, retry_after
from kpd.claude.tokens import tokens
from tests.anthropic_server import Asked, Broken, Held, Reply, Server, Status, serving
from tests.claude_asking import FAST, QUESTION, Listener, answered, service_at, talking

LIMITED = Status(429, "rate_limit_error", "slow down", headers={"retry-after": "86400"})


@pytest.mark.parametrize(
    "said",
    [
        LIMITED,
        Status(429, "rate_limit_error", headers={"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}),
        Status(429, "rate_limit_error", "beyond your usage limits of this minute", "ramp_limit_exceeded"),
        Status(529, "overloaded_error"),
        Status(500),
        Status(503),
        Status(408, "timeout_error"),
        Status(409, "conflict_error"),
    ],
    ids=lambda said: f"{said.status}{said.code}",
)
async def test_trouble_that_passes_is_waited_for(said: Status) -> None:
    listener = Listener()
    answer, server = await answered([said, said, Reply("at last")], listener)
    assert answer.text == listener.text == "at last"
    assert answer.calls == 1
    assert len(server.asked) == 3
    assert len(listener.bills) == 1
    assert len(listener.waited) == 3
    assert all("asked again in" in reason for reason in listener.waited[:2])
    assert listener.waited[2] == ""


async def test_a_service_that_is_down_is_waited_for() -> None:
    listener = Listener()
    server = Server([Reply("back")])
    await server.up()
    await server.down()
    service = service_at(server.url)
    task = asyncio.create_task(service.ask(QUESTION, listener.hooks))
    await listener.until(3, listener.waited)
    assert "no connection to the model service" in listener.waited[0]
    await server.up()
    answer = await task
    await service.close()
    await server.down()
    assert answer.text == "back"
    assert listener.waited[-1] == ""


@pytest.mark.parametrize("how", ["cut", "close", "error", "garbage", "shape", "stall"])
async def test_a_stream_that_breaks_is_billed_and_asked_for_again(how: str) -> None:
    listener = Listener()
    broken = Broken(how, "the first words of an answer")
    pace = replace(FAST, stall_s=1.0) if how == "stall" else FAST
    async with talking([broken, Reply("whole")], pace) as (server, service):
        answer = await service.ask(QUESTION, listener.hooks)
    assert (answer.text, answer.stop, answer.calls) == ("whole", "end", 2)
    assert [bill.cut for bill in listener.bills] == [True, False]
    assert listener.bills[0].usage.input == server.charged[0].input
    assert listener.bills[0].usage.output == tokens("the firs")
    assert answer.usage == listener.bills[0].usage + listener.bills[1].usage
    assert "broke off" in listener.text
    assert listener.waited[-1] == ""


async def test_a_stream_that_breaks_before_it_says_what_it_used_is_not_billed() -> None:
    listener = Listener()
    answer, _ = await answered([Broken("cut", after=0), Reply("whole")], listener)
    assert answer.calls == 1
    assert [bill.cut for bill in listener.bills] == [False]
    assert "broke off" not in listener.text


async def test_a_continuation_that_breaks_is_asked_for_again_alone() -> None:
    first = "".join(f"row {at}: {at * at}\n" for at in range(200))
    answer, server = await answered([Reply(first), Broken("cut", "row of which"), Reply("tail\n")], Listener())
    assert answer.text.startswith("row 0: 0\nrow 1: 1\n")
    assert answer.text.endswith("tail\n")
    assert server.asked[1].turns == server.asked[2].turns
    assert len(server.asked[1].turns) == 3


async def test_an_error_in_mid_stream_may_need_a_person() -> None:
    listener = Listener()
    async with serving([Broken("error", kind="authentication_error")]) as server:
        with pytest.raises(Unavailable, match="does not accept the key"):
            await service_at(server.url).ask(QUESTION, listener.hooks)
    assert [bill.cut for bill in listener.bills] == [True]


async def test_silence_is_told_and_its_end_too() -> None:
    listener, release = Listener(), asyncio.Event()
    async with talking([Held(release, "late")], replace(FAST, quiet_s=0.02)) as (_, service):
        task = asyncio.create_task(service.ask(QUESTION, listener.hooks))
        await listener.until(1, listener.waited)
        assert "has sent nothing" in listener.waited[0]
        release.set()
        assert (await task).text == "late"
    assert listener.waited[-1] == ""


async def test_a_pause_can_be_cancelled_at_once() -> None:
    listener = Listener()
    long = Pace(first_s=3600, most_s=3600)
    async with talking([LIMITED], long) as (server, service):
        task = asyncio.create_task(service.ask(QUESTION, listener.hooks))
        await listener.until(1, listener.waited)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert listener.waited[-1] == ""
    assert len(server.asked) == 1


async def test_broken_streams_end_at_the_budget() -> None:
    listener = Listener(limit=0.0104)  # one cent of output a call, at most

    def model(asked: Asked) -> Broken:
        return Broken("cut", "words " * 100, after=40)

    async with serving(model) as server:
        with pytest.raises(OverBudget):
            await service_at(server.url).ask(QUESTION, listener.hooks)
    assert len(listener.bills) >= 1
    assert all(bill.cut for bill in listener.bills)
    assert sum(bill.usd or 0 for bill in listener.bills) <= listener.limit


@given(st.integers(1, 10_000), st.none() | st.floats(0, 1e9), st.floats(0, 1, exclude_max=True))
def test_pauses_have_bounds(failures: int, asked_s: float | None, chance: float) -> None:
    pace = Pace()
    pause = pace.pause(failures, asked_s, chance)
    if asked_s is None:
        assert pace.first_s / 2 <= pause <= pace.most_s
    else:
        assert min(asked_s, pace.most_asked_s) <= pause <= 1.1 * pace.most_asked_s


def test_pauses_grow() -> None:
    pauses = [Pace().pause(failures, None, 0.999) for failures in range(1, 12)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 20 * pauses[0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-7"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_what_the_service_asks_for(headers: dict[str, str], seconds: Any) -> None:
    assert retry_after(headers) == seconds
