"""Runs the UI on an operator's terminal, with their settings."""

import asyncio
import contextlib
import gc
import os
import signal
import sys
import termios
import threading
import time
from typing import Any

from kpd.client import operator
from kpd.workspace.config import Config, TuiConfig, load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.strict import ConfigError
from tui.app import KpdApp
from tui.model.feed import Connect, dialling

GC_THRESHOLD = 50_000
"""New objects between two garbage collections: with Python's default a large state would cause many."""
SWITCH_S = 0.0005
"""Seconds after which the threads that read keys and write the screen may run while messages are read."""

ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that end the UI; without a handler they would leave the terminal in the UI's mode."""


PATIENCE_S = 3.0
"""Seconds that the UI may take to leave after a signal: on a terminal that no longer accepts output it never would."""


class TerminalApp(KpdApp):
    """The app in a process of its own, on a terminal."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._terminal_as_found = _terminal_modes()
        self._before: dict[int, Any] = {}
        self._last: threading.Timer | None = None

    async def run_async(self, *args: Any, **named: Any) -> None:
        try:
            await super().run_async(*args, **named)
        finally:
            if self._last is not None:  # the UI has ended; what follows has no time limit
                self._last.cancel()

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()

        def end(number: int, frame: object) -> None:
            """Leave as with q, with an exit code that names the signal."""
            code = 128 + number
            if self._last is None:
                self._last = threading.Timer(PATIENCE_S, self._give_up, (code,))
                self._last.daemon = True
                self._last.start()
            loop.call_soon_threadsafe(lambda: self.exit(return_code=code))

        # Not the loop's own handlers: they would wait for a loop that waits for the terminal.
        self._before = {number: signal.signal(number, end) for number in ENDS}

    def on_unmount(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _give_up(self, code: int) -> None:
        if self._terminal_as_found is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(0, termios.TCSANOW, self._terminal_as_found)
        os._exit(code)


def _terminal_modes() -> list[Any] | None:
    """Return the present settings of the terminal; None where there is no terminal."""
    try:
        return termios.tcgetattr(0)
    except (termios.error, OSError):
        return None


def terminal_app(
    connect: Connect, name: str, config: TuiConfig, read_only: bool = False, complaint: str = "", elsewhere: str = ""
) -> KpdApp:
    """Make the app for the operator at this terminal.

    `name` is the workspace's; `elsewhere` is the machine that it is on, if it is another one.
    """
    gc.set_threshold(GC_THRESHOLD)
    sys.setswitchinterval(SWITCH_S)
    return TerminalApp(
        connect, name, config, read_only, complaint=complaint, clock=time.time, me=operator(), tidy=_tidy,
        elsewhere=elsewhere,
    )  # fmt: skip


def _tidy(whole: bool) -> None:
    """Collect garbage just after a paint: at another moment Python's own collector would make somebody wait.

    What came with a whole state lasts, and is not searched again: with 10,000 iterations that takes 100 ms.
    """
    if whole:
        gc.freeze()
    else:
        gc.collect(1)


def run(workspace: Workspace, read_only: bool = False, low_bandwidth: bool = False) -> int:
    """Run the UI on the workspace's daemon until the operator detaches. Return the exit code."""
    config, complaint = Config(), ""
    try:
        config = load_config(workspace)
    except ConfigError as err:
        complaint = str(err)
    tui = config.tui.thin() if low_bandwidth else config.tui
    connect = dialling(lambda: workspace.socket, read_only, "brief" if tui.low_bandwidth else "full")
    app = terminal_app(connect, workspace.root.name, tui, read_only, complaint)
    app.run()
    return app.return_code or 0
