"""The run that `kpd demo` plays, made anew on this machine's GPU.

    python benchmarks/demo_run.py WORKSPACE [--candidates DIR]

A daemon of its own runs transpose_cuda with the candidates in benchmarks/demo_candidates, which were written for it,
each with what its author thought and expected; what became of them is measured. An operator's memo and note come at
their places in the run. WORKSPACE is made, and left for benchmarks/demo_pack.py, which makes it into the recording.
Prints one JSON object that says what became of each candidate; progress goes to stderr. Needs an NVIDIA GPU, nvcc and
ncu.
"""

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_run import told as in_short
from own_daemon import own_daemon

from kpd.agents.agent import AgentKind
from kpd.agents.catalogue import AGENTS
from kpd.agents.script import Script
from kpd.client import ask
from kpd.model import events as e
from kpd.text import endings, waits
from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import shipped

TASK = "transpose_cuda"
CANDIDATES = Path(__file__).parent / "demo_candidates"
FOLDER = "candidates"
NOTE = "square and wide are at what a copy does. odd is not: look at what rows of odd length do to the sectors."
NOTED_BEFORE = "13_whole_sectors"
"""The candidate that answers the note."""
MEMO = "Half-width tiles help the small square and cost the large ones a little: keep for later, chosen by the size."
MEMO_ON = "12_half_tiles"


class Heeding(Script):
    """The one that answers an operator's note was written for it."""

    reads_steering = True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--candidates", type=Path, default=CANDIDATES)
    args = parser.parse_args()
    if args.workspace.exists() and any(args.workspace.iterdir()):
        sys.exit(f"{args.workspace} is not empty")
    workspace = Workspace(args.workspace.resolve())
    shutil.copytree(shipped("tasks") / TASK, workspace.tasks / TASK)
    shutil.copytree(args.candidates, workspace.root / FOLDER)
    workspace.config.write_text('[run]\nhost = "local"\n')
    AGENTS.register("script", AgentKind(lambda config, of: Heeding(of), "FOLDER"))
    names = sorted(path.name for path in args.candidates.iterdir() if path.is_dir())
    print(json.dumps(in_short(asyncio.run(run(workspace, names))), indent=2))


async def run(workspace: Workspace, names: list[str]) -> list[e.Fact]:
    """All that happened."""
    acts: set[asyncio.Task[None]] = set()

    def told(fact: e.Fact) -> None:
        if isinstance(fact, e.IterationEnded):
            why = endings.iteration_ended(fact.cause)
            print(f"{fact.run}.{fact.iteration} {fact.outcome}: {why}", file=sys.stderr, flush=True)
        for act in due(fact, names, workspace):
            acts.add(asyncio.create_task(asyncio.to_thread(act)))

    async with own_daemon(workspace, told) as daemon:
        await daemon.command("run", task=TASK, agent=f"script:{FOLDER}", iterations=len(names), patience=len(names) + 1)
        await daemon.until(e.RunEnded, e.RunPaused)
        await asyncio.gather(*acts)
    if trouble := [waits.pause(fact.cause) for fact in daemon.facts if isinstance(fact, e.RunPaused)]:
        sys.exit(f"the run did not come to its end: {trouble[0]}")
    return daemon.facts


def due(fact: e.Fact, names: list[str], workspace: Workspace) -> list[Callable[[], Any]]:
    """What the operator does at this moment of the run: iteration n measures the candidate n - 1."""

    def act(verb: str, **args: object) -> Callable[[], Any]:
        return lambda: ask(workspace.socket, "command", verb, args, client="operator")

    if not isinstance(fact, e.IterationEnded | e.Staged) or not 0 < fact.iteration <= len(names):
        return []
    here, then = names[fact.iteration - 1], names[fact.iteration : fact.iteration + 1]
    if isinstance(fact, e.IterationEnded) and here == MEMO_ON:
        return [act("memo", iteration=f"{fact.run}.{fact.iteration}", text=MEMO)]
    if isinstance(fact, e.Staged) and then == [NOTED_BEFORE]:
        return [act("steer", text=NOTE)]
    return []


if __name__ == "__main__":
    main()
