"""The tables [project.NAME] of config.toml."""

from pathlib import Path

import pytest

from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.strict import ConfigError

WHOLE = """\
[project.prover]
host = "local"
root = "~/prover"
files = ["gpu/transpose.cu"]
binary = ["target/release/single-node"]
build_dir = "target"
build = "cargo build --release"
run = "target/release/single-node"
kernel = "transpose_kernel"
"""


def read(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    load_config(Workspace(tmp_path))


def test_a_whole_project(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(WHOLE)
    found = load_config(Workspace(tmp_path)).project["prover"]
    assert (found.written, found.limit_build_s, found.limit_run_s) == (
        ("target/release/single-node", "gpu/transpose.cu"), 1200.0, 600.0,
    )  # fmt: skip
    assert (found.approve, found.top, found.split) == (True, 5, 2.5)


@pytest.mark.parametrize("key", ["host", "root", "files", "binary", "build_dir", "build", "run", "kernel"])
def test_a_key_without_default_is_asked_for(key: str, tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in WHOLE.splitlines() if not line.startswith(f"{key} "))
    with pytest.raises(ConfigError, match=rf"'{key}' in \[project.prover\] is missing"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('host = "gpu7"', "'host' in [project.prover] names 'gpu7'; known hosts are local"),
        ('root = "prover"', "'root' in [project.prover] is no absolute path"),
        ('root = "~/../other"', "is no absolute path"),
        ('root = "/"', "is too much"),
        ('root = "~/"', "is too much"),
        ('files = ["/etc/passwd"]', "'files' in [project.prover] has '/etc/passwd', which is not below the root"),
        ('files = ["../a.cu"]', "not below the root"),
        ('files = ["gpu/./a.cu"]', "not below the root"),
        ('files = ["."]', "not below the root"),
        ("files = []", "'files' in [project.prover] must be"),
        ('files = ["gpu/a.cu", "gpu/a.cu"]', "'files' in [project.prover] has 'gpu/a.cu' twice"),
        ('files = ["target/a.cu"]', "which lies in build_dir"),
        ('binary = ["gpu/transpose.cu"]', "has 'gpu/transpose.cu' twice"),
        ('build_dir = ".."', "not below the root"),
        ('cwd = "/tmp"', "'cwd' in [project.prover] has '/tmp'"),
        ('outputs = ["~/proof"]', "not below the root"),
        ('kernel = "a b"', "is no name of a function"),
        ('env = { "A-B" = "x" }', "'env' in [project.prover] has 'A-B', which is no variable"),
        ('limit_build = "20 min"', "'limit_build' in [project.prover] is wrong: '20 min' is no duration"),
        ('limit_run = "0s"', "is no duration"),
        ('bild = "make"', "unknown key 'bild' in [project.prover]; did you mean 'build'?"),
        ("top = 0", "'top' in [project.prover] must be an integer, at least 1"),
        ("approve = 1", "must be true or false"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line: str, message: str, tmp_path: Path) -> None:
    key = line.partition(" ")[0]
    rows = [row for row in WHOLE.splitlines() if not row.startswith(f"{key} ")]
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, "\n".join([*rows, line, ""]))
    assert message in str(caught.value)
    assert caught.value.line == len(rows) + 1


def test_a_build_in_the_whole_root_may_have_sources_there(tmp_path: Path) -> None:
    read(tmp_path, WHOLE.replace('build_dir = "target"', 'build_dir = "."'))


def test_names(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be a project's name"):
        read(tmp_path, WHOLE.replace("project.prover", 'project."a/b"'))
