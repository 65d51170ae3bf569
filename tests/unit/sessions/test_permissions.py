"""What an agent may do without a person: by rule."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.sessions.permissions import (
    LONGEST,
    LONGEST_COMMAND,
    LONGEST_PATH,
    MOST_KEPT,
    MOST_PATHS,
    MOST_SHOWN,
    AgentWish,
    Place,
    decide,
    programs_of,
    wish_of,
)
from tests.support.sessions.json_values import JSON

PLACE = Place(
    Path("/w/tree"), (Path("/w/tree"), Path("/w/tmp")), (Path("/w"), Path("/usr")), ("harness.c",), ("ls", "gcc", "cd")
)


@pytest.mark.parametrize(
    ("tool", "paths", "command", "allowed"),
    [
        ("edit", ("kernel.c",), "", True),
        ("edit", ("/w/tree/new/file.c",), "", True),
        ("edit", ("/w/tmp/x",), "", True),
        ("edit", ("/w/tree/harness.c",), "", False),
        ("edit", ("./a/../harness.c",), "", False),
        ("edit", ("../TASK.md",), "", False),
        ("edit", ("/w/treeish/x",), "", False),
        ("edit", ("kernel.c", "/etc/passwd"), "", False),
        ("edit", (), "", False),
        ("delete", ("/",), "", False),
        ("move", ("kernel.c", "/w/tmp/k.c"), "", True),
        ("read", (), "", True),
        ("read", ("/w/TASK.md",), "", True),
        ("read", ("/usr/include/math.h",), "", True),
        ("read", ("/root/.ssh/id_rsa",), "", False),
        ("search", ("/w/tree",), "", True),
        ("think", (), "", True),
        ("fetch", (), "", False),
        ("switch_mode", (), "", False),
        ("execute", (), "cd /w/tree && gcc -O3 kernel.c 2>&1 | ls > out", True),
        ("execute", (), "curl http://x", False),
        ("execute", (), "ls; curl http://x", False),
        ("execute", (), "ls $(curl http://x)", False),
        ("execute", (), "A=1 ls", True),
        ("execute", (), "'unclosed", False),
        ("execute", (), "", False),
        ("use", (), "", False),
        ("nonsense", (), "", False),
    ],
)
def test_rules(tool: str, paths: tuple[str, ...], command: str, allowed: bool) -> None:
    answer = decide(AgentWish(tool, "a title", paths, command), PLACE)
    assert answer.allowed == allowed
    assert bool(answer.why) != allowed, "a refusal has its reason"


def test_kpds_own_tools_are_allowed() -> None:
    assert decide(AgentWish("use", "mcp__kpd__try"), PLACE).allowed
    assert not decide(AgentWish("use", "mcp__kpdx__try"), PLACE).allowed


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("a b; c|d&&e||f\ng", ("a", "c", "d", "e", "f", "g")),
        ("/usr/bin/ls x", ("ls",)),
        ("(ls)", ("ls",)),
        ("ls > x cat", ("ls",)),
        ("`ls`", None),
        ("diff <(a) <(b)", None),
    ],
)
def test_the_programs_of_a_command_line(command: str, programs: tuple[str, ...] | None) -> None:
    assert programs_of(command) == programs


def test_a_wish_is_read_from_wherever_agents_say_it() -> None:
    call = {
        "kind": "edit", "title": "Edit", "locations": [{"path": "a"}, {"path": 7}, "x"],
        "content": [{"type": "diff", "path": "b"}], "rawInput": {"file_path": "c", "command": ["sh", "-c", "ls"]},
    }  # fmt: skip
    assert wish_of(call) == AgentWish("edit", "Edit", ("a", "b", "c"), "ls")


def test_an_operator_sees_what_a_tool_is_given_and_not_its_title_alone() -> None:
    given = {"url": "http://x", "command": "ls"}
    wish = wish_of({"kind": "fetch", "title": "a page", "rawInput": given})
    assert wish.whole == 'a page {"url": "http://x", "command": "ls"}'
    asked = wish_of({"kind": "other", "title": "t", "rawInput": ["a"]})
    assert (asked.tool, asked.whole) == ("use", 't ["a"]')
    assert wish_of({"kind": "execute", "title": "t", "rawInput": given}).whole == "ls"
    assert wish_of({"kind": "execute", "title": "ls | wc", "rawInput": {}}).command == "ls | wc", "as Gemini CLI asks"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["/bin/bash", "-lc", "ls"], "ls"),
        (["/tmp/bash", "-c", "ls"], "/tmp/bash -c ls"),
        (["evil", "-c", "ls"], "evil -c ls"),
        (["sh", "-x", "ls"], "sh -x ls"),
    ],
)
def test_a_command_is_seen_with_its_program_unless_that_is_a_shell(words: list[str], command: str) -> None:
    assert wish_of({"kind": "execute", "rawInput": {"command": words}}).command == command


def test_the_whole_wish_decides_and_its_beginning_is_recorded() -> None:
    inside = [{"path": f"a{number}"} for number in range(MOST_PATHS - 1)]
    wish = wish_of({"kind": "edit", "title": "t" * 500, "locations": [*inside, {"path": "/etc/passwd"}]})
    assert decide(wish_of({"kind": "edit", "locations": inside}), PLACE).allowed
    assert "/etc/passwd is outside" in decide(wish, PLACE).why
    assert (len(wish.short.paths), len(wish.short.what)) == (MOST_KEPT, LONGEST)
    command = f"ls {'x' * LONGEST}; curl http://x"
    assert "curl" in decide(AgentWish("execute", "", (), command), PLACE).why
    assert len(AgentWish("execute", "", (), command).short.command) == LONGEST
    assert len(decide(AgentWish("edit", "", ("/" + "x" * 4000,)), PLACE).why) == LONGEST


@pytest.mark.parametrize(
    ("wish", "more"),
    [
        (AgentWish("read", "", ("a",) * MOST_PATHS), AgentWish("read", "", ("a",) * (MOST_PATHS + 1))),
        (AgentWish("read", "", ("a" * LONGEST_PATH,)), AgentWish("read", "", ("a" * (LONGEST_PATH + 1),))),
        (
            AgentWish("execute", "", (), "ls" + " " * (LONGEST_COMMAND - 2)),
            AgentWish("execute", "", (), "ls" + " " * (LONGEST_COMMAND - 1)),
        ),
    ],
)
def test_a_wish_beyond_the_limits_is_refused_unread(wish: AgentWish, more: AgentWish) -> None:
    assert "ask for less" not in decide(wish, PLACE).why
    assert "ask for less" in decide(more, PLACE).why


@given(st.dictionaries(st.sampled_from(("kind", "title", "locations", "content", "rawInput")), JSON))
def test_whatever_is_asked_has_an_answer(call: dict[str, object]) -> None:
    answer = decide(wish_of(call), PLACE)
    assert answer.allowed or answer.why


@pytest.mark.parametrize(
    ("wish", "is_open"),
    [
        (AgentWish("execute", "", command="curl http://x"), True),
        (AgentWish("execute", "", command="ls $(curl http://x)"), True),
        (AgentWish("execute", "", command=""), False),
        (AgentWish("fetch", ""), True),
        (AgentWish("use", "Deploy"), True),
        (AgentWish("switch_mode", ""), False),
        (AgentWish("edit", "", ("/etc/passwd",)), False),
        (AgentWish("edit", "", ("harness.c",)), False),
        (AgentWish("read", "", ("/root/.ssh/id_rsa",)), False),
        (AgentWish("execute", "", command="x" * (LONGEST_COMMAND + 1)), False),
        (AgentWish("execute", "", command="x" * MOST_SHOWN), True),
        (AgentWish("execute", "", command="x" * (MOST_SHOWN + 1)), False),
        (AgentWish("fetch", "a", arguments="x" * (MOST_SHOWN - 2)), True),
        (AgentWish("fetch", "a", arguments="x" * (MOST_SHOWN - 1)), False),
        (AgentWish("execute", "", command="curl http://x", once=False), False),
        (AgentWish("execute", "", command="cargo a\n\tb é"), True),
        (AgentWish("execute", "", command="cargo \x1b]0;\ncurl http://x\n\x07"), False),
        (AgentWish("execute", "", command="cargo \u202ehsab"), False),
        (AgentWish("fetch", "a\x00b"), False),
    ],
)
def test_an_operator_is_asked_only_for_what_no_rule_forbids(wish: AgentWish, is_open: bool) -> None:
    answer = decide(wish, PLACE)
    assert (answer.allowed, answer.open) == (False, is_open)


def test_the_tools_of_a_session_are_allowed_and_no_others(tmp_path: Path) -> None:
    place = Place(tmp_path, (tmp_path,), (), (), (), ("word-count",))
    allowed = ("mcp__word-count__count", "mcp__kpd__try", "mcp__kpd.try", "mcp__kpd", "try (kpd MCP Server)")
    refused = (
        "mcp__word-counter__count", "mcp__word__count", "mcp__other__count", "mcp__kpd-x__try",
        "try (kpd-x MCP Server)", "x try (kpd MCP Server)", "try (kpd MCP Server) x", "kpd", "",
    )  # fmt: skip
    answers = {name: decide(AgentWish("use", name), place).allowed for name in (*allowed, *refused)}
    assert answers == {**dict.fromkeys(allowed, True), **dict.fromkeys(refused, False)}


@pytest.mark.parametrize(("path", "judge"), [("harness.c", "harness.c"), ("kernel.c", ""), ("/etc/passwd", "")])
def test_a_wish_to_change_a_judge_of_the_candidate_is_known_as_one(path: str, judge: str) -> None:
    assert decide(AgentWish("edit", "", (path,)), PLACE).judge == judge
