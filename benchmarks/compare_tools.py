"""Does a comparison find that a tool helps where it does, and nothing where it does not?

    python benchmarks/compare_tools.py [trials]

Prints one JSON object: for two scripted coding agents the report of a whole comparison of a small task. Each writes a
kernel that it draws at random. The first draws from faster ones where it has the tool; the second calls the tool, too,
and draws from the same ones with it and without.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import TASKS, RealDaemon
from tests.support.sessions.scripted import agent, kernel
from tests.support.tools.built import server_tool, write_tool

TOOL = "word-count"
CALL = ["call", TOOL, "count", {"word": "x"}]
KEPT = ("order", "seed", "conclusion", "text", "plain", "tools", "times", "wins", "p", "p_valid", "least_p")
PATIENCE_S = 1800.0


def draws(*repeats: int) -> list[Any]:
    """One of the kernels, at random; the fewer repeats the faster it is."""
    return ["any", [[["write", "kernel.c", kernel(repeat)]] for repeat in repeats]]


AGENTS = {
    "the tool helps": [["with", TOOL, [CALL, draws(2, 1)], [draws(6, 5, 4)]]],
    "the tool makes no difference": [["with", TOOL, [CALL, draws(6, 4, 2)], [draws(6, 4, 2)]]],
}


def compared(steps: list[Any], trials: int) -> dict[str, Any]:
    """Compare the tool with none, in a workspace of its own; return the report without its single runs' figures."""
    with tempfile.TemporaryDirectory(prefix="kpd-compare-") as folder:
        root = Path(folder).resolve() / "place" / "workspace"
        for name in ("skills", "memory"):
            (root / name).mkdir(parents=True)
        shutil.copytree(TASKS / "scale", root / "tasks" / "scale")
        (root / "config.toml").write_text('[run]\nprofile = "checked"\n')
        workspace = Workspace(root)
        workspace.make_private()
        agent(workspace, steps)
        daemon = RealDaemon(workspace)
        daemon.start()
        try:
            tool = write_tool(Path(folder) / "tool", server_tool(TOOL))
            daemon.command("import_tool", folder=str(tool), task="scale")
            begun = daemon.command("compare", task="scale", tools=TOOL, agent="mine", trials=trials, seed=7)
            deadline = time.monotonic() + PATIENCE_S
            while not daemon.query("comparisons")[0]["over"] and time.monotonic() < deadline:
                time.sleep(1)
            found: dict[str, Any] = daemon.query("comparison", id=begun["comparison"])
        finally:
            daemon.stop()
    runs = [
        {"side": one["side"], "speedup": one["speedup"] and one["speedup"]["ratio"], "invalid": one["invalid"]}
        for one in found["runs"]
    ]
    return {**{name: found[name] for name in KEPT}, "runs": runs}


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    found = {what: compared(steps, trials) for what, steps in AGENTS.items()}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
