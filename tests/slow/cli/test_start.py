"""kpd start, attach and shutdown with the real daemon and the real UI in a pseudo-terminal."""

import signal
import subprocess
import time
from pathlib import Path

from kpd.cli.daemon import MOST_LOG
from tests.support.cli.terminal import PATIENCE_S, Place, Terminal, place

__all__ = ["place"]


def test_a_config_that_is_wrong_keeps_the_daemon_from_starting_and_says_where(place: Place) -> None:
    place.ws.config.write_text("[run]\nitterations = 3\n")
    done = place.kpd("daemon")
    assert done.returncode == 64
    assert f"{place.ws.config}:2: unknown key 'itterations' in [run]; did you mean 'iterations'?" in done.stderr
    terminal = Terminal(place, "start", "axpy")
    terminal.until("the daemon did not start: it ended with code 64")
    assert "did you mean 'iterations'?" in terminal.said
    assert terminal.code() == 64


def test_start_attaches_and_q_leaves_the_daemon_going(place: Place) -> None:
    (place.ws.root / "select.py").write_text("raise SystemExit('what lies in a workspace is not for importing')")
    place.ws.make_private()
    place.ws.log.write_bytes(b"old\n" * MOST_LOG)
    terminal = Terminal(place, "start", "axpy", "--iterations", "2")
    terminal.until("r1: axpy is queued")
    assert Path(f"{place.ws.log}.1").stat().st_size > MOST_LOG > place.ws.log.stat().st_size
    terminal.said = ""
    terminal.until("axpy")  # in the UI
    terminal.press("q")
    terminal.until("detached: the daemon goes on. kpd attach comes back, kpd shutdown ends it.")
    assert terminal.code() == 0
    pid = place.pid()
    assert pid is not None
    again = Terminal(place, "attach", "--read-only")
    again.until("r1")
    again.press("q")
    again.until("detached")
    assert again.code() == 0
    assert place.pid() == pid
    assert place.kpd("shutdown").returncode == 0
    assert place.pid() is None


def test_the_daemon_in_the_foreground_queues_and_ends_with_its_signal(place: Place) -> None:
    command = [*place.command, "start", "--headless", "axpy", "--iterations", "1"]
    daemon = subprocess.Popen(command, env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert daemon.stdout is not None
    assert daemon.stdout.readline() == "r1\n"
    assert place.pid() == daemon.pid
    second = place.kpd("daemon")
    assert second.returncode == 1
    assert "a daemon runs already" in second.stderr
    again = place.kpd("start", "--headless", "axpy")
    assert (again.returncode, again.stdout) == (0, "r2\n")
    assert "a daemon runs already: the tasks go into its queue" in again.stderr
    bare = place.kpd("start", "--headless")
    assert (bare.returncode, bare.stdout) == (0, "")
    assert bare.stderr == "a daemon runs already: there is nothing to start; kpd run TASK queues a run\n"
    daemon.send_signal(signal.SIGTERM)
    _, err = daemon.communicate(timeout=PATIENCE_S)
    assert daemon.returncode == 0
    assert "Traceback" not in err
    assert place.pid() is None


def test_a_real_run_from_the_command_line(place: Place) -> None:
    daemon = subprocess.Popen([*place.command, "daemon"], env=place.env, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    while place.pid() is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    done = place.kpd("run", "axpy", "--iterations", "1", "--wait")
    assert done.returncode in (0, 2), done.stderr
    assert done.stdout == "r1\n"
    assert "r1.0  ◆ baseline" in done.stderr
    shown = place.kpd("show", "r1.0")
    assert shown.returncode == 0, shown.stderr
    assert "CASE" in shown.stdout
    again = place.kpd("show", "r1.1", "--rederive")
    assert (again.returncode, "✓ the same verdict" in again.stdout) == (0, True), again.stdout + again.stderr
    assert "kernel.c" in place.kpd("diff", "r1.1").stdout + place.kpd("show", "r1.1").stdout
    assert "✗" not in place.kpd("task", "check", "--static").stdout
    daemon.terminate()
    assert daemon.wait(PATIENCE_S) == 0
