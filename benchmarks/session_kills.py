"""Does kill -9 of the daemon or of its agent lose a session, leave a process behind, or bill a call twice?

    python benchmarks/session_kills.py [kills]

Prints one JSON object. A scripted coding agent works on a small task, in run after run of its session, and starts two
programs that outlive it in each turn; the daemon or the agent is killed at random moments, and the daemon is started
again. At the end each session must have its end, each call one bill, and no process may be left.
"""

import json
import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import TASKS, RealDaemon
from tests.support.sessions.killing import kill_often


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory(prefix="kpd-kills-") as folder:
        root = Path(folder).resolve() / "place" / "workspace"
        for name in ("skills", "memory"):
            (root / name).mkdir(parents=True)
        shutil.copytree(TASKS / "scale", root / "tasks" / "scale")
        (root / "config.toml").write_text('[run]\nprofile = "checked"\n')
        workspace = Workspace(root)
        workspace.make_private()
        daemon, began = RealDaemon(workspace), time.perf_counter()
        try:
            found = asdict(kill_often(daemon, workspace, kills))
        finally:
            daemon.stop()
    found["seconds"] = round(time.perf_counter() - began, 1)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
