"""Several people at one daemon: who did what, who may only look, and how much output each of them wants."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.client import ask, operator
from kpd.daemon import outbox
from kpd.daemon.journal import EventJournal
from kpd.daemon.outbox import LONGEST, MOST_STREAMS, last_line
from kpd.daemon.server import Server
from kpd.messages import Live
from kpd.model.events import Event
from kpd.subscription import Client
from kpd.wire import MOST_NAME, LiveOutput, clean_name
from tests.support.daemon.served import Answers, noticed, raw

HOSTILE = "\x1b[2Jada\n\u202e<b>\u0301\x00 [red]`${x}` " + "z" * 5000

# ── who did it ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_connection_has_its_own_name(folder: Path, server: Server, answers: Answers) -> None:
    async with Client(folder / "s", "tui", by="ada@laptop") as ada, Client(folder / "s", "tui", by="bob") as bob:
        await ada.command("pause")
        await bob.command("resume")
    await asyncio.to_thread(ask, folder / "s", "command", "stop", {}, by="eve")
    assert [(verb, by) for verb, _, by in answers.finished] == [
        ("pause", "ada@laptop"), ("resume", "bob"), ("stop", "eve"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("hello", "by"),
    [
        ({}, "raw"),
        ({"by": ""}, "raw"),
        ({"by": "ada@laptop:pts/3"}, "ada@laptop:pts/3"),
        ({"by": "Kpd"}, "raw"),
        ({"by": " \n\t"}, "raw"),
        ({"by": "\u05d0\u05d3\u05d4"}, "\u05d0\u05d3\u05d4"),
        ({"by": "", "client": "\x1b[31m"}, "31m"),
        ({"by": "", "client": "kpd"}, "?"),
        ({"by": "ada", "spoken": "by a newer client"}, "ada"),
    ],
)
async def test_a_name_is_as_the_client_says_or_else_the_clients(
    folder: Path, server: Server, answers: Answers, hello: dict[str, str], by: str
) -> None:
    async with raw(folder, hello=False) as client:
        assert (await client.hello(**hello))["ok"]
        client.send(id=2, op="command", verb="pause")
        await client.read()
    assert answers.finished == [("pause", {}, by)]


async def test_a_name_that_is_no_text_ends_the_connection(folder: Path, server: Server) -> None:
    async with raw(folder, hello=False) as client:
        assert (await client.hello(by=7))["error"]["code"] == "protocol"


@given(st.text(max_size=500) | st.just(HOSTILE))
def test_a_name_is_one_short_harmless_line(text: str) -> None:
    name = clean_name(text)
    assert len(name) <= MOST_NAME
    assert name == name.strip()
    assert all(char.isalnum() or char in " ._@:/+-" for char in name)
    assert name.lower() != "kpd"
    assert clean_name(name) == name


def test_who_is_at_this_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "ada")
    monkeypatch.delenv("KPD_OPERATOR", raising=False)
    program = [sys.executable, "-c", "from kpd.client import operator; print(operator())"]
    nulls = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    said = subprocess.run(program, **nulls, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    assert said.startswith("ada@")
    assert ":" not in said
    leader, follower = os.openpty()
    try:
        said = subprocess.run(
            program, stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
        ).stdout.strip()
        assert said.endswith(f":{os.ttyname(follower).removeprefix('/dev/')}")
    finally:
        os.close(leader)
        os.close(follower)
    monkeypatch.setenv("KPD_OPERATOR", "night\x1b shift")
    assert operator() == "night shift"
    monkeypatch.setenv("KPD_OPERATOR", "kpd")
    assert operator().startswith("ada@")


# ── who may only look ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_reader_is_refused_every_command_by_the_daemon(folder: Path, server: Server, answers: Answers) -> None:
    async with raw(folder, hello=False) as reader, raw(folder) as writer:
        await reader.hello(read_only=True)
        for verb in ("pause", "shutdown", "no such verb"):
            reader.send(id=2, op="command", verb=verb)
            refusal = (await reader.read())["error"]
            assert refusal["code"] == "refused"
            assert verb in refusal["message"]
            assert "--read-only" in refusal["remedy"]
        reader.send(id=3, op="query", what="echo", args={"a": 1})
        assert (await reader.read())["result"] == {"a": 1}
        reader.send(id=4, op="hello", protocol=1, read_only=False)
        assert "already" in (await reader.read())["error"]["message"]
        assert await reader.read() is None
        writer.send(id=2, op="command", verb="pause")
        assert (await writer.read())["ok"]
    assert [verb for verb, _, _ in answers.finished] == ["pause"]


# ── how much output ───────────────────────────────────────────────────────────────────────────────────────────────


async def lives(
    folder: Path, journal: EventJournal, live: LiveOutput, *pieces: tuple[str, str]
) -> list[tuple[str, str]]:
    """What a client that wants `live` gets of these (channel, text) until an event that comes after all of them."""
    async with Client(folder / "s", "test", live=live) as client:
        messages = client.messages()
        await anext(messages)
        for channel, text in pieces:
            journal.live(channel, "r1", 1, text)
        if live == "brief":
            await asyncio.sleep(2 * outbox.BRIEF_S)
        journal.emit(noticed("the end"))
        found = []
        async for message in messages:
            if isinstance(message, Event):
                return found
            if isinstance(message, Live):
                found.append((message.channel, message.text))
    raise AssertionError


PIECES = (("build", "cc -c a.c\ncc -c b.c\n"), ("agent", "I th"), ("agent", "ink that\nthe lo"), ("agent", "op is"))


async def test_full_none_and_brief(
    folder: Path, server: Server, journal: EventJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "BRIEF_S", 0.05)
    assert await lives(folder, journal, "full", *PIECES) == list(PIECES)
    assert await lives(folder, journal, "none", *PIECES) == []
    assert await lives(folder, journal, "brief", *PIECES) == [("build", "cc -c b.c\n"), ("agent", "the loop is\n")]


async def test_brief_output_stays_small_whatever_comes(
    folder: Path, server: Server, journal: EventJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "BRIEF_S", 0.05)
    flood = [("build", "x" * 1_000_000), *((f"channel {n}", "line\n" * 1000) for n in range(100)), ("build", "y" * 50)]
    got = await lives(folder, journal, "brief", *flood)
    assert 0 < len(got) <= MOST_STREAMS
    assert all(len(text) <= LONGEST + 1 for _, text in got)
    assert got[0][1].startswith("…x")
    assert got[0][1].endswith("y" * 50 + "\n")


async def test_live_is_one_of_three_words(folder: Path, server: Server) -> None:
    async with raw(folder) as client:
        client.send(id=2, op="subscribe", live="loud")
        assert "live" in (await client.read())["error"]["message"]


async def test_an_older_client_gets_all_output(folder: Path, server: Server, journal: EventJournal) -> None:
    async with raw(folder) as client:
        client.send(id=2, op="subscribe", after=0)
        await client.read()
        await client.read()
        journal.live("build", "r1", 1, "cc\n")
        assert (await client.read())["live"]["text"] == "cc\n"


@given(st.lists(st.text(st.sampled_from("ab \n\r\u2028"), max_size=8), max_size=8))
def test_the_last_line_is_the_same_however_it_is_cut(pieces: list[str]) -> None:
    kept = ""
    for piece in pieces:
        kept = last_line(kept + piece)
    whole = [line.strip() for line in "".join(pieces).replace("\r", "\n").split("\n") if line.strip()]
    assert kept.strip().split() == (whole[-1].split() if whole else [])
