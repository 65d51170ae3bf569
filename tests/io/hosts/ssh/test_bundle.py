"""The helper's command line, read by real shells and by real and pretended Pythons."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.hosts.bundle import BOOTSTRAP, BOOTSTRAP_HERE, HELPER, bundle, command
from kpd.hosts.errors import HostError
from kpd.hosts.helper.wire import GREETING
from tests.support.patience import PATIENCE_S

SHELLS = [shell for shell in ("dash", "bash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox") if shutil.which(shell)]


def run(shell: str, python: str, home: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    argv = [shell, "sh", "-c"] if shell == "busybox" else [shell, "-c"]
    env = {"PATH": os.environ["PATH"], "HOME": str(home or "/")}
    return subprocess.run([*argv, command(python)], input=bundle(), capture_output=True, env=env, timeout=PATIENCE_S)


@pytest.mark.parametrize("shell", ["sh", *SHELLS])
def test_every_shell_starts_the_helper(shell: str, tmp_path: Path) -> None:
    odd = tmp_path / "a b" / "python3"
    odd.parent.mkdir()
    odd.symlink_to(sys.executable)
    for python in ("python3", str(odd), "~/a b/python3"):
        done = run(shell, python, tmp_path)
        assert (done.stdout, done.stderr, done.returncode) == (GREETING, b"", 0)


@pytest.mark.parametrize("shell", ["sh", *SHELLS])
def test_every_shell_says_that_there_is_no_such_python(shell: str) -> None:
    done = run(shell, "python-that-is-not-there")
    assert done.returncode != 0 and done.stdout == b""
    assert b"python-that-is-not-there" in done.stderr


@pytest.mark.parametrize("shell", ["sh", *SHELLS])
def test_every_shell_enters_a_container_first(shell: str) -> None:
    argv = [shell, "sh", "-c"] if shell == "busybox" else [shell, "-c"]
    line = command("python3", ("env", "A=b c;d&*", "nice", "-n", "1"))
    env = {"PATH": os.environ["PATH"], "HOME": "/"}
    done = subprocess.run([*argv, line], input=bundle(), capture_output=True, env=env, timeout=PATIENCE_S)
    assert (done.stdout, done.stderr, done.returncode) == (GREETING, b"", 0)


@pytest.mark.parametrize("word", ["", "a'b", "$HOME", "a!", "a\\b", "a\nb"])
def test_a_word_that_shells_read_in_their_own_ways_is_refused(word: str) -> None:
    with pytest.raises(HostError, match="shells read in their own ways") as caught:
        command("python3", ("docker", word))
    assert caught.value.kind == "config"


def test_the_command_has_nothing_that_a_shell_reads_in_its_own_way() -> None:
    line = command("python3")
    assert line.startswith("exec python3 -I -S -c '") and line.count("'") == 2
    assert not set(line) & set('"`\\!$\n')


@pytest.mark.parametrize("python", ["", "~/", "-c", "a'b", 'a"b', "a\\b", "a\nb", "a!b", "$HOME/python", "`id`"])
def test_what_is_no_program_is_refused(python: str) -> None:
    with pytest.raises(HostError) as caught:
        command(python)
    assert caught.value.kind == "config"


@given(st.text(min_size=1, max_size=30))
def test_no_python_ends_its_word(python: str) -> None:
    try:
        line = command(python)
    except HostError:
        return
    assert line.count("'") in (2, 4) and "\n" not in line
    assert line.removeprefix("exec ").removeprefix("~/").replace("'", "").startswith(python.removeprefix("~/"))


def pretending(tmp_path: Path, version: str) -> Path:
    """A python3 that believes itself to be of another version."""
    python = tmp_path / "python"
    believes = f"import sys; sys.version_info = ({version}); line = sys.argv[4]; del sys.argv[1:5]; exec(line)"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{believes}" "$@"\n')
    python.chmod(0o755)
    return python


def test_a_python_that_is_too_old_says_so(tmp_path: Path) -> None:
    done = run("sh", str(pretending(tmp_path, "3, 5, 10, 'final', 0")))
    assert done.returncode == 1 and done.stdout == b""
    assert done.stderr == b"kpd needs Python 3.6 or later, this is 3.5\n"


def test_a_python_that_is_just_new_enough_goes_on(tmp_path: Path) -> None:
    assert run("sh", str(pretending(tmp_path, "3, 6, 0, 'final', 0"))).stdout == GREETING


def test_an_old_python_can_parse_what_tells_it_so() -> None:
    ast.parse(BOOTSTRAP, feature_version=(3, 4))


def test_what_this_machine_keeps_compiled_is_run_only_where_it_is_what_has_arrived(tmp_path: Path) -> None:
    """A checkout that is changed while kpd runs, and one that cannot be read, have no part in it."""
    changed, gone = tmp_path / "helper", tmp_path / "gone"
    shutil.copytree(HELPER, changed, ignore=shutil.ignore_patterns("__pycache__"))
    (changed / "wire.py").write_text("raise SystemExit('another version')\n")
    for folder in (HELPER, changed, gone):
        argv = [sys.executable, "-I", "-S", "-c", BOOTSTRAP_HERE, str(folder)]
        done = subprocess.run(argv, input=bundle(), capture_output=True, timeout=PATIENCE_S)
        assert (done.stdout, done.stderr, done.returncode) == (GREETING, b"", 0)
    assert list(changed.glob("__pycache__/serve.*.pyc")), "what has arrived is kept"
    assert not list(changed.glob("__pycache__/wire.*.pyc"))
