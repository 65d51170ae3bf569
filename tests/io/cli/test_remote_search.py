"""What is sent to a far machine to find a workspace there, held against the rules that kpd itself goes by."""

import ast
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kpd.cli import remote_search
from kpd.workspace.paths import Workspace, WorkspaceError

SOURCE = Path(remote_search.__file__)


def look(where: Path | str, **env: str) -> dict[str, Any]:
    """As it runs there: no environment to speak of, no site packages."""
    known = {"PATH": os.environ["PATH"], "HOME": str(Path.home()), "LANG": "C", **env}
    command = [sys.executable, "-I", "-S", "-", str(where)]
    with SOURCE.open("rb") as source:
        done = subprocess.run(command, stdin=source, capture_output=True, env=known, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def short() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kpd", dir="/tmp") as folder:
        yield Path(folder).resolve()


def listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def test_an_old_python_can_read_it() -> None:
    ast.parse(SOURCE.read_text(), feature_version=(3, 6))
    tree = ast.parse(SOURCE.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("made", [
    ("tasks/", "config.toml"), ("tasks/", "config.toml.example"), ("tasks/", ".kpd/"), (".kpd/", ".kpd/events.db"),
    ("tasks/",), ("config.toml",), (".kpd/",), (), ("workspace/", "workspace/.kpd/"), ("workspace/",),
    ("workspace/", "workspace/tasks/", "workspace/config.toml"),
    ("config.toml.example", "kpd/", "kpd/workspace/", ".kpd/"), ("kpd/", "kpd/workspace/", ".kpd/"),
])  # fmt: skip
@pytest.mark.parametrize("below", ["", "tasks", "deep/er", "no such folder"])
def test_a_workspace_is_where_kpd_finds_it(tmp_path: Path, made: tuple[str, ...], below: str) -> None:
    root = tmp_path / "ws"
    (root / "deep" / "er").mkdir(parents=True)
    for name in made:
        (root / name).mkdir() if name.endswith("/") else (root / name).touch()
    where = root / below
    try:
        expected = str(Workspace.find(where).root)
    except WorkspaceError:
        expected = ""
    assert look(where)["root"] == expected


@pytest.mark.parametrize("name", ["kernels", "ein Ordner, mit Ümläuten", "x" * 60, "a'b$c"])
@pytest.mark.parametrize("runtime", ["", "run", "a-runtime-folder-that-is-too-long-" + "x" * 60])
def test_the_socket_is_where_the_daemon_has_it(
    short: Path, monkeypatch: pytest.MonkeyPatch, name: str, runtime: str
) -> None:
    """Though the daemon was started with an environment that nobody has now."""
    root = short / name
    (root / "tasks").mkdir(parents=True)
    (root / ".kpd").mkdir()
    if runtime:
        (short / runtime).mkdir()
    env = {"XDG_RUNTIME_DIR": str(short / runtime) if runtime else "", "TMPDIR": str(short)}
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(tempfile, "tempdir", None)
    workspace = Workspace(root)
    path = workspace.make_socket_folder()
    workspace.socket_note.write_text(str(path))
    assert look(root)["socket"] == ""
    with listen(path):
        assert look(root)["socket"] == str(path)
        path.parent.chmod(0o777)
        assert look(root)["socket"] == "", "others could have put it there"


def test_its_config_comes_with_it(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "config.toml").write_bytes(b"[tui]\n# \xff \x1b[2J\n")
    assert look(tmp_path)["config"] == "[tui]\n# \ufffd \x1b[2J\n"
