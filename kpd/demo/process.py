"""Runs the player as a process, until a signal, or until the UI that it plays for ends.

    python -m kpd.demo.process RECORDING [SPEED]

It prints one line of JSON once clients can connect, {"workspace": PATH}, or else {"error": WHY}. It ends when its
standard input does.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from kpd.daemon.store import StoreError
from kpd.demo.playback_journal import temporary_workspace
from kpd.demo.player import Player
from kpd.demo.recording import BadRecording, load
from kpd.workspace.paths import Workspace, WorkspaceError


def play(recording: Path, speed: int | None, ready: Callable[[Workspace], None], with_input: bool = False) -> None:
    """Play until SIGTERM, SIGINT or SIGHUP; `with_input`, also until the end of the standard input.

    `ready` is given the workspace once clients can connect. Raises BadRecording, StoreError, WorkspaceError, OSError.
    """
    with temporary_workspace() as workspace, Player(workspace, load(recording), speed) as player:
        asyncio.run(_serve(player, lambda: ready(workspace), with_input))


async def _serve(player: Player, ready: Callable[[], None], with_input: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, player.end)
    if with_input:
        # However the UI ends, its end of the pipe closes, so that this process ends, too.
        loop.add_reader(sys.stdin.fileno(), player.end)
    await player.serve(ready)


def _say(**what: str) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _main() -> int:
    speed = int(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        play(Path(sys.argv[1]), speed, lambda workspace: _say(workspace=str(workspace.root)), with_input=True)
    except (BadRecording, StoreError, WorkspaceError, OSError) as err:
        _say(error=str(err))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
