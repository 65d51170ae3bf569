"""Which skills an agent has read: those whose file a call of a tool has opened, and that its session has."""

from pathlib import Path
from typing import Any

import pytest

from kpd.sessions.conversation import Conversation
from kpd.sessions.folder import SessionFolder

GIVEN = ("lint@12ab", "trace@34cd")
HOME = "/w/session"
LINT = f"{HOME}/tools/lint/SKILL.md"


@pytest.fixture
def folder(tmp_path: Path) -> SessionFolder:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "memory-bound.md").write_text("x")
    return SessionFolder(tmp_path)


def read(folder: SessionFolder, *updates: dict[str, Any]) -> tuple[str, ...]:
    conversation = Conversation(lambda *told: None, folder.root / "log")
    for number, update in enumerate(updates):
        whole = {"sessionUpdate": "tool_call_update" if number else "tool_call", "toolCallId": "t1", **update}
        conversation.hear({"update": whole})
    return conversation.skills.of(folder, GIVEN)


@pytest.mark.parametrize(
    ("updates", "found"),
    [
        (({"kind": "read", "locations": [{"path": LINT}]}, {"status": "completed"}), GIVEN[:1]),
        (({"kind": "read"}, {"rawInput": {"file_path": "skills/memory-bound.md"}, "status": "completed"}),
         ("memory-bound",)),
        (({"kind": "execute", "rawInput": {"command": f"cat {HOME}/tools/*/x {HOME}/tools/trace/SKILL.md|head"},
           "status": "completed"},), GIVEN[1:]),
        (({"kind": "execute", "rawInput": {"command": ["sh", "-c", "cat tools/lint/SKILL.md tools/trace/SKILL.md"]}},
          {"status": "completed"}), GIVEN),
        (({"kind": "read", "locations": [{"path": LINT}]}, {"status": "failed"}), ()),
        (({"kind": "read", "locations": [{"path": LINT}]},), ()),
        (({"kind": "edit", "rawInput": {"file_path": "tools/lint/SKILL.md"}, "status": "completed"},), ()),
        (({"kind": "read", "rawInput": {"path": "tools/other/SKILL.md"}, "status": "completed"},), ()),
        (({"kind": "read", "rawInput": {"path": "skills/other.md"}, "status": "completed"},), ()),
        (({"kind": "read", "rawInput": {"path": "my-tools/lint/SKILL.md.old"}, "status": "completed"},), ()),
        (({"kind": 7, "toolCallId": None, "rawInput": [1], "locations": {"a": 1}, "status": "completed"},), ()),
    ],
)  # fmt: skip
def test_a_skill_is_read_once_a_call_that_opens_its_file_has_succeeded(
    folder: SessionFolder, updates: tuple[dict[str, Any], ...], found: tuple[str, ...]
) -> None:
    assert read(folder, *updates) == found
