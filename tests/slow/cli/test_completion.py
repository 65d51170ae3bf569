"""Tab in real shells: bash and zsh at a terminal, fish by its own way to ask for completions."""

import os
import pty
import re
import select
import shlex
import shutil
import signal
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli.shell import Shell, here, runtime
from tests.support.patience import PATIENCE_S

__all__ = ["here", "runtime"]
HOSTILE = "a $(touch pwned) `touch pwned` ;touch pwned; \\ \" ' b:c*"
LIMIT_S = PATIENCE_S


def program(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        reason = f"no {shell} here; install it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


class Typed:
    """A shell at a terminal, in a workspace, with kpd on its PATH and its completion read."""

    def __init__(self, shell: str, ws: Path, env: dict[str, str]) -> None:
        flags = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
        path = program(shell)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(ws)
            os.execve(path, [shell, *flags], {**env, "PS1": "> ", "TERM": "dumb"})
        termios.tcsetwinsize(self.terminal, (24, 400))
        self.run("autoload -Uz compinit; compinit -D" if shell == "zsh" else "true")
        self.run(f'eval "$(kpd completion {shell})"')

    def run(self, line: str) -> str:
        """Type `line`, with its tabs, and Enter; what the terminal shows until the shell is done."""
        os.write(self.terminal, f"{line}\recho fin''ished\r".encode())
        return self.until("finished")

    def until(self, word: str) -> str:
        seen, end = "", time.monotonic() + LIMIT_S
        while word not in seen:
            assert time.monotonic() < end, seen
            if select.select([self.terminal], [], [], 0.2)[0]:
                seen += os.read(self.terminal, 65536).decode(errors="replace")
        return seen

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.fixture
def ws(here: Shell, tmp_path: Path) -> Path:
    """A workspace with a task of a hostile name and two runs' folders; `kpd` of this source stands on the PATH."""
    assert here.kpd("init", ".").returncode == 0
    task = here.folder / "tasks" / HOSTILE
    task.mkdir()
    (task / "task.toml").touch()
    (here.folder / "tasks" / "b\x1b[2J\nc").mkdir()
    (here.folder / "tasks" / "b\x1b[2J\nc" / "task.toml").touch()
    for name in ("r1/iter_0000", "r12/iter_0003"):
        (here.folder / "runs" / "softmax_cuda" / name).mkdir(parents=True)
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "kpd").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kpd.cli.main "$@"\n')
    (bin / "kpd").chmod(0o755)
    here.env["PATH"] = f"{bin}:{here.env['PATH']}"
    here.env |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    return here.folder


@pytest.fixture(params=["bash", "zsh"])
def typed(request: pytest.FixtureRequest, ws: Path, here: Shell) -> Iterator[Typed]:
    shell = Typed(request.param, ws, here.env)
    yield shell
    shell.close()


def asked(here: Shell, text: str) -> dict[str, str]:
    """What fish offers after `text`, with what it says of each."""
    lines = here(program("fish"), "-c", f"kpd completion fish | source; complete -C {shlex.quote(text)}")
    assert lines.stderr == ""
    return {name: help for name, _, help in (line.partition("\t") for line in lines.stdout.splitlines())}


def test_a_name_that_is_code_is_completed_and_never_executed(typed: Typed, ws: Path) -> None:
    assert f"✗ {HOSTILE}\r\n" in typed.run("kpd task check a\t")
    assert not list(ws.rglob("pwned"))


def test_verbs_iterations_and_hosts_are_completed(typed: Typed) -> None:
    assert "kpdshowr12.3" in bare(typed.run("kpd sho\tr12.\t"))
    assert "kpdhostsretrylocal" in bare(typed.run("kpd hosts re\tlo\t"))
    assert "truekpdrun--hostlocal" in bare(typed.run("true && kpd run --hos\tlo\t"))


def bare(shown: str) -> str:
    """Without blanks and without what moves the cursor."""
    return re.sub(r"[^\w.-]", "", shown)


def test_nothing_is_said_where_nothing_can_be_known(typed: Typed) -> None:
    shown = typed.run("kpd -w /nowhere stop \t").replace("\r", "")
    assert shown.count("/nowhere is not a folder") == 1  # of the command itself
    assert "Traceback" not in shown


def test_fish_has_verbs_options_and_names_with_what_they_are(ws: Path, here: Shell) -> None:
    assert asked(here, "kpd stat") == {"status": "show what runs where, what waits, and what needs you"}
    assert asked(here, "kpd stop ") == {"r12": "softmax_cuda", "r1": "softmax_cuda"}
    assert list(asked(here, "true; kpd diff r1.0 r12.")) == ["r12.3"]
    assert list(asked(here, "kpd run softmax_cuda --hos")) == ["--host"]
    assert list(asked(here, "kpd run softmax_cuda --host ")) == ["local"]
    assert list(asked(here, "kpd run softmax_cuda --agent claude,s")) == ["claude,script", "claude,sweep"]
    assert list(asked(here, "kpd hosts retry ")) == ["local"]
    assert list(asked(here, "kpd task check softmax_c")) == ["softmax_cuda"]
    assert not any(not name.isprintable() for name in asked(here, "kpd run "))
    assert HOSTILE in asked(here, "kpd run a")
    assert not list(ws.rglob("pwned"))
    assert set(asked(here, "kpd move r1 ")) == {"up", "down", "top", "bottom"}


def test_a_daemon_says_what_its_hosts_are_and_which_rules_it_has(ws: Path, here: Shell) -> None:
    daemon = here.popen(sys.executable, "-m", "kpd.cli.main", "daemon")
    end = time.monotonic() + LIMIT_S
    while not asked(here, "kpd rules pin "):
        assert time.monotonic() < end and daemon.poll() is None
    assert "local" in asked(here, "kpd doctor ")
    assert "softmax_cuda" in asked(here, "kpd memory soft")
    assert asked(here, "kpd skills ")
    here.kpd("shutdown", "--now")
    daemon.communicate(timeout=LIMIT_S)
