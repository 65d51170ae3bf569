"""What time heals, against a real HTTP server: it is waited for, told, billed once a call, and never ends by itself."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.claude.backoff import Backoff, retry_after
from kpd.claude.errors import OverBudget, Unavailable
from kpd.claude.request import MOST_BREAKS
from kpd.claude.tokens import most_tokens
from kpd.model.spending import Usage
from tests.support.claude.anthropic_script import Behaviour
from tests.support.claude.anthropic_server import Asked, Broken, Held, Reply, Server, Status, serving
from tests.support.claude.asking import FAST, QUESTION, SONNET, Bill, Listener, answered, service_at, talking

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
    assert len(server.asked) == 3
    assert [bill.usage.total > 0 for bill in listener.settled.values()] == [False, False, True]
    assert listener.settled[1] == listener.settled[2] == Bill("propose", SONNET, Usage(), 0.0, cut=False)
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
    assert len(listener.bills) == 1, "what never reached the service cost nothing"


@pytest.mark.parametrize("how", ["cut", "close", "error", "garbage", "shape", "stall"])
async def test_a_stream_that_breaks_is_billed_and_asked_for_again(how: str) -> None:
    listener = Listener()
    broken = Broken(how, "the first words of an answer")
    pace = replace(FAST, stall_s=1.0) if how == "stall" else FAST
    async with talking([broken, Reply("whole")], pace) as (server, service):
        answer = await service.ask(QUESTION, listener.hooks)
    assert (answer.text, answer.stop) == ("whole", "end")
    assert [bill.cut for bill in listener.bills] == [True, False]
    assert listener.bills[0].usage.input == server.charged[0].input
    assert listener.bills[0].usage.output == most_tokens("the firs")
    assert "broke off" in listener.text
    assert listener.waited[-1] == ""


@pytest.mark.parametrize("how", ["cut", "close", "stall"])
async def test_a_stream_that_breaks_before_it_says_what_it_used_is_billed_with_its_prompt(how: str) -> None:
    listener = Listener()
    pace = replace(FAST, stall_s=1.0) if how == "stall" else FAST
    async with talking([Broken(how, after=0), Reply("whole")], pace) as (server, service):
        await service.ask(QUESTION, listener.hooks)
    first, second = listener.bills
    assert (first.cut, second.cut) == (True, False)
    assert first.usage == Usage(input=first.usage.input)
    assert first.usage.input >= server.charged[0].input
    assert "broke off" not in listener.text


async def test_an_error_before_anything_else_is_a_refusal() -> None:
    listener = Listener()
    await answered([*[Broken("error", after=0)] * MOST_BREAKS, Reply("whole")], listener)
    assert [bill.usage.total > 0 for bill in listener.settled.values()] == [False] * MOST_BREAKS + [True]


async def test_thinking_that_was_cut_off_is_billed() -> None:
    listener = Listener()
    broken = Broken("cut", after=4, thinking=1000)  # its start, a ping, the block's start and all of the thinking
    await answered([broken, Reply("whole")], listener)
    assert listener.bills[0].usage.output == most_tokens("x" * 1000)


async def test_streams_that_never_come_to_an_end_need_a_person() -> None:
    listener = Listener()
    script: list[Behaviour] = [
        Broken("cut"),
        Status(529, "overloaded_error"),
        Broken("cut"),
        Broken("cut"),
        Reply("too late"),
    ]
    async with talking(script) as (server, service):
        with pytest.raises(Unavailable, match="broke off") as caught:
            await service.ask(QUESTION, listener.hooks)
    assert "proxy" in caught.value.remedy
    assert [bill.cut for bill in listener.bills] == [True] * MOST_BREAKS
    assert len(server.asked) == MOST_BREAKS + 1, "one that cost nothing is no break, and mends none"
    assert listener.waited[-1] == ""


async def test_breaks_are_counted_anew_after_a_whole_reply() -> None:
    first = Reply("".join(f"row {at}: {at * at}\n" for at in range(200)))
    broken = [Broken("cut")] * (MOST_BREAKS - 1)
    answer, server = await answered([*broken, first, *broken, Reply("tail\n")], Listener())
    assert answer.text.endswith("tail\n")
    assert len(server.asked) == 2 * MOST_BREAKS


async def test_patience_has_an_end_where_an_answer_is_not_worth_more() -> None:
    listener = Listener()
    pace = Backoff(first_s=200, most_s=200)
    async with talking([Status(529, "overloaded_error")], pace) as (server, service):
        with pytest.raises(Unavailable, match="60 s: the model service is overloaded"):
            await service.ask(replace(QUESTION, most_waits_s=60.0), listener.hooks)
    assert len(server.asked) == 1
    assert listener.waited == []


async def test_pauses_and_failures_add_up_to_the_end_of_patience() -> None:
    listener = Listener()
    async with talking(lambda asked: Status(529, "overloaded_error")) as (_, service):
        with pytest.raises(Unavailable):
            await service.ask(replace(QUESTION, most_waits_s=0.5), listener.hooks)
    assert len(listener.waited) > 1
    assert listener.waited[-1] == ""


async def test_a_stall_is_no_longer_than_patience() -> None:
    listener = Listener()
    async with talking([Broken("stall", after=0)], Backoff()) as (_, service):
        with pytest.raises(Unavailable, match="not answer in time"):
            await service.ask(replace(QUESTION, most_waits_s=0.5), listener.hooks)
    assert [bill.cut for bill in listener.bills] == [True]


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
        assert "no part of the answer" in listener.waited[0]
        release.set()
        assert (await task).text == "late"
    assert listener.waited[-1] == ""


async def test_a_pause_can_be_cancelled_at_once() -> None:
    listener = Listener()
    long = Backoff(first_s=3600, most_s=3600)
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
    pace = Backoff()
    pause = pace.pause(failures, asked_s, chance)
    if asked_s is None:
        assert pace.first_s / 2 <= pause <= pace.most_s
    else:
        assert min(asked_s, pace.most_asked_s) <= pause <= 1.1 * pace.most_asked_s


def test_pauses_grow() -> None:
    pauses = [Backoff().pause(failures, None, 0.999) for failures in range(1, 12)]
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
