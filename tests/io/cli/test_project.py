"""kpd project: a production program told, checked, and restored without a daemon."""

import json
import subprocess
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from tests.support.cli.places import MINE, ws
from tests.support.production.provers import BUILD, FASTER, SOURCE, FarSide, built, content, made

__all__ = ["ws"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program; what its host keeps for kpd lies in the test's own home."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    made(tmp_path / "prover")
    return tmp_path / "prover"


def kpd(ws: Workspace, *args: str) -> int:
    return main(["-w", str(ws.root), "project", *args])


def add(ws: Workspace, root: Path, build: str = BUILD) -> int:
    return kpd(
        ws, "add", "prover", "--host", "local", "--root", str(root), "--files", "src/kernel.c", "--binary",
        "target/prover", "--build-dir", "target", "--build", build, "--run", "target/prover", "--kernel", "twice",
    )  # fmt: skip


def test_a_project_is_appended_and_all_else_stays(
    ws: Workspace, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(ws, root) == 0
    assert ws.config.read_bytes().startswith(MINE)
    found = load_config(ws).project["prover"]
    assert (found.root, found.files, found.build) == (str(root), ("src/kernel.c",), BUILD)
    assert add(ws, root) == 64
    assert "there is a project prover already" in capsys.readouterr().err
    assert kpd(ws, "list", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["prover"]


def test_what_is_missing_is_asked_for_by_name(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    before = ws.config.read_bytes()
    assert kpd(ws, "add", "prover", "--host", "local", "--root", "/x", "--files", "a.cu") == 64
    assert "--binary" in capsys.readouterr().err
    assert ws.config.read_bytes() == before


def test_a_run_is_refused_for_its_arguments_before_anything_is_done(
    ws: Workspace, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(ws, root)
    capsys.readouterr()
    for words, told in (
        (("--task", "../prover"), "'../prover' is not a task's name; use letters, digits, _ and -"),
        (("--timeout", "5s"), "--timeout limits the waiting of --wait; add --wait"),
        (("--arch", "sm90"), "'sm90' is not an architecture"),
        (("--observed", "nowhere.json"), "nowhere.json: cannot be read: No such file"),
        (("--writer", "nobody"), "there is no agent nobody"),
        ((), "nothing would notice a wrong result of prover, so nothing could be deployed"),
    ):
        assert kpd(ws, "run", "prover", *words) == 64
        assert told in capsys.readouterr().err
    assert not (ws.root / "refs").exists()


def test_config_env_becomes_a_project(ws: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = tmp_path / "config.env"
    env.write_text(
        "ANTHROPIC_API_KEY=sk-ant-secret\nSSH_HOST=old\nSSH_USER=me\nKERNEL_NAME=transpose_kernel\n"
        "REMOTE_BASEDIR=/home/me/vm\nREMOTE_KERNEL_CU=/home/me/vm/gpu/t.cu\n"
        "REMOTE_BINARY=/home/me/vm/target/release/single-node\nNO_PROGRESS_PATIENCE=4\n"
    )
    assert kpd(ws, "import", str(env)) == 0
    told = capsys.readouterr()
    found = load_config(ws).project["transpose_kernel"]
    assert (found.host, found.build, found.run) == ("old", "cargo build --release", "target/release/single-node")
    assert "NO_PROGRESS_PATIENCE=4: write it as patience in [run]" in told.err
    assert "sk-ant" not in told.err + told.out + ws.config.read_text()
    env.write_text(env.read_text() + "HARNESS_ODD=1\n")
    assert kpd(ws, "import", str(env), "--name", "other") == 64
    assert f"{env}:9: kpd has nothing for HARNESS_ODD" in capsys.readouterr().err


def test_status_and_restore_need_no_daemon(
    ws: Workspace, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(ws, root)
    capsys.readouterr()
    assert kpd(ws, "status") == 0
    assert "kpd has never changed it" in capsys.readouterr().out
    far = FarSide(load_config(ws).project["prover"], tmp_path / "home" / ".local" / "state" / "kpd")
    far.begin("one", 300.0)
    (root / "new").write_bytes(FASTER)
    sha = subprocess.run(["sha256sum", root / "new"], capture_output=True, text=True, check=True).stdout.split()[0]
    far.ask("put", id="one", path="src/kernel.c", content=str(root / "new"), sha=sha)
    assert kpd(ws, "status", "prover") == 0
    told = capsys.readouterr().out
    assert "a test changes it: to see" in told and "restored by itself in" in told
    assert "src/kernel.c: as kpd has left it" in told
    assert content(root)[0] == FASTER
    assert kpd(ws, "restore", "prover") == 0
    assert content(root) == built(SOURCE)
    assert kpd(ws, "restore", "nobody") == 64
    assert "no project 'nobody'" in capsys.readouterr().err
