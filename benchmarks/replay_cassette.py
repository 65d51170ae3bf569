"""Replay a cassette on this machine, and say what became of its candidates.

    python benchmarks/replay_cassette.py TASK CASSETTE [--times 5]

TASK is the task's folder as it was when it was recorded. Prints one JSON object; exits with 1 when a later replay does
not come to what the first came to.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from own_daemon import own_daemon

from kpd.model import events as e
from kpd.text import endings, verdicts, waits
from kpd.workspace.paths import Workspace
from kpd.workspace.task import load_task
from tests.places import OPEN
from tests.support.cassette import plug_in
from tests.support.cassette.cassette import header

Gist = dict[int, dict[str, Any]]
"""What each iteration found, by its number: all that is neither of the machine that replays, nor of the moment."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", type=Path)
    parser.add_argument("cassette", type=Path)
    parser.add_argument("--times", type=int, default=1)
    args = parser.parse_args()
    first = replay(args.task, args.cassette)
    print(json.dumps({number: [one["ended"], one.get("verdict", "")] for number, one in first.items()}, indent=2))
    for number in range(2, args.times + 1):
        if said := difference(first, replay(args.task, args.cassette)):
            sys.exit(f"replay {number}: {said}")


def replay(task: Path, cassette: Path) -> Gist:
    """A run of the cassette's candidates by a daemon of its own. Raises RuntimeError when it does not come to its end.

    This machine's own nvcc, ncu and nvidia-smi have no part in it.
    """
    plug_in.register()
    count = len(header(cassette).candidates)
    with tempfile.TemporaryDirectory(prefix="kpd-replay-") as scratch:
        workspace = Workspace(Path(scratch).resolve())
        name = load_task(task).name
        shutil.copytree(task, workspace.tasks / name)
        folder = json.dumps(str(cassette.resolve()))
        workspace.config.write_text(f'[hosts.player]\ntransport = "cassette"\ncassette = {folder}\n{OPEN}')
        facts = asyncio.run(_run(workspace, name, count))
    if paused := [waits.pause(fact.cause) for fact in facts if isinstance(fact, e.RunPaused)]:
        raise RuntimeError(paused[0])
    return gist(facts)


async def _run(workspace: Workspace, task: str, count: int) -> list[e.Fact]:
    async with own_daemon(workspace, lambda fact: None) as daemon:
        await daemon.command(
            "run", task=task, host="player", agent="cassette", iterations=count, patience=max(1, count)
        )
        await daemon.until(e.RunEnded, e.RunPaused)
    return daemon.facts


def gist(facts: Sequence[e.Fact]) -> Gist:
    found: Gist = defaultdict(dict)
    for fact in facts:
        match fact:
            case e.Judged():
                found[fact.iteration]["verdict"] = verdicts.verdict(fact.verdict)
                found[fact.iteration]["gain"] = fact.verdict.gain
            case e.Timed():
                found[fact.iteration]["cases"] = fact.cases
                found[fact.iteration]["disturbed"] = fact.retaken
            case e.Profiled():
                found[fact.iteration]["metrics"] = fact.metrics
            case e.Explained():
                found[fact.iteration]["findings"] = fact.findings
            case e.IterationEnded() if fact.outcome != "skipped":
                found[fact.iteration]["ended"] = f"{fact.outcome}: {endings.iteration_ended(fact.cause)}"
    return dict(found)


def difference(one: Gist, other: Gist) -> str:
    """The first that differs, in words; empty when nothing does."""
    for number in sorted(one.keys() | other.keys()):
        left, right = one.get(number, {}), other.get(number, {})
        for name in sorted(left.keys() | right.keys()):
            if left.get(name) != right.get(name):
                return f"{name} of iteration {number}: {left.get(name)} became {right.get(name)}"[:2000]
    return ""


if __name__ == "__main__":
    main()
