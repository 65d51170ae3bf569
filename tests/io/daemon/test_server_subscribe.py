"""What a subscriber is told: every event in order, live output as far as it keeps up, and at its own pace."""

import asyncio
import socket
import time
from pathlib import Path

import pytest

from kpd.daemon import outbox as outbox_module, server as server_module
from kpd.daemon.journal import EventJournal
from kpd.daemon.outbox import MAX_LIVE
from kpd.model import events as e
from kpd.model.codec import encode
from kpd.model.kinds import Told
from kpd.model.waits import LogTrouble
from tests.support.daemon.served import Answers, Raw, noticed, raw
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("server")


async def subscribed(client: Raw, after: int = 0) -> None:
    client.send(id=2, op="subscribe", after=after)
    assert (await client.read())["id"] == 2


def sequence(messages: list[dict[str, dict[str, int]]]) -> list[int]:
    return [message["event"]["seq"] for message in messages if "event" in message]


async def test_from_nothing_a_subscriber_gets_the_state_then_events(folder: Path, journal: EventJournal) -> None:
    journal.emit(e.QueueHeld(Told("x")))
    async with raw(folder) as client:
        await subscribed(client)
        snapshot = (await client.read())["snapshot"]
        assert (snapshot["seq"], snapshot["held"]) == (1, {"kind": "told", "text": "x"})
        event = journal.emit(noticed("y"))
        frame = {
            "seq": 2,
            "at": event.at,
            "kind": "noticed",
            "body": {"level": "info", "about": {"kind": "said", "text": "y"}},
        }
        assert await client.read() == {"event": frame}


async def test_from_a_recent_number_a_subscriber_gets_just_what_it_missed(folder: Path, journal: EventJournal) -> None:
    for n in range(5):
        journal.emit(noticed(str(n)))
    async with raw(folder) as client:
        await subscribed(client, after=3)
        journal.emit(noticed("5"))
        assert [(await client.read())["event"]["seq"] for _ in range(3)] == [4, 5, 6]


async def test_up_to_date_a_subscriber_gets_only_what_is_new(folder: Path, journal: EventJournal) -> None:
    journal.emit(noticed("0"))
    async with raw(folder) as client:
        await subscribed(client, after=1)
        journal.emit(noticed("1"))
        assert (await client.read())["event"]["seq"] == 2


