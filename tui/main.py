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
"""New objects between looks for cycles, where none comes earlier: with Python's own number a large state has many."""
SWITCH_S = 0.0005
"""After which the threads that read keys and write the screen have their turn while news are read."""

ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that end the UI; left to themselves they would leave the terminal as the UI had it."""


PATIENCE_S = 3.0
"""How long the UI may take to leave when it is told to: on a terminal that takes nothing any more it never would."""


class TerminalApp(KpdApp):
    """The UI that has a process to itself."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._terminal_as_found = _terminal_modes()
        self._before: dict[int, Any] = {}
        self._last: threading.Timer | None = None

    async def run_async(self, *args: Any, **named: Any) -> None:
        try:
            await super().run_async(*args, **named)
        finally:
            if self._last is not None:  # it has left; what comes after may take its time
                self._last.cancel()

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()

        def end(number: int, frame: object) -> None:
            """Leave as with q, but say with the exit code that it was for this signal."""
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
    """Return how the terminal is now, None where there is none."""
    try:
        return termios.tcgetattr(0)
    except (termios.error, OSError):
        return None


def terminal_app(
    connect: Connect, name: str, config: TuiConfig, read_only: bool = False, complaint: str = "", elsewhere: str = ""
) -> KpdApp:
    """Return the UI for the operator at this terminal, on a daemon that may be `elsewhere`; `name` is its workspace's."""
    gc.set_threshold(GC_THRESHOLD)
    sys.setswitchinterval(SWITCH_S)
    return TerminalApp(
        connect, name, config, read_only, complaint=complaint, clock=time.time, me=operator(), tidy=_tidy,
        elsewhere=elsewhere,
    )  # fmt: skip


def _tidy(whole: bool) -> None:
    """Look for cycles when a screen has just been painted: left to itself Python does while somebody waits for one.

    What came with a whole state lasts, and is not looked through again: with 10,000 iterations that takes 100 ms.
    """
    if whole:
        gc.freeze()
    else:
        gc.collect(1)


def run(workspace: Workspace, read_only: bool = False, low_bandwidth: bool = False) -> int:
    """Return the UI on the workspace's daemon, until the operator detaches. Gives the exit code."""
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
