"""Tools of `.harnessgym` folders: which files each gets, its commands, and what a registry means."""

import io
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.tools.content_length import MOST_BYTES, framed, lined, lines, messages
from kpd.tools.files import BadTool
from kpd.tools.harnessgym import bundle_of, foreign_tools, tool_name
from kpd.tools.manifest import NAME, read_manifest
from tests.support.tools.bundles import MANIFEST, SERVER, bundle


def only(folder: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    (tool,), left = foreign_tools(folder)
    read_manifest(tool.files)
    return tool.files, (*tool.notes, *left)


def commands(files: dict[str, bytes]) -> dict[str, Any]:
    return tomllib.loads(files["tool.toml"].decode())


def test_a_server_keeps_its_place_beside_what_the_bundle_has_and_gets_its_skill(tmp_path: Path) -> None:
    files, notes = only(bundle(tmp_path))
    assert sorted(files) == [
        "SKILL.md", "content_length.py", "mcp/tune_it/harnessgym-mcp.json", "mcp/tune_it/server.py",
        "tests/test_tune_it.py", "tool.toml",
    ]  # fmt: skip
    found = commands(files)
    server = ["python3", "mcp/tune_it/server.py", "--workspace", "."]
    assert (found["name"], found["call_s"]) == ("tune-it-harness", 120.0)
    assert found["server"] == ["python3", "content_length.py", *server]
    assert (found["self_test"], found["tests"]) == ([*server, "--self-test"], ["python3", "tests/test_tune_it.py"])
    assert notes == ("its server frames messages with Content-Length: the tool converts them",)


@pytest.mark.parametrize(
    ("self_test", "command"),
    [
        ("python3 server.py --check", ["python3", "mcp/tune_it/server.py", "--check"]),
        (["python", "../../tests/test_tune_it.py"], ["python3", "tests/test_tune_it.py"]),
        ({"command": ["python3", "server.py", "-t"], "timeout_seconds": 3}, ["python3", "mcp/tune_it/server.py", "-t"]),
        (False, ["python3", "mcp/tune_it/server.py", "--workspace", ".", "--self-test"]),
        ({"command": ""}, ["python3", "mcp/tune_it/server.py", "--workspace", ".", "--self-test"]),
    ],
)
def test_a_self_test_may_be_words_a_list_or_an_object(tmp_path: Path, self_test: Any, command: list[str]) -> None:
    files, notes = only(bundle(tmp_path, {**MANIFEST, "self_test": self_test}))
    assert commands(files)["self_test"] == command
    assert any("--self-test is tried" in note for note in notes) == (command[-1] == "--self-test")


def test_words_of_any_characters_reach_the_manifest(tmp_path: Path) -> None:
    args = ["server.py", "😀", "\x7f", "\x00", 'a"b\\']
    files, _ = only(bundle(tmp_path, {**MANIFEST, "args": args}))
    assert commands(files)["server"][4:] == args[1:]


def test_one_bad_server_does_not_keep_the_others_out(tmp_path: Path) -> None:
    (tool,), left = foreign_tools(bundle(tmp_path, **{"mcp__other__server.json": "{}"}))
    assert tool.name == "tune-it-harness" and "mcp/other/server.json names no command" in left[0]


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        ('w(f"Content-Length: {len(body)}\\r\\n")', True),
        ("w('Content-Length: ' + n)", True),
        ("process.stdout.write(`Content-Length: ${n}`)", True),
        ("# no Content-Length: lines only", False),
        ('headers = {"Content-Length": n}', False),
        ('"it is no Content-Length: server"', False),
    ],
)
def test_a_server_is_converted_only_if_it_writes_the_header(tmp_path: Path, text: str, frames: bool) -> None:
    files, _ = only(bundle(tmp_path, **{"mcp__tune_it__server.py": text}))
    assert ("content_length.py" in files) == frames


def test_a_manifest_with_the_least_keys_and_paths_from_the_workspace(tmp_path: Path) -> None:
    folder = bundle(tmp_path, {"command": "/usr/bin/python3", "args": [".harnessgym/mcp/tune_it/server.py"]})
    (folder / "tests" / "test_tune_it.py").unlink()
    (folder / "mcp" / "tune_it" / "server.py").write_text(SERVER.replace("ontent-", "ontents "))
    (folder / "registry.json").unlink()
    files, notes = only(folder)
    found = commands(files)
    assert (found["name"], found["server"]) == ("tune-it", ["python3", "mcp/tune_it/server.py"])
    assert found["tests"] == found["self_test"] == ["python3", "mcp/tune_it/server.py", "--self-test"]
    assert "content_length.py" not in files and len(notes) == 2


