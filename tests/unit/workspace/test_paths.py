"""Finding a workspace, its private socket, and which paths stay inside a folder."""

import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given, strategies as st

from kpd.workspace import paths
from kpd.workspace.paths import OutsideFolder, Workspace, WorkspaceError, inside


def workspace(root: Path) -> Path:
    (root / "tasks").mkdir(parents=True)
    (root / "config.toml").touch()
    return root


def test_found_from_below_from_the_environment_and_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace(tmp_path / "ws")
    deep = root / "tasks" / "one"
    deep.mkdir()
    (tmp_path / "link").symlink_to(root)
    monkeypatch.delenv("KPD_WORKSPACE", raising=False)
    monkeypatch.chdir(deep)
    assert Workspace.find() == Workspace.find(root) == Workspace.find(tmp_path / "link") == Workspace(root.resolve())
    other = workspace(tmp_path / "other")
    monkeypatch.setenv("KPD_WORKSPACE", str(other))
    assert Workspace.find().root == other.resolve()


def test_that_of_a_first_run_is_found_from_beside_it_and_from_below(tmp_path: Path) -> None:
    first = workspace(tmp_path / "workspace")
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    for start in (tmp_path, tmp_path / "docs" / "deep", first / "tasks"):
        assert Workspace.find(start).root == first.resolve()
    (tmp_path / "docs" / "workspace").mkdir()  # anybody's folder of that name
    assert Workspace.find(tmp_path / "docs").root == first.resolve()
    (tmp_path / "docs" / ".kpd").mkdir()
    assert Workspace.find(tmp_path / "docs").root == first.resolve(), "a daemon of one that was removed may leave that"
    (tmp_path / "docs" / ".kpd" / "events.db").touch()
    assert Workspace.find(tmp_path / "docs" / "deep").root == (tmp_path / "docs").resolve()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a folder that is somebody else's")
def test_somebody_elses_folder_beside_a_shared_one_is_no_workspace(tmp_path: Path) -> None:
    """Its config.toml has commands that kpd runs."""
    planted = workspace(tmp_path / "workspace")
    os.chown(planted, 12345, 12345)
    with pytest.raises(WorkspaceError, match="no workspace at"):
        Workspace.find(tmp_path)


def test_kpds_own_source_is_no_workspace_though_it_looks_like_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = workspace(tmp_path / "kpd")
    (source / "config.toml.example").touch()
    (source / "kpd" / "workspace").mkdir(parents=True)
    (source / ".kpd").mkdir()
    with pytest.raises(WorkspaceError, match="no workspace at"):
        Workspace.find(source / "tasks")
    monkeypatch.chdir(source / "tasks")
    assert Workspace.first().root == source.resolve() / "workspace"
    monkeypatch.chdir(tmp_path)
    assert Workspace.first().root == tmp_path.resolve() / "workspace"


def test_not_a_workspace_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    with pytest.raises(WorkspaceError, match=r"no workspace at .*; kpd start makes one in ./workspace, kpd init DIR"):
        Workspace.find(tmp_path)
    with pytest.raises(WorkspaceError, match="is not a folder; kpd init"):
        Workspace.find(tmp_path / "absent")


def test_socket_is_private_short_and_one_a_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Path("/tmp") / f"kpd-test-{os.getpid()}"
    runtime.mkdir(mode=0o700)
    try:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        one, two = Workspace(tmp_path / "a" / ("long name " * 20)), Workspace(tmp_path / "b" / ("long name " * 20))
        socket = one.make_socket_folder()
        assert socket.parent == runtime / "kpd-v1"
        assert socket != two.socket
        assert len(os.fsencode(socket)) <= paths.SOCKET_PATH_BYTES
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        socket.parent.chmod(0o755)
        assert one.make_socket_folder() == one.socket
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        socket.parent.chmod(0o770)
        with pytest.raises(WorkspaceError, match=r"others may write to .*; check its contents, then chmod 700"):
            _ = one.socket
    finally:
        (runtime / "kpd-v1").rmdir()
        runtime.rmdir()


def test_socket_falls_back_when_the_runtime_folder_is_absent_or_too_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    for runtime in ("", str(tmp_path / "absent"), "relative", str(deep)):
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        socket = Workspace(tmp_path).socket
        assert socket.parent.name == f"kpd-v1-{os.getuid()}"
        assert len(os.fsencode(socket)) <= paths.SOCKET_PATH_BYTES


def test_a_client_finds_the_socket_that_its_daemon_has_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon of a desktop session has a runtime folder; cron and sudo have none, or another one."""
    monkeypatch.setattr(paths, "SOCKET_PATH_BYTES", 1000)
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    workspace = Workspace(tmp_path / "ws")
    workspace.make_private()
    noted = workspace.make_socket_folder()
    workspace.socket_note.write_text(str(noted))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    assert workspace.socket != noted, "nothing is there any more"
    noted.touch()
    assert workspace.socket == noted
    assert workspace.make_socket_folder() != noted, "the next daemon goes by its own environment"
    copied = Workspace(tmp_path / "copy")
    copied.make_private()
    copied.socket_note.write_text(str(noted))
    assert copied.socket != noted, "a copy of a workspace does not command the daemon of the original"
    noted.parent.chmod(0o770)
    with pytest.raises(WorkspaceError, match="others may write to"):
        _ = workspace.socket
    workspace.socket_note.write_text("relative")
    assert workspace.socket == workspace.make_socket_folder()


def test_a_socket_folder_that_is_a_link_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "SOCKET_PATH_BYTES", 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "kpd-v1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="belongs to somebody else or is not a folder"):
        Workspace(tmp_path).make_socket_folder()


parts = st.one_of(
    st.sampled_from(["..", ".", "", "~", "/", "a", "link", "deep", "dir", "kernel.c", "\x00", "\n"]), st.text()
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("confined")
    home = base / "home"
    (home / "dir").mkdir(parents=True)
    (base / "secret").mkdir()
    (home / "link").symlink_to(base / "secret")
    (home / "dir" / "deep").symlink_to("../../secret")
    (home / "self").symlink_to("self")
    return home


@given(st.lists(parts, max_size=5).map("/".join))
@example("link/a")
@example("dir/deep/a")
@example("self")
@example("dir/../../secret/a")
def test_what_is_let_through_lies_inside(folder: Path, relative: str) -> None:
    try:
        path = inside(folder, relative)
    except OutsideFolder:
        return
    resolved = Path(os.path.realpath(path))
    assert resolved == Path(os.path.realpath(folder)) / PurePosixPath(relative)
    assert resolved != folder


@pytest.mark.parametrize(
    ("relative", "why"),
    [
        ("/etc/passwd", "is absolute"),
        ("~/x", "is absolute"),
        ("../x", "leaves the folder"),
        ("link/x", "'link' leads out of the folder"),
        ("self", "leads out of the folder"),
        ("./a", "simplest form"),
        ("a//b", "simplest form"),
        (".", "simplest form"),
        ("", "not a plain path"),
        ("a\nb", "not a plain path"),
        ("a\\b", "not a plain path"),
    ],
)
def test_reasons(folder: Path, relative: str, why: str) -> None:
    with pytest.raises(OutsideFolder, match=why):
        inside(folder, relative)
