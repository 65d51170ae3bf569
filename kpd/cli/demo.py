"""kpd demo: plays a recorded run on a real GPU in the same UI."""

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import kpd
from kpd.cli.ask import workspace
from kpd.cli.attach import require_terminal
from kpd.cli.exit_codes import INFRA, OK, CliError
from kpd.cli.terminal_text import narrate, out
from kpd.model.playback import SPEEDS
from kpd.text.foreign import visible
from kpd.workspace.paths import Workspace, WorkspaceError, expanded

if TYPE_CHECKING:
    from kpd.workspace.config import TuiConfig

SHIPPED = Path(kpd.__file__).parent / "demo" / "h100.tar.xz"
ENDS_WITHIN_S = 10.0
OTHER = "--recording FILE plays another one"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--recording", metavar="FILE", help="play this recording instead of kpd's own")
    parser.add_argument(
        "--speed", type=int, choices=SPEEDS, help="play N times as fast as recorded (default: 2 minutes in all)"
    )
    parser.add_argument("--headless", action="store_true", help="play without the UI, for kpd attach and other verbs")


def execute(args: Namespace) -> int:
    path = expanded(args.recording) if args.recording else SHIPPED
    if args.headless:
        return _headless(path, args.speed)
    require_terminal("kpd demo --headless plays for kpd attach in another terminal")
    with played(path, args.speed) as ws:
        from tui.main import terminal_app
        from tui.model.feed import dialling

        app = terminal_app(dialling(lambda: ws.socket), ws.root.name, _looks(args))
        app.run()
    narrate("That was a recording. kpd start rmsnorm_silu_cpu begins a run of your own, on this machine's CPU.")
    return app.return_code or 0


def _looks(args: Namespace) -> "TuiConfig":
    """Return the operator's settings of the UI, where there is a workspace of their own; else the defaults."""
    from kpd.workspace.config import TuiConfig, load_config

    try:
        return load_config(workspace(args)).tui
    except WorkspaceError:
        return TuiConfig()


@contextmanager
def played(recording: Path, speed: int | None) -> Iterator[Workspace]:
    """Run the block with the player in a process of its own, and yield its workspace. Raises CliError."""
    command = [sys.executable, "-m", "kpd.demo.process", str(recording.absolute()), *([str(speed)] if speed else [])]
    paths = [str(Path(kpd.__file__).resolve().parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryFile() as said:
        # A session of its own, so that the player gets no SIGHUP when the terminal closes.
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, env=env, start_new_session=True
        )
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            line = child.stdout.readline()
            if not line:
                said.seek(0)
                raise CliError("the player ended at once", said.read().decode(errors="replace")[-400:].strip(), INFRA)
            answer = json.loads(line)
            if "error" in answer:
                raise CliError(visible(answer["error"]), OTHER, INFRA)
            yield Workspace(Path(answer["workspace"]))
        finally:
            child.stdin.close()
            try:
                child.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            child.stdout.close()


def _headless(recording: Path, speed: int | None) -> int:
    """Play in the foreground until a signal ends it."""
    from kpd.demo.process import play
    from kpd.demo.recording import BadRecording

    try:
        play(recording, speed, _tell)
    except BadRecording as err:
        raise CliError(visible(str(err)), OTHER, INFRA) from err
    return OK


def _tell(ws: Workspace) -> None:
    out(str(ws.root))
    narrate(f"plays in {ws.root}, which is there as long as this: kpd attach -w {ws.root} opens the UI")
