"""Sends a daemon signals and reads what it said."""

import signal
from typing import Any

from tests.support.daemon.real_daemon import RealDaemon


def said(daemon: RealDaemon, text: str) -> Any:
    return daemon.until(
        lambda: next((one for e in daemon.events("noticed") if text in (one := e["body"]["text"])), None), text
    )


def send(daemon: RealDaemon, number: signal.Signals) -> None:
    assert daemon.process is not None
    daemon.process.send_signal(number)
