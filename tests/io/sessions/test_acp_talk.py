"""Talks with a real process that speaks the protocol, well or badly."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest

from kpd.claude.errors import Unavailable
from kpd.hosts.keeper import Order
from kpd.sessions import turn, wire
from kpd.sessions.conversation import Conversation, transcript
from kpd.sessions.permissions import AgentWish, Answer
from kpd.sessions.turn import TurnResult
from tests.places import READS
from tests.support.patience import PATIENCE_S
from tests.support.sessions.killing import name_of
from tests.support.sessions.scripted import PROGRAM

Start = Callable[..., Awaitable[Any]]


async def refuse(wish: AgentWish) -> Answer:
    return Answer(wish.tool == "read", "no")


@pytest.fixture
def start(tmp_path: Path) -> Start:
    from kpd.sessions.acp_talk import AcpTalk  # at the top each worker of the suite would spend a second on it

    async def started(*turns: list[list[Any]], own: str = "", **options: Any) -> AcpTalk:
        folder = tmp_path / "session"
        for each in ("tree", "state"):
            (folder / each).mkdir(parents=True, exist_ok=True)
        (tmp_path / "script.json").write_text(json.dumps({"turns": turns, **options}))
        argv = options.get("argv") or (sys.executable, str(PROGRAM), str(tmp_path / "script.json"))
        env = {"HOME": str(folder / "state"), "PATH": "/usr/bin:/bin"}
        writes = (str(folder / "tree"), str(folder / "state"))
        order = Order(tuple(argv), str(folder / "tree"), env, READS, writes, grace_s=0.5, most_memory=256 << 20)
        return await AcpTalk.start(
            order, folder, Conversation(lambda channel, text: None, folder / "log.jsonl"), refuse, own,
            keys=options.get("keys", ()),
        )  # fmt: skip

    return started


async def turned(start: Start, *steps: list[Any], limit_s: float = PATIENCE_S, most_usd: float = 9.0) -> TurnResult:
    talk = await start(list(steps))
    try:
        return await talk.ask("go", limit_s, most_usd)
    finally:
        await talk.close()
        assert not [child for child in psutil.Process().children(recursive=True) if name_of(child) == "sleep"]


async def test_a_turn_with_tokens_and_its_last_words(start: Start) -> None:
    found = await turned(start, ["say", "one"], ["say", " two\n"])
    assert (found.end, found.said, found.usage.input, found.usage.output, found.cut) == (
        "done",
        "one two\n",
        20,
        10,
        False,
    )


async def test_what_is_refused_is_told_to_the_agent(start: Start) -> None:
    found = await turned(start, ["ask", "read", "a", {}], ["ask", "edit", "b", {"file_path": "/etc/passwd"}])
    assert found.said == "read allowed\nedit refused\n"


@pytest.mark.parametrize(("kinds", "once"), [(("allow_always", "allow_once"), True), (("allow_always",), False)])
async def test_what_can_be_allowed_only_for_ever_is_known_before_anybody_is_asked(
    kinds: tuple[Literal["allow_always", "allow_once"], ...], once: bool
) -> None:
    heard: list[AgentWish] = []

    async def allow(wish: AgentWish) -> Answer:
        heard.append(wish)
        return Answer(True)

    from acp import schema

    from kpd.sessions.acp_talk import Permissions

    call = schema.ToolCallUpdate(tool_call_id="t", title="a page", kind="fetch")
    options = [schema.PermissionOption(option_id=kind, name=kind, kind=kind) for kind in kinds]
    answer = await Permissions(allow).request_permission("s", call, options)
    assert [wish.once for wish in heard] == [once]
    assert isinstance(answer.outcome, schema.AllowedOutcome)
    assert (answer.outcome.option_id == "allow_once") == once


async def test_a_write_elsewhere_fails(start: Start, tmp_path: Path) -> None:
    found = await turned(start, ["try", str(tmp_path / "x"), ""], ["try", "in_the_tree", ""])
    assert found.said == f"{tmp_path / 'x'}: Permission denied\nwrote in_the_tree\n"


@pytest.mark.parametrize(
    ("steps", "end", "said"),
    [
        ([["sleep", 60]], "time", ""),
        ([["say", "half"], ["cost", 3.0], ["cost", 9.5], ["sleep", 60]], "money", "half"),
        ([["exit", 3]], "crash", "exit status 3"),
        ([["exit", 0]], "crash", "exit status 0"),
        ([["raw", '{"id": 2, "error": "no model"}'], ["sleep", 60]], "crash", "no model"),
        ([["raw", '{"id": [], "result": 1}'], ["raw", '{"id": 2, "result": []}'], ["sleep", 60]], "crash", ""),
        ([["ask", "read", "a", {}]] * 9, "flood", "requests"),
        ([["huge", (1 << 20) + 1], ["sleep", 60]], "flood", "1 MiB"),
        ([["many", 5000], ["sleep", 60]], "flood", "messages"),
        ([["fork", 450], ["sleep", 60]], "processes", "too many"),
        ([["eat", 300, 60]], "memory", "MiB of memory"),
        ([["fill", 9], ["sleep", 60]], "disk", "MiB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_each_bad_turn_has_its_end_and_leaves_nothing(
    start: Start, monkeypatch: pytest.MonkeyPatch, steps: list[list[Any]], end: str, said: str
) -> None:
    monkeypatch.setattr(wire, "MOST_MESSAGE", 1 << 20)
    monkeypatch.setattr(wire, "MOST_MESSAGES", 2000)
    monkeypatch.setattr("kpd.sessions.acp_talk.MOST_REQUESTS", 8)
    monkeypatch.setattr("kpd.sessions.acp_talk.CANCEL_S", 0.5)
    monkeypatch.setattr(turn, "MOST_DISK", 4 << 20)
    monkeypatch.setattr(turn, "LOOK_S", 0.2)
    found = await turned(start, ["say", "x"], *steps, limit_s=2.0 if end == "time" else PATIENCE_S)
    assert found.end == end
    assert said in found.said
    assert found.cut


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_the_service_refuses_is_not_tried_for_minutes(start: Start, status: int) -> None:
    with pytest.raises(Unavailable, match=f"is not logged in: its service answers {status}") as found:
        await turned(start, ["retry", 529], ["retry", status], ["sleep", 60], limit_s=240.0)
    assert "in keys of its table" in found.value.remedy


async def test_a_prompt_that_needs_a_key_pauses_the_run(start: Start) -> None:
    wanted = '{"id": 2, "error": {"code": -32000, "message": "Authentication required"}}'
    with pytest.raises(Unavailable, match="is not logged in: Authentication required"):
        await turned(start, ["raw", wanted], ["sleep", 60], limit_s=240.0)


async def test_an_agent_that_is_overloaded_goes_on(start: Start) -> None:
    found = await turned(start, ["retry", 529], ["retry", None], ["say", "at last"])
    assert (found.end, found.said) == ("done", "at last")


async def test_an_agent_leaves_the_daemon_some_of_the_disk(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "LEAST_FREE", 1 << 60)
    monkeypatch.setattr(turn, "LOOK_S", 0.1)
    found = await turned(start, ["sleep", 60])
    assert found.end == "disk"
    assert "have to stay free" in found.said


async def test_half_a_character_ends_nothing(start: Start) -> None:
    found = await turned(start, ["say", "\ud83d"], ["ask", "read", "\ud83d", {"file_path": "\ude00"}], ["say", "end"])
    assert (found.end, found.said) == ("done", "?read allowed\nend")


async def test_ten_megabytes_and_garbage_are_taken_in(start: Start) -> None:
    found = await turned(start, ["raw", "no json"], ["raw", "[1]"], ["raw", "{}"], ["huge", 10 << 20], ["say", "end"])
    assert found.end == "done"
    assert found.said.endswith("xend")


async def test_it_goes_on_with_its_own_session_and_the_old_words_are_not_said_again(
    start: Start, tmp_path: Path
) -> None:
    talk = await start([["say", "again"]], own="their-own-7")
    assert (talk.own, talk.loads) == ("their-own-7", True)
    await talk.ask("go on", 20.0, 1.0)
    await talk.close()
    assert transcript(tmp_path / "session" / "log.jsonl") == "## agent\n\nagain\n"


@pytest.mark.parametrize("can", [{"forgets": True}, {"loads": False}], ids=["has lost it", "says that it cannot"])
async def test_one_that_cannot_go_on_with_its_session_begins_another(
    start: Start, tmp_path: Path, can: dict[str, bool]
) -> None:
    talk = await start([["say", "anew"]], own="forgotten", **can)
    assert (talk.own, talk.loads) == ("their-own-7", False)
    assert (await talk.ask("go", PATIENCE_S, 1.0)).said == "anew"
    await talk.close()
    log = transcript(tmp_path / "session" / "log.jsonl")
    assert ("it cannot go on with its session: Internal error: no previous sessions" in log) == ("forgets" in can)


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        ({"version": 7}, "speaks version 7 of the protocol", "install a version"),
        (
            {"error": {"code": -32000, "message": "Authentication required"}, "keys": ["A_KEY", "A_TOKEN"]},
            "is not logged in",
            "set A_KEY or A_TOKEN in the environment of the daemon",
        ),
        (
            {"error": {"code": -32603, "message": "Internal error", "data": {"envVars": ["A_KEY"]}}, "keys": ["A_KEY"]},
            "is not logged in",
            "set A_KEY",
        ),
        (
            {"error": {"code": -32603, "message": "Internal error", "data": {"details": "no model"}}},
            "no model",
            "correct its table",
        ),
        ({"silent_s": 60}, "has not answered for 2 s; start it", "by hand"),
        ({"argv": ("/bin/echo", "hello")}, "does not speak the Agent Client Protocol: hello", "exec"),
        ({"argv": ("/bin/false",)}, "does not speak the Agent Client Protocol", "exec"),
        ({"argv": ("/nowhere/agent",)}, "No such file", "exec"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_an_agent_that_does_not_begin_has_a_remedy(
    start: Start, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str, remedy: str
) -> None:
    monkeypatch.setattr("kpd.sessions.acp_talk.START_S", 2.0)
    with pytest.raises(Unavailable, match=message) as found:
        await start([], **options)
    assert remedy in found.value.remedy
