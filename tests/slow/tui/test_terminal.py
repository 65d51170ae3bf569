"""How the UI leaves its terminal, in a real one: restored, also when it is told to end by a signal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

from tests.support.patience import PATIENCE_S

APP = """
import sys
from kpd.workspace.config import TuiConfig
from tests.support.tui import logs
from tests.support.tui.feed import CannedFeed
from tui.main import terminal_app

feed = CannedFeed(logs.running())

async def connect():
    return feed

app = terminal_app(connect, "kernels", TuiConfig())
app.run()
print("commands", feed.commands, flush=True)
sys.exit(app.return_code)
"""
pytestmark = pytest.mark.skipif(
    sys.platform == "darwin", reason="a terminal there ends reads with EIO at other moments"
)


class Terminal:
    """A UI in a process with a terminal of its own; what that has been sent so far and nobody waited for is `seen`."""

    def __init__(self) -> None:
        self.seen = ""
        self.fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        env = {**os.environ, "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", APP], stdin=theirs, stdout=theirs, stderr=theirs, env=env,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def until(self, wanted: str) -> str:
        """What came up to the first match of `wanted`, which is taken."""
        end = time.monotonic() + PATIENCE_S
        while (found := re.search(wanted, self.seen, re.DOTALL)) is None and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        assert found is not None, f"{wanted!r} never came: {self.seen[-2000:]!r}"
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before


@pytest.fixture(name="terminal")
def _terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    try:
        terminal.until("r1.6")
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.fd)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_ends_the_ui_leaves_the_terminal_as_q_does(terminal: Terminal, number: signal.Signals) -> None:
    terminal.process.send_signal(number)
    last = terminal.until("commands")
    for restored in ("\x1b[?1049l", "\x1b[?1000l", "\x1b[?1003l", "\x1b[?25h", "\x1b[?2004l"):
        assert restored in last
    assert terminal.process.wait(PATIENCE_S) == 128 + number


def stalled(terminal: Terminal) -> None:
    """Have more drawn than a terminal that nobody reads takes."""
    for _ in range(60):
        for tab in b"2534671":
            os.write(terminal.fd, bytes([tab]))
            time.sleep(0.002)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_takes_nothing_does_not_keep_it(terminal: Terminal, number: signal.Signals) -> None:
    stalled(terminal)
    terminal.process.send_signal(number)
    assert terminal.process.wait(PATIENCE_S) == 128 + number


def test_q_ends_it_with_zero(terminal: Terminal) -> None:
    terminal.type("q")
    assert "\x1b[?1049l" in terminal.until("commands")
    assert terminal.process.wait(PATIENCE_S) == 0


def test_keys_in_one_packet_reach_the_box_that_the_first_of_them_opens(terminal: Terminal) -> None:
    terminal.type("stry -O3\rand then -O2\r")
    terminal.until("Steer r1")
    terminal.type("\x1b")
    time.sleep(0.5)  # a lone escape is one only after a while
    terminal.type("q")
    sent = [("steer", {"run": "r1", "text": text}) for text in ("try -O3", "and then -O2")]
    assert str(sent) in terminal.until(r"commands [^\n]*\n")
