"""The first commands of somebody who has no workspace yet, in a folder of their own and in kpd's source."""

import json
import shutil
import subprocess
import sys

from tests.places import ROOT
from tests.support.cli.shell import Shell, here, runtime
from tests.support.patience import PATIENCE_S

__all__ = ["here", "runtime"]

SAID = ("Installing kpd and its dependencies", "docs/dependencies.md says what it is", "pip install", "export PATH=")


def test_commands_that_only_look_or_go_wrong_make_nothing(here: Shell) -> None:
    for args in (["status"], ["log"], ["doctor"], ["pause"], ["attach"], ["daemon"], ["task", "new", "x"]):
        done = here.kpd(*args)
        assert (done.returncode, done.stdout) == (64, "")
        assert "no workspace at" in done.stderr
        assert "kpd start makes one in ./workspace" in done.stderr
    assert "did you mean transpose_cpu?" in here.kpd("run", "transpose").stderr
    assert "needs a terminal" in here.kpd("start", "transpose_cpu").stderr
    assert "nowhere is not a folder" in here.kpd("-w", "nowhere", "run", "transpose_cpu").stderr
    assert "no workspace at" in here.kpd("-w", ".", "run", "transpose_cpu").stderr
    assert "transpose_cpu" in here.kpd("task", "list").stdout
    assert list(here.folder.iterdir()) == []


def test_make_says_what_it_installs_before_it_does_and_how_to_type_kpd_then(here: Shell) -> None:
    told = ["make", "--dry-run", "--no-print-directory", "-C", str(ROOT), f"VENV={here.folder}/v", "start"]
    done = subprocess.run(told, capture_output=True, text=True, check=True)
    what, how_long, installs, done_then = (done.stdout.index(part) for part in SAID)
    assert what < how_long < installs < done_then


def test_a_first_run_makes_a_workspace_and_starts_the_daemon(here: Shell) -> None:
    done = here.kpd("run", "transpose_cpu")
    assert (done.returncode, done.stdout) == (0, "r1\n")
    told = done.stderr.splitlines()
    root = here.folder.resolve() / "workspace"
    assert told[0].startswith(f"made a workspace, {root}: ")
    assert told[1] == "started the daemon, in the background; kpd shutdown ends it"
    assert [path.name for path in here.folder.iterdir()] == ["workspace"]
    status = json.loads(here.kpd("status", "--json").stdout)
    assert (status["workspace"], list(status["runs"])) == (str(root), ["r1"])
    again = here.kpd("run", str(ROOT / "tasks" / "transpose_cpu"))
    assert (again.stdout, again.stderr.splitlines()[0]) == ("r2\n", "queued; kpd attach or kpd log -f r2 watches it")
    _removed_under_its_daemon_it_is_made_anew(here, status["pid"])


def _removed_under_its_daemon_it_is_made_anew(here: Shell, pid: int) -> None:
    shutil.rmtree(here.folder / "workspace", ignore_errors=True)  # the daemon may be writing there
    done = here.kpd("run", "transpose_cpu")
    assert done.returncode == 0, done.stderr
    assert "ended the daemon of the former " in done.stderr
    status = json.loads(here.kpd("status", "--json").stdout)
    assert status["pid"] != pid
    assert (len(status["runs"]), status["held"]) == (1, "")
    assert (here.folder / "workspace" / "config.toml").exists()


def test_two_first_runs_at_once_share_what_they_make(here: Shell) -> None:
    command = (sys.executable, "-m", "kpd.cli.main", "run", "transpose_cpu")
    both = [here.popen(*command) for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE_S) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sorted(out for out, _ in said) == ["r1\n", "r2\n"]
    assert [path.name for path in here.folder.iterdir()] == ["workspace"]


def test_a_folder_that_has_the_name_already_stays_as_it_is(here: Shell) -> None:
    (here.folder / "workspace").mkdir()
    (here.folder / "workspace" / "thesis.tex").touch()
    done = here.kpd("run", "transpose_cpu")
    assert done.returncode == 64
    assert "workspace is there already, and no workspace of kpd's; kpd init DIR makes one elsewhere" in done.stderr
    assert [path.name for path in (here.folder / "workspace").iterdir()] == ["thesis.tex"]


def test_kpds_source_is_made_no_workspace(runtime: str) -> None:
    done = Shell(ROOT, runtime).kpd("init")
    assert done.returncode == 64
    assert "is kpd's own source, which no run may change; kpd init workspace" in done.stderr
