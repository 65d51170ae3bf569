"""The UI's way to a daemon on this machine: one that is frozen is noticed, and nothing waits for it."""

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from tests.support.cli.terminal import Place, Terminal, place
from tests.support.patience import PATIENCE_S
from tests.support.wire.welcome import WELCOME

__all__ = ["place"]


# ── a thin line ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("table", "hz"),
    [
        ("", 2.0),
        ("low_bandwidth = true", 0.5),
        ("low_bandwidth = true\nrefresh_hz = 0.1", 0.1),
        ("refresh_hz = 1.5", 1.5),
    ],
)
def test_a_thin_line_slows_the_screen_down(tmp_path: Path, table: str, hz: float) -> None:
    (tmp_path / "config.toml").write_text(f"[tui]\n{table}\n")
    config = load_config(Workspace(tmp_path)).tui
    assert config.refresh_hz == hz
    assert config.thin().refresh_hz == min(hz, 0.5)
    assert config.thin() == config.thin().thin()


def said_to(listener: socket.socket, lines: list[dict[str, object]], enough: threading.Event) -> None:
    """Take connections as a daemon would, and keep what the first one says that asks for anything."""
    while True:
        connection, _ = listener.accept()
        lines.clear()  # whoever came before has only asked whether a daemon is there
        with connection, connection.makefile("rwb") as stream:
            for number, line in enumerate(stream, start=2):
                lines.append(json.loads(line))
                stream.write(WELCOME % number if number == 2 else b'{"id":%d,"ok":true,"result":{"seq":0}}\n' % number)
                stream.flush()
                if len(lines) == 2:
                    enough.set()
                    return


@pytest.mark.parametrize(
    ("options", "live", "read_only"), [((), "full", False), (("--low-bandwidth", "--read-only"), "brief", True)]
)
def test_what_the_ui_asks_the_daemon_for(place: Place, options: tuple[str, ...], live: str, read_only: bool) -> None:
    place.env["KPD_OPERATOR"] = "ada"
    lines: list[dict[str, object]] = []
    enough = threading.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        path = place.ws.make_socket_folder()
        listener.bind(str(path))
        listener.listen()
        threading.Thread(target=said_to, args=(listener, lines, enough), daemon=True).start()
        terminal = Terminal(place, "attach", *options)
        assert enough.wait(PATIENCE_S)
        terminal.press("q")
        terminal.until("detached")
        assert terminal.code() == 0
        path.unlink()
    hello, subscribe = lines
    assert (hello["op"], hello["client"], hello["by"], hello["read_only"]) == ("hello", "tui", "ada", read_only)
    assert (subscribe["op"], subscribe["live"]) == ("subscribe", live)


def test_ssh_costs_nobody_else_anything() -> None:
    program = "import sys, kpd.cli.attach; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {
        "asyncio",
        "asyncssh",
        "textual",
        "msgspec",
        "kpd.cli.remote_daemon",
        "kpd.hosts",
    }