def test_what_the_registry_calls_quarantined_is_left_out(tmp_path: Path) -> None:
    entry = {"path": ".harnessgym/mcp/tune_it/harnessgym-mcp.json"}
    entry["metadata"] = {"qualification": {"status": "quarantined"}}  # type: ignore[assignment]
    folder = bundle(tmp_path, **{"registry.json": json.dumps({"artifacts": [entry]})})
    (tool,), left = foreign_tools(folder)
    assert (tool.name, sorted(tool.files)) == ("tune-it", ["SKILL.md", "tool.toml"])
    assert left == ("mcp/tune_it/harnessgym-mcp.json is quarantined there",)


@pytest.mark.parametrize(
    ("words", "stale"),
    [
        ("call `inspect` first", True),
        ("start .harnessgym/mcp/tune_it/server.py", True),
        ("call mcp__tune_it__inspect", True),
        ("use `tune_it`", True),
        ("inspect the loop, and tune it", False),
        ("call `other` first", False),
    ],
)
def test_a_skill_that_points_at_what_is_quarantined_is_left_out_with_it(
    tmp_path: Path, words: str, stale: bool
) -> None:
    path = ".harnessgym/mcp/tune_it/harnessgym-mcp.json"
    entry = {"path": path, "metadata": {"qualification": {"status": "quarantined"}}}
    registry = json.dumps({"artifacts": [entry]})
    skill = f"# Tuning\n\nWhen a loop is slow:\n{words}.\n"
    folder = bundle(tmp_path, **{"registry.json": registry, "skills__tune-it__SKILL.md": skill})
    if not stale:
        assert [tool.name for tool in foreign_tools(folder)[0]] == ["tune-it"]
        return
    with pytest.raises(BadTool, match=r"SKILL\.md points at .*harnessgym-mcp\.json, which is quarantined there"):
        foreign_tools(folder)


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("registry.json", "{", "registry.json is no JSON"),
        ("registry.json", "[]", "registry.json is no object"),
        ("mcp__tune_it__harnessgym-mcp.json", "{}", "names no command"),
        ("mcp__tune_it__harnessgym-mcp.json", "[" * 100_000, "is no JSON"),
        ("mcp__tune_it__harnessgym-mcp.json", '{"command": "python3 \'server.py"}', "cannot be read: No closing"),
        ("mcp__tune_it__harnessgym-mcp.json", '{"command": ["x", "\\ud83d"]}', "holds half a character"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, path: str, text: str, message: str) -> None:
    with pytest.raises(BadTool, match=message):
        foreign_tools(bundle(tmp_path, **{path: text}))


def test_the_folder_is_found_from_the_workspace_and_another_one_is_not(tmp_path: Path) -> None:
    assert bundle_of(bundle(tmp_path)) == bundle_of(tmp_path) == tmp_path / ".harnessgym"
    assert bundle_of(tmp_path / ".harnessgym" / "tests") is None
    (tmp_path / "empty" / ".harnessgym").mkdir(parents=True)
    with pytest.raises(BadTool, match="no server and no skill"):
        foreign_tools(tmp_path / "empty" / ".harnessgym")


@given(st.text(max_size=60))
def test_every_name_becomes_one_that_a_tool_may_have(given_name: str) -> None:
    assert NAME.fullmatch(tool_name(given_name))


@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=4), st.booleans())
def test_messages_pass_in_both_directions(sent: list[dict[str, str]], spread: bool) -> None:
    encoded = [json.dumps(each, indent=2 if spread else None, ensure_ascii=False).encode() for each in sent]
    stream = io.BytesIO(b"a line that is no message\n" + b"".join(framed(each) for each in encoded))
    read = list(iter(lambda: messages(stream), None))
    assert read == encoded
    back = io.BytesIO(b"\n".join(map(lined, read)))
    assert [json.loads(line) for line in iter(lambda: lines(back), None)] == sent


def test_a_message_that_is_too_long_ends_the_server() -> None:
    with pytest.raises(ValueError, match="are the most"):
        messages(io.BytesIO(b"Content-Length: %d\r\n\r\n" % (MOST_BYTES + 1)))
