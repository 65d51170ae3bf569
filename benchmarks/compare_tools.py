"""Does a comparison find that a tool helps where it does, and nothing where it does not?

    python benchmarks/compare_tools.py [trials]

It takes some ten minutes where the machine has nothing else to do. Prints one JSON object: for two tasks the report of
a whole comparison. The coding agent is scripted. It writes a kernel that it draws at random, but where it transposes a
matrix and has a tool, it writes what that tool answers: the kernel whose tile it has just timed (`tile_finder.py`). The
tool for histograms only counts words. The agent calls it, too, and draws from the same kernels with it and without.
"""

import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpd.workspace.paths import Workspace
from tests.places import ROOT
from tests.support.daemon.real_daemon import RealDaemon
from tests.support.sessions.scripted import agent
from tests.support.tools.built import server_tool, write_tool

KEPT = ("order", "seed", "conclusion", "text", "plain", "tools", "times", "wins", "p", "p_valid", "least_p")
OF_RUN = ("side", "invalid", "calls", "used")
PATIENCE_S = 3600.0
QUADS = 8
"""Fewer measurements than the tasks ask for: a run takes half a minute."""
FINDER = {
    "tool.toml": """\
name = "tile-finder"
summary = "times tiles of the transpose, and answers with the fastest kernel"
server = ["python3", "server.py"]
self_test = ["python3", "server.py", "--self-test"]
tests = ["python3", "server.py", "--self-test"]
call_s = 60
""",
    "server.py": Path(__file__).with_name("tile_finder.py").read_text(),
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A task, a tool for it, and what the agent does with the tool, before `drawn` is what it does without."""

    task: str
    tool: str
    files: Mapping[str, str]
    uses: tuple[list[Any], ...]
    draws: tuple[dict[str, int], ...]
    draws_with_it: bool


TRIALS = (
    Trial(
        "transpose_cpu", "tile-finder", FINDER, (["apply", "kernel.c", "tile-finder", "fastest", {}],),
        ({"TILE_ROWS": 64}, {"ORDER": 1}, {"PREFETCH": 8}), False,
    ),
    Trial(
        "histogram_cpu", "word-count", server_tool("word-count"), (["call", "word-count", "count", {"word": "x"}],),
        ({"TABLES": 2}, {"TABLES": 4}, {"TABLES": 4, "WORD": 8}), True,
    ),
)  # fmt: skip


def turn(trial: Trial) -> list[Any]:
    """Return the script of the agent's only turn."""
    own = (ROOT / "tasks" / trial.task / "kernel.c").read_text()
    drawn = ["any", [[["write", "kernel.c", changed(own, values)]] for values in trial.draws]]
    return [["with", trial.tool, [*trial.uses, *([drawn] if trial.draws_with_it else [])], [drawn]]]


def changed(text: str, values: Mapping[str, int]) -> str:
    for name, value in values.items():
        text = re.sub(rf"^#define {name} \d+", f"#define {name} {value}", text, flags=re.MULTILINE)
    return text


def compared(trial: Trial, trials: int) -> dict[str, Any]:
    """Compare the tool with none, in a workspace of its own; return the report with the figures of each run."""
    with tempfile.TemporaryDirectory(prefix="kpd-compare-") as folder:
        root = Path(folder).resolve() / "place" / "workspace"
        for name in ("skills", "memory"):
            (root / name).mkdir(parents=True)
        copied = Path(shutil.copytree(ROOT / "tasks" / trial.task, root / "tasks" / trial.task)) / "task.toml"
        copied.write_text(re.sub(r"quads = \d+", f"quads = {QUADS}", copied.read_text()))
        (root / "config.toml").write_text('[run]\nprofile = "checked"\n')
        workspace = Workspace(root)
        workspace.make_private()
        agent(workspace, turn(trial))
        daemon = RealDaemon(workspace)
        daemon.start()
        try:
            tool = write_tool(Path(folder) / "tool", dict(trial.files))
            checked = daemon.command("import_tool", folder=str(tool), task=trial.task)
            assert checked["state"] == "qualified", checked
            begun = daemon.command("compare", task=trial.task, tools=trial.tool, agent="mine", trials=trials, seed=7)
            deadline = time.monotonic() + PATIENCE_S
            while not daemon.query("comparisons")[0]["over"] and time.monotonic() < deadline:
                time.sleep(1)
            found: dict[str, Any] = daemon.query("comparison", id=begun["comparison"])
        finally:
            daemon.stop()
    runs = [
        {**{name: one[name] for name in OF_RUN}, "speedup": one["speedup"] and one["speedup"]["ratio"]}
        for one in found["runs"]
    ]
    return {**{name: found[name] for name in KEPT}, "runs": runs}


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    found = {}
    for trial in TRIALS:
        found[f"{trial.task} with {trial.tool}"] = one = compared(trial, trials)
        sys.stderr.write(f"{trial.task}: {one['text']}\n")
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
