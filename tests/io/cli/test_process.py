"""The CLI as people and scripts meet it: real processes, exit codes, and where each word is printed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kpd.cli.main import VERBS, main
from tests.places import ROOT
from tests.support.daemon.forked import run_kpd

Kpd = Callable[..., "subprocess.CompletedProcess[str]"]
ALL = [verb.name for _, group in VERBS for verb in group]


@pytest.fixture
def kpd(tmp_path: Path) -> Kpd:
    """Run `kpd ARGS` in an empty folder, with no terminal, no workspace and no daemon around."""
    here = tmp_path / "here"
    here.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith("KPD_")}
    env |= {"PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": ""}

    def run(*args: str, cwd: Path = here) -> "subprocess.CompletedProcess[str]":
        return run_kpd(*args, env=env, folder=cwd)

    return run


@pytest.fixture
def workspace(kpd: Kpd, tmp_path: Path) -> Path:
    root = tmp_path / "here" / "ws"
    assert kpd("init", str(root)).returncode == 0
    return root


def complaint(done: "subprocess.CompletedProcess[str]", code: int) -> str:
    """The one line on stderr of a command that failed with `code`."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("kpd: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_help_names_every_verb(kpd: Kpd) -> None:
    done = kpd("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"\n  {name} " in done.stdout for name in ALL)
    assert kpd("--version").stdout.startswith("kpd 0.")
    bare = kpd()
    assert (bare.returncode, bare.stdout) == (64, "")
    assert "VERB" in bare.stderr


@pytest.mark.parametrize("name", ALL)
def test_every_verb_has_a_module_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    assert f"kpd {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["statsu"], "no verb 'statsu'; did you mean status?"),
        (["frobnicate"], "no verb 'frobnicate'"),
        (["--bogus"], "unrecognized arguments: --bogus; see kpd --help"),
        (["status", "--bogus"], "unrecognized arguments: --bogus; see kpd status --help"),
        (["run"], "arguments are required: TASK; see kpd run --help"),
        (["run", "x", "--iterations", "0"], "must be a whole number above 0, not '0'"),
        (["steer", "--note", "1", "--withdraw", "2"], "not allowed with argument"),
        (["task"], "new|import|check|list"),
        (["task", "nwe", "x"], "kpd task has no verb 'nwe'; did you mean new?"),
        (["status"], "no workspace at"),
        (["-w", "absent", "status"], "absent is not a folder; kpd init absent"),
        (["status", "-w", "absent"], "absent is not a folder"),
        (
            ["status", "-w", "~nosuchuser/x"],
            "~nosuchuser/x: this machine has no home ~nosuchuser; write the path in full",
        ),
        (["init", "~nosuchuser/x"], "this machine has no home ~nosuchuser"),
        (["demo", "--headless", "--recording", "~nosuchuser/x"], "this machine has no home ~nosuchuser"),
    ],
)
def test_usage_errors_are_one_line_and_64(kpd: Kpd, args: list[str], told: str) -> None:
    assert told in complaint(kpd(*args), 64)


def test_control_characters_never_come_back_raw(kpd: Kpd) -> None:
    assert "␛[31mred is not a folder" in complaint(kpd("-w", "\x1b[31mred", "status"), 64)


def test_without_a_daemon_commands_say_so_and_questions_are_answered_from_the_log(kpd: Kpd, workspace: Path) -> None:
    for args in (["pause"], ["stop", "r1"], ["steer", "go"], ["memo", "r1.1", "x"]):
        assert "no daemon runs for this workspace; kpd start" in complaint(kpd("-w", str(workspace), *args), 3)
    status = kpd("status", cwd=workspace / "tasks")
    assert status.returncode == 0
    assert status.stdout.startswith("○ no daemon; kpd start")
    assert json.loads(kpd("status", "--json", "-w", str(workspace)).stdout)["pid"] is None
    assert json.loads(kpd("queue", "--json", "-w", str(workspace)).stdout)["queued"] == []
    assert json.loads(kpd("log", "--json", "-w", str(workspace)).stdout) == {"run": None, "iterations": []}
    assert "there is no run yet; kpd run TASK" in complaint(kpd("-w", str(workspace), "show", "r1.1"), 64)
    assert kpd("-w", str(workspace), "shutdown").returncode == 0
    assert not (workspace / ".kpd").exists()


def test_a_log_that_cannot_be_read_is_infrastructure(kpd: Kpd, workspace: Path) -> None:
    (workspace / ".kpd").mkdir(mode=0o700)
    (workspace / ".kpd" / "events.db").write_bytes(b"this is no database, not even a little one" * 100)
    assert "is damaged" in complaint(kpd("-w", str(workspace), "status"), 3)


def test_the_ui_needs_a_terminal(kpd: Kpd, workspace: Path) -> None:
    assert "needs a terminal" in complaint(kpd("-w", str(workspace), "start", "transpose_cpu"), 64)
    assert "kpd status" in complaint(kpd("-w", str(workspace), "attach"), 64)
    assert "no task 'transpose'; did you mean transpose_cpu?" in complaint(
        kpd("-w", str(workspace), "start", "transpose"), 64
    )


def test_a_task_goes_by_its_name_or_its_folder(kpd: Kpd, workspace: Path) -> None:
    for given in (
        "transpose_cpu",
        "tasks/transpose_cpu",
        "tasks/transpose_cpu/",
        str(workspace / "tasks/transpose_cpu"),
    ):
        assert "needs a terminal" in complaint(kpd("start", given, cwd=workspace), 64)
    assert "needs a terminal" in complaint(kpd("start", ".", cwd=workspace / "tasks" / "transpose_cpu"), 64)
    elsewhere = workspace.parent / "mine"
    elsewhere.mkdir()
    (elsewhere / "task.toml").touch()
    assert "../mine is not in" in complaint(kpd("run", "../mine", cwd=workspace), 64)


def test_the_readers_leaving_is_no_error(kpd: Kpd) -> None:
    command = f"{sys.executable} -m kpd.cli.main --help | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""
    closed = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m kpd.cli.main task list | exit 0"], cwd=ROOT, capture_output=True, text=True
    )
    assert closed.stderr == ""


HYGIENE = "import sys; from kpd.cli.main import main\ntry: main({args})\nexcept SystemExit: pass\nprint(*sys.modules)"


def test_help_and_usage_errors_import_nothing_heavy(kpd: Kpd, tmp_path: Path) -> None:
    for args in (["--help"], ["statsu"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", HYGIENE.format(args=args)], cwd=ROOT, capture_output=True, text=True, check=True
        )
        loaded = set(done.stdout.splitlines()[-1].split())
        kpds = {name for name in loaded if name.split(".")[0] in ("kpd", "tui")}
        rooms = {"main", "exit_codes", "parser", "terminal_text"}
        operations = {name for name in kpds if name.startswith("kpd.operations")}
        cleaner = {"kpd.text", "kpd.text.foreign"}
        assert kpds == {"kpd", "kpd.cli", "kpd.wire", *(f"kpd.cli.{room}" for room in rooms), *operations, *cleaner}
        assert "kpd.operations.checking" not in operations, "the codec is for those who take them"
        assert not loaded & {"asyncio", "socket", "dataclasses", "msgspec", "sqlite3", "tomli", "logging", "subprocess"}
