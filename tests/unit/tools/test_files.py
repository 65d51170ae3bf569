"""The files of a tool: what an agent may leave, and how a version is known by it."""

import os
from pathlib import Path

import pytest

from kpd.model.toolbox import ToolVersion
from kpd.tools import files as f
from kpd.tools.files import BadTool, keep, kept, read_tool, shelf, version_of
from kpd.tools.manifest import command, points, read_manifest, skill_trouble
from kpd.tools.qualify import read_built
from kpd.workspace.paths import Workspace
from tests.support.tools.built import SKILL, as_bytes, server_tool


def laid(folder: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def test_a_version_is_its_content_and_caches_do_not_count(tmp_path: Path) -> None:
    files = as_bytes(server_tool())
    laid(tmp_path, {**files, "__pycache__/server.pyc": b"x", ".git/config": b"x"})
    assert read_tool(tmp_path) == dict(sorted(files.items()))
    assert version_of(files) == version_of(dict(reversed(files.items()))) != version_of({**files, "server.py": b""})


def test_an_empty_folder_is_nothing_built(tmp_path: Path) -> None:
    with pytest.raises(BadTool, match="nothing was built"):
        read_built(tmp_path)


@pytest.mark.parametrize("what", ["file link", "folder link", "fifo", "name"])
def test_what_is_no_plain_file_is_refused(tmp_path: Path, what: str) -> None:
    match what:
        case "file link":
            (tmp_path / "server.py").symlink_to("/etc/passwd")
        case "folder link":
            (tmp_path / "lib").symlink_to("/etc")
        case "fifo":
            os.mkfifo(tmp_path / "pipe")
        case "name":
            (tmp_path / "a b").write_text("x")
    with pytest.raises(BadTool):
        read_tool(tmp_path)


@pytest.mark.parametrize(("files", "fine"), [(f.MOST_FILES, True), (f.MOST_FILES + 1, False)])
def test_the_number_of_files(tmp_path: Path, files: int, fine: bool) -> None:
    laid(tmp_path, {f"f{number}": b"" for number in range(files)})
    if fine:
        assert len(read_tool(tmp_path)) == files
    else:
        with pytest.raises(BadTool, match="more than 100 files"):
            read_tool(tmp_path)


@pytest.mark.parametrize(("size", "fine"), [(f.MOST_BYTES, True), (f.MOST_BYTES + 1, False)])
def test_the_size_of_all_files(tmp_path: Path, size: int, fine: bool) -> None:
    laid(tmp_path, {"a": b"x" * 10, "b": b"x" * (size - 10)})
    if fine:
        assert sum(map(len, read_tool(tmp_path).values())) == size
    else:
        with pytest.raises(BadTool, match="larger than"):
            read_tool(tmp_path)


def test_what_is_kept_is_read_only_as_it_was(tmp_path: Path) -> None:
    workspace, files = Workspace(tmp_path), as_bytes(SKILL)
    version = ToolVersion("loop-notes", keep(workspace, "loop-notes", files), "scale", 0.0)
    laid_at = shelf(workspace, version.tool, version.version).stat().st_ino
    assert keep(workspace, "loop-notes", files) == version.version and len(version.version) == 64
    assert shelf(workspace, version.tool, version.version).stat().st_ino == laid_at
    assert kept(workspace, version) == dict(sorted(files.items()))
    folder = shelf(workspace, version.tool, version.version)
    (folder / "SKILL.md").chmod(0o644)
    (folder / "SKILL.md").write_text("do as I say\nnow\n")
    with pytest.raises(BadTool, match="were changed"):
        kept(workspace, version)
    with pytest.raises(BadTool, match="holds other files"):
        keep(workspace, "loop-notes", files)
    assert (folder / "SKILL.md").read_text() == "do as I say\nnow\n", "what is there is never replaced"
    other = shelf(workspace, version.tool, "0" * 64)
    folder.rename(other)
    folder.symlink_to(other)
    with pytest.raises(BadTool, match="is not in"):
        kept(workspace, version)


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("", "'name' is missing"),
        ('name = "kpd-tools"\nsummary = "x"', "cannot be a tool's name"),
        ('name = "a/b"\nsummary = "x"', "cannot be a tool's name"),
        ('name = "lint"\nsummary = "x"', "neither a server nor a skill"),
        ('name = "lint"\nsummary = "x\\n# Rules"', "summary is no line"),
        (f'name = "lint"\nsummary = "{"x" * 201}"', "summary is no line"),
        (f'name = "lint"\nsummary = "{"x" * 200}"', "neither a server nor a skill"),
        ('name = "lint"\nsummary = "x"\nserver = ["python3", "s.py"]', "without self_test and tests"),
        ('name = "lint"\nsummary = "x"\nports = 3', "unknown key 'ports'"),
        ('name = "lint"\nsummary = "x"\ncall_s = 121', "call_s"),
        ('name = "lint', "not TOML"),
    ],
)
def test_a_manifest_that_is_refused_says_why(toml: str, says: str) -> None:
    with pytest.raises(BadTool, match=says):
        read_manifest({"tool.toml": toml.encode()})


def test_a_command_finds_the_tools_own_files_and_kpds_python() -> None:
    files = as_bytes(server_tool())
    words = command(("python3", "server.py", "--self-test", "kernel.c", "tests/"), Path("/t"), files)
    assert words[0].endswith(("python", "python3", "python3.11", "python3.12", "python3.13")) and words[0][0] == "/"
    assert words[1:] == ("/t/server.py", "--self-test", "kernel.c", "/t/tests")


@pytest.mark.parametrize(
    ("text", "fine"), [("# Loops\n\nWhen one repeats work:\nmove it out.\n", True), ("# Loops\n\n", False), ("", False)]
)
def test_a_skill_says_something(text: str, fine: bool) -> None:
    assert (skill_trouble({"SKILL.md": text.encode()}) == "") is fine


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("call `word-count` or read it", ("word-count",)),
        ("mcp__loop-lint__find, then session/tools/trace/SKILL.md", ("loop-lint", "trace")),
        ("as in lint@3f2a91c07b44", ("lint",)),
        ("word-count counts, my-tools/xy, `a b`, `kpd`, `X`, mail@example", ("xy",)),
    ],
)
def test_what_the_words_of_a_tool_point_at(words: str, names: tuple[str, ...]) -> None:
    assert points({"SKILL.md": words.encode()}) == names
    assert points({"tool.toml": words.encode(), "SKILL.md": b"\xff", "server.py": b"`other`"}) == names
