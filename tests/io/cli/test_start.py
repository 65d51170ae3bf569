"""kpd start, attach and shutdown with the real daemon and the real UI in a pseudo-terminal."""

from pathlib import Path

from kpd.cli.daemon import MOST_LOG
from tests.support.cli.terminal import Place, Terminal, place

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
