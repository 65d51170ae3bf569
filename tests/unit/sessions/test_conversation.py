"""What an agent says, as people read it, and what it says to have cost."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from kpd.sessions.brief import claimed_us, notes_of
from kpd.sessions.cleaning import TextCleaner
from kpd.sessions.conversation import Conversation, told_usd, transcript
from kpd.sessions.edited import MOST_COMPARED, MOST_LINES, MOST_TEXT, edited
from tests.support.sessions.json_values import JSON


def told(conversation: Conversation, what: str, /, **fields: Any) -> None:
    conversation.hear({"update": {"sessionUpdate": what, **fields}})


def test_text_tools_and_the_last_words(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []
    conversation = Conversation(lambda *told: heard.append(told), tmp_path / "log")
    told(conversation, "agent_message_chunk", content={"type": "text", "text": "I look."})
    told(conversation, "tool_call", title="Edit k.c", kind="edit")
    diff = {"type": "diff", "path": "/t/k.c", "oldText": "a\nb", "newText": "a\nc\nd"}
    told(conversation, "tool_call_update", status="completed", content=[diff])
    told(conversation, "tool_call_update", toolCallId="2", title="ls", status="failed")
    told(conversation, "usage_update", cost={"amount": 0.25, "currency": "USD"})
    told(conversation, "agent_message_chunk", content={"type": "text", "text": "MEMO: x\n"})
    conversation.note("kpd", "a\n\nb\nc\nd")
    edit = [("edit", line) for line in ("k.c +2 -1\n", "-b\n", "+c\n", "+d\n")]
    assert heard == [
        ("agent", "I look."), ("agent", "\n"), ("tool", "Edit k.c\n"), *edit, ("✓", "Edit k.c\n"), ("tool", "ls\n"),
        ("✗", "ls\n"), ("kpd", "$0.25 so far\n"), ("agent", "MEMO: x\n"), ("kpd", "a\n"), ("kpd", "b\n"),
        ("kpd", "c\n"), ("kpd", "…\n"),
    ]  # fmt: skip
    assert conversation.message == "MEMO: x\n"
    assert transcript(tmp_path / "log").startswith("## agent\n\nI look.")


def test_costs_add_up_also_when_an_agent_counts_anew(tmp_path: Path) -> None:
    conversation = Conversation(lambda channel, text: None, tmp_path / "log")
    for amount, total in ((1.5, 1.5), (0.25, 1.75), (0.5, 2.0), (-1, 2.0), (float("nan"), 2.0), (1e9, 2.0)):
        told(conversation, "usage_update", cost={"amount": amount, "currency": "USD"})
        assert conversation.usd == total
    told(conversation, "usage_update", cost={"amount": 9, "currency": "EUR"})
    assert conversation.usd == 2.0


def test_what_the_agent_says_it_has_cost_outlives_a_kill(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert told_usd(log) == 0.0
    for amounts in ((0.5, 1.5), (0.25,)):  # two processes, either of which was killed
        conversation = Conversation(lambda channel, text: None, log)
        for amount in amounts:
            told(conversation, "usage_update", cost={"amount": amount, "currency": "USD"})
    assert told_usd(log) == 1.75
    assert "cost" not in transcript(log)


def test_what_a_replayed_session_has_cost_is_not_paid_again(tmp_path: Path) -> None:
    conversation = Conversation(lambda channel, text: None, tmp_path / "log")
    conversation.replayed = True
    told(conversation, "usage_update", cost={"amount": 1.5, "currency": "USD"})
    conversation.replayed = False
    assert conversation.usd is None
    told(conversation, "usage_update", cost={"amount": 1.75, "currency": "USD"})
    assert conversation.usd == 0.25


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON, st.sampled_from(("agent_message_chunk", "tool_call", "tool_call_update", "usage_update", "x")), JSON, JSON)
def test_no_update_raises(tmp_path: Path, whole: object, kind: str, content: object, cost: object) -> None:
    conversation = Conversation(lambda channel, text: None, tmp_path / "log")
    conversation.hear(whole)
    told(conversation, kind, content=content, cost=cost, title=content, status=cost)


def test_a_torn_line_of_the_log_costs_that_line_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    told(Conversation(lambda channel, text: None, log), "agent_message_chunk", content={"text": "before "})
    log.write_bytes(log.read_bytes() + b'{"at": 1.0, "who": "agent", "te\xff')
    told(Conversation(lambda channel, text: None, log), "agent_message_chunk", content={"text": "after"})
    log.write_bytes(log.read_bytes() + b'[1]\n{"who": 7}\n')
    assert transcript(log) == "## agent\n\nbefore after\n"


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    conversation = Conversation(lambda channel, text: None, tmp_path / "missing" / "log")
    told(conversation, "agent_message_chunk", content={"text": "MEMO: x"})
    assert conversation.message == "MEMO: x"


def test_a_key_that_comes_in_pieces_is_not_in_the_last_words(tmp_path: Path) -> None:
    conversation = Conversation(
        lambda channel, text: None, tmp_path / "log", cleaner=TextCleaner.of({"A_KEY": "secret"})
    )
    for part in ("it is sec", "ret"):
        told(conversation, "agent_message_chunk", content={"text": part})
    assert conversation.message == "it is (A_KEY)"
    conversation.hear_text(" secret")
    assert conversation.message == "it is (A_KEY) (A_KEY)"


def test_a_key_that_comes_in_pieces_is_neither_shown_nor_kept(tmp_path: Path) -> None:
    heard: list[str] = []
    log = tmp_path / "log"
    conversation = Conversation(lambda channel, text: heard.append(text), log, TextCleaner.of({"A_KEY": "secret"}))
    for part in ("it is ", "se", "cre", "t, se"):
        told(conversation, "agent_message_chunk", content={"text": part})
    told(conversation, "agent_thought_chunk", content={"text": "cret sec"})
    told(conversation, "tool_call", title="Edit", kind="edit")
    conversation.hear_text("ends with sec")
    conversation.close()
    assert "".join(heard) == "it is (A_KEY), se\ncret sec\nEdit\nends with sec\n", "two speakers, two streams"
    assert conversation.message == "ends with sec"
    assert "it is (A_KEY), se" in transcript(log)


def test_a_claim_is_a_line_of_its_own_and_the_last_one_counts() -> None:
    assert claimed_us("CLAIM: 3.5 us\n**CLAIM:** 88 µs") == 88.0
    assert claimed_us("- claim: 1.5ms") == 1500.0
    assert claimed_us("CLAIM: 12 ns") == 0.012
    assert claimed_us("I CLAIM: 3 us") is None
    assert claimed_us("CLAIM: fast") is None
    assert notes_of("words\nMEMO: less work\nEXPECT: ipc up").memo == "less work"


def test_an_edit_is_shown_in_a_few_lines() -> None:
    assert edited("/t/k.c", "", "one\n") == ("k.c +1 -0", "+one")
    many = edited("k.c", "", "x\n" * (MOST_LINES + 1))
    assert (len(many), many[-1]) == (MOST_LINES + 2, "… 1 more line")
    assert len(edited("k.c", "", "x\n" * MOST_LINES)) == MOST_LINES + 1
    large = ("k.c: too large to compare",)
    assert edited("k.c", "", "x" * (MOST_TEXT + 1)) == edited("k.c", "y\n", "x\n" * MOST_COMPARED) == large
    assert edited("k.c", "", "x" * MOST_TEXT) != large != edited("k.c", "", "x\n" * MOST_COMPARED)