@pytest.mark.parametrize("after", [1, 9, -4])
async def test_too_far_behind_or_from_another_log_a_subscriber_gets_the_state(
    folder: Path, journal: EventJournal, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CATCH_UP", 2)
    for n in range(4):
        journal.emit(noticed(str(n)))
    async with raw(folder) as client:
        await subscribed(client, after)
        assert (await client.read())["snapshot"]["seq"] == 4


async def test_a_log_that_cannot_be_read_still_gives_the_state(folder: Path, journal: EventJournal) -> None:
    journal.emit(noticed("0"))
    journal.emit(noticed("1"))
    journal.store._db.execute("UPDATE events SET kind = 'moon_landed' WHERE seq = 2")
    async with raw(folder) as client:
        await subscribed(client, after=1)
        assert (await client.read())["snapshot"]["seq"] == 2


async def test_who_has_not_subscribed_is_told_nothing(folder: Path, journal: EventJournal) -> None:
    async with raw(folder) as client:
        journal.emit(noticed("x"))
        journal.live("build", "r1", 1, "x")
        client.send(id=2, op="query", what="echo")
        assert (await client.read())["id"] == 2


async def test_the_heart_beats_for_subscribers_at_rest(
    folder: Path, journal: EventJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "HEARTBEAT_S", 0.02)
    journal.emit(noticed("x"))
    async with server_module.Server(folder / "s2", journal, Answers().query, Answers().command):
        reader, writer = await asyncio.open_unix_connection(folder / "s2")
        client = Raw(reader, writer)
        await client.hello()
        await subscribed(client, after=1)
        assert [await client.read(), await client.read()] == [{"beat": 1}, {"beat": 1}]
        writer.close()


async def test_live_output_is_broadcast(folder: Path, journal: EventJournal) -> None:
    async with raw(folder) as client:
        await subscribed(client)
        await client.read()
        journal.live("build", "r1", 3, "cc\n")
        assert await client.read() == {"live": {"channel": "build", "run": "r1", "iteration": 3, "text": "cc\n"}}


async def test_a_slow_client_loses_live_output_by_count_and_no_event(folder: Path, journal: EventJournal) -> None:
    text = "x" * 8000
    sent = 4 * MAX_LIVE // len(text)
    async with raw(folder) as client:
        await subscribed(client)
        await client.read()
        for n in range(sent):  # without giving the server a chance to send
            journal.live("build", "r1", 1, text)
            if n % 10 == 0:
                journal.emit(noticed(str(n)))
        events = journal.state.seq
        await asyncio.sleep(0)
        client.send(id=3, op="query", what="echo")
        seen = []
        while (message := await client.read()).get("id") != 3:
            seen.append(message)
        journal.live("build", "r1", 1, "the last one")
        while (message := await client.read()).get("live", {}).get("text") != "the last one":
            seen.append(message)
        delivered = sum("live" in message for message in seen)
        dropped = sum(message.get("dropped", 0) for message in seen)
        assert sequence(seen) == list(range(1, events + 1))
        assert 0 < delivered < sent
        assert delivered + dropped == sent


async def next_event(client: Raw) -> int:
    """Return the number of the next event: a heartbeat may come before it."""
    while "event" not in (message := await client.read()):
        pass
    return message["event"]["seq"]


async def test_a_client_too_slow_for_events_is_cut_off_and_may_come_back(
    folder: Path, journal: EventJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "MAX_DURABLE", 300_000)
    monkeypatch.setattr(outbox_module, "GRACE_S", PATIENCE_S)  # from then on the slow one reads, however busy we are
    async with raw(folder) as quick, raw(folder) as slow:
        for client in (quick, slow):
            await subscribed(client)
            await client.read()
        slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
        seen: list[int] = []
        for _ in range(300):
            journal.emit(noticed("x" * 5000))
            seen.append(await next_event(quick))
        assert seen == list(range(1, 301))

        slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
        *told, farewell = await slow.all()
        assert farewell["error"]["code"] == "infra"
        assert "too slowly" in farewell["error"]["message"]
        got = sequence(told)
        assert got == list(range(1, len(got) + 1))
        assert 0 < len(got) < 300

        monkeypatch.setattr(outbox_module, "MAX_DURABLE", 10_000_000)
        async with raw(folder) as again:
            await subscribed(again, after=got[-1])
            assert [await next_event(again) for _ in range(300 - got[-1])] == list(range(got[-1] + 1, 301))


async def test_a_client_that_never_reads_again_is_dropped(
    folder: Path, journal: EventJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "MAX_DURABLE", 100_000)
    monkeypatch.setattr(outbox_module, "GRACE_S", 0.05)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.connect(str(folder / "s"))
        deaf.sendall(b'{"id":1,"op":"hello","protocol":1}\n{"id":2,"op":"subscribe"}\n')
        await asyncio.to_thread(deaf.recv, 1)
        for _ in range(400):
            journal.emit(noticed("x" * 5000))
            await asyncio.sleep(0)
        deaf.settimeout(10)
        rest = await asyncio.to_thread(_all_of, deaf)
    assert len(rest) < 400 * 5000
    assert b"too slowly" not in rest  # given up before there was room for the reason


def _all_of(connection: socket.socket) -> bytes:
    """Everything up to the end, read late enough for the server to have given up."""
    time.sleep(0.5)
    return b"".join(iter(lambda: connection.recv(65536), b""))


async def test_a_state_larger_than_the_queue_is_sent_whole(
    folder: Path, journal: EventJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "MAX_DURABLE", 10_000)
    for _ in range(50):
        journal.emit(noticed("x" * 5000))
    assert len(encode(journal.state)) > 20 * 10_000
    async with raw(folder) as client:
        await subscribed(client)
        assert len((await client.read())["snapshot"]["notices"]) == 50
        journal.emit(noticed("y"))
        assert (await client.read())["event"]["seq"] == 51


async def test_big_answers_reach_a_client_that_reads(folder: Path) -> None:
    async with raw(folder) as client:
        client.send(id=2, op="query", what="big", args={"size": 5_000_000})
        assert len((await client.read())["result"]) == 5_000_000


async def test_a_suspended_journal_shows_in_every_subscriber(folder: Path, journal: EventJournal) -> None:
    async with raw(folder) as client:
        await subscribed(client)
        await client.read()
        journal.suspend(LogTrouble("the disk is full"))
        assert (await client.read())["snapshot"]["held"] == {"kind": "log_trouble", "message": "the disk is full"}
