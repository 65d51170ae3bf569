"""Streams that are closed or full: the exit code says what it says otherwise, and no word of Python's comes out."""

from pathlib import Path

import pytest

from tests.support.cli.pipes import Shell, shell

__all__ = ["shell"]
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, where every write fails")


@pytest.mark.parametrize("verb", ["status", "status --json", "task list", "hosts --json", "doctor", "queue --json"])
def test_what_was_asked_for_and_cannot_be_printed_is_an_error(shell: Shell, verb: str) -> None:
    done = shell(f"{verb} >&-")
    assert (done.returncode, done.stderr) == (3, "kpd: stdout: it is closed; check the path, its owner and the disk\n")


@pytest.mark.parametrize(("verb", "told"), [("queue", "the queue is empty"), ("log", "no run"), ("nosuch", "no verb")])
def test_where_nothing_was_to_be_printed_a_closed_stdout_is_no_matter(shell: Shell, verb: str, told: str) -> None:
    done, usual = shell(f"{verb} >&-"), shell(verb)
    assert (done.returncode, done.stderr) == (usual.returncode, usual.stderr)
    assert told in done.stderr
    assert usual.stdout == ""


@full
def test_a_full_stderr_leaves_the_exit_code(shell: Shell) -> None:
    assert shell("nosuch 2>/dev/full").returncode == 64
    assert shell("pause 2>/dev/full").returncode == 3
    assert shell("queue 2>/dev/full").returncode == 0
    assert shell("status >/dev/full 2>/dev/full").returncode == 3
    done = shell("status >/dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
