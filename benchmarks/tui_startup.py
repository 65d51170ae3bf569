"""How long the UI takes to its first paint, and what it writes while nothing happens. Prints one JSON object.

The UI runs in a process of its own under a pseudo-terminal, fed by a canned log, or by a workspace's own daemon.

    python benchmarks/tui_startup.py [--runs 5] [--idle 2.0] [--workspace DIR]
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

from terminal import COLUMNS, ROWS, terminal

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

PAINTED = b"Overview"
SETTLE_S = 1.5
"""After the first paint come the snapshot, the answers to its questions and the terminal's own replies."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--idle", type=float, default=2.0, help="seconds of idleness to watch")
    parser.add_argument("--workspace", help="attach to its daemon, which should have nothing to do")
    parser.add_argument("--ui", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.ui:
        show(args.workspace)
        return
    found = [measure(args.idle, args.workspace) for _ in range(args.runs)]
    paints = sorted(paint for paint, _, _ in found)
    report = {
        "first_paint_ms": {"median": round(statistics.median(paints)), "worst": round(paints[-1])},
        "startup_bytes": max(written for _, written, _ in found),
        "idle_bytes": max(idle for _, _, idle in found),
        "idle_s": args.idle,
        "size": f"{COLUMNS}x{ROWS}",
        "fed_by": "daemon" if args.workspace else "canned log",
        "runs": args.runs,
    }
    sys.stdout.write(json.dumps(report) + "\n")


def measure(idle_s: float, workspace: str | None) -> tuple[float, int, int]:
    """Milliseconds from starting the process to the first paint, bytes until it is settled, bytes while idle."""
    begun = time.perf_counter()
    with terminal([__file__, "--ui", *(["--workspace", workspace] if workspace else [])]) as ui:
        seen = ui.until(PAINTED, 10.0)
        paint = (time.perf_counter() - begun) * 1000
        written = len(seen) + ui.count(SETTLE_S)
        return paint, written, ui.count(idle_s)


def show(workspace: str | None) -> None:
    """The UI, as the measured process."""
    if workspace:
        from kpd.workspace.paths import Workspace
        from tui.main import run

        run(Workspace.find(Path(workspace)))
        return
    from tests.support.tui.feed import CannedFeed
    from tests.support.tui.logs import running
    from tui.app import KpdApp
    from tui.model.feed import Feed

    async def connect() -> Feed:
        await asyncio.sleep(0)
        return CannedFeed(running())

    KpdApp(connect, "kernels").run()


if __name__ == "__main__":
    main()
