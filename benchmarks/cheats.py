"""Attacks and honest kernels, through kpd's front door: which are refused, held or accepted, and what they leave.

    python benchmarks/cheats.py [--language c] [--class NAME] [--only NAME] [--seconds N] [--sample N] [--sharded I/N]
                                [--any-case] [--gpu INDEX] [--out FILE]

A real daemon runs the kernels of tests/cheats as candidates of the tasks that they are for, one after another, with
all of kpd's steps but profiling. Attacks are measured against the task's own kernel, honest kernels against a slow one,
so that all audits of what would be accepted see them: after each that is accepted the run is rolled back to its
baseline. An attack is accepted only if compute-sanitizer, where it is there, has let it pass; it does not look at
honest kernels. What an attack writes goes to bait folders, which are compared before and after, as are the built
objects, the files of tasks, processes and settings of the GPU. With `--any-case` no kernel is refused for one slow
case (`worst_case = 0`), so that audits and flags decide. After `--seconds` none is begun. `--sample N` takes N kernels
of each class, `--sharded I/N` one of N parts, each with few tasks: parts may run at the same time, on CPUs
and GPUs of their own (`cheat_shards.py` does that). Prints one JSON object, and keeps what there is of it in `--out`
after each kernel; progress goes to stderr.
"""

import argparse
import asyncio
import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cheat_traces as traces
from cheat_arena import Arena
from cheat_corpus import SUFFIX, Kernel, load
from cheat_results import Result, blank, devices, note, note_fault, say, told
from own_daemon import OwnDaemon, own_daemon

from kpd.model import events as e
from kpd.text import endings, waits

HOME = "KPD_CHEATS_HOME"
"""Set once this process has begun anew, with the environment of the bait: the folder of this run."""
KEY = "kpd-bait-key"
LONGEST_S = 300.0
"""A kernel that has not ended by then has stopped the queue."""
HONEST_COST = 2
"""How many times as long as an attack an honest kernel takes: it comes to all audits."""
Group = tuple[str, bool, list[Kernel]]
"""A task, whether the kernels are honest, and the kernels."""


class Trial:
    """Runs kernels in one daemon, those of a task in one run, unless one of them leaves something."""

    def __init__(
        self, arena: Arena, daemon: OwnDaemon, facts: "asyncio.Queue[e.Fact]", until: float, results: list[Result],
        keep: Callable[[], None],
    ) -> None:  # fmt: skip
        self._arena = arena
        self._daemon = daemon
        self._facts = facts
        self._until = until
        self._keep = keep
        self.results = results

    async def all(self, work: list[Group]) -> list[Group]:
        """Try what there is; return what is left to do, which is some when a fresh workspace is needed."""
        while work and time.monotonic() < self._until:
            task, honest, kernels = work[0]
            rest = await self._some(self._arena.put_task(task, honest), kernels)
            work = [*([(task, honest, rest)] if rest else []), *work[1:]]
            last = self.results[-1] if self.results else None
            if last is not None and (last.stopped or any(left.startswith("changed") for left in last.left)):
                break
        return work

    async def _some(self, task: str, kernels: list[Kernel]) -> list[Kernel]:
        """Run until one stops the queue or leaves something; return those that have not ended."""
        folder = self._arena.put_candidates(task, kernels)
        while not self._facts.empty():
            self._facts.get_nowait()
        most = 2 * len(kernels)  # one that is accepted costs another iteration, which is skipped
        answer = await self._daemon.command(
            "run", task=task, agent=f"script:{folder.name}", iterations=most, patience=most
        )
        run = answer["run"]
        left = list(kernels)
        unseen: dict[int, Result] = {}
        sanitizes = begun = False
        result = blank(left[0])
        while left:
            try:
                async with asyncio.timeout(LONGEST_S):
                    fact = await self._next(run)
            except TimeoutError:
                fact = None
            if fact is None or isinstance(fact, e.RunPaused | e.RunEnded | e.QueueHeld) or self._tampered(fact):
                result.stopped.append(_how_stopped(fact))
                if isinstance(fact, e.Noted | e.Steered):
                    continue
                if not begun:  # the one before has broken something
                    if not self.results or self.results[-1].stopped:
                        say(f"{task}: none of {len(left)} kernels could begin: {result.stopped[-1]}")
                        left.clear()
                        break
                    self.results[-1].stopped += ["what came after it", *result.stopped]
                    say(f"{self.results[-1].name} stopped what came after it: {result.stopped[-1]}")
                    break
                result.outcome = result.outcome or "stopped"
                left.pop(0)
                await self._end(result)
                break
            sanitizes = fact.present if isinstance(fact, e.SanitizerFound) else sanitizes
            if not isinstance(fact, e.IterationFact) or fact.iteration == 0:
                continue
            if isinstance(fact, e.Sanitized):
                note_fault(unseen.pop(fact.iteration), fact)
                continue
            if isinstance(fact, e.IterationStarted):
                begun = True
                await asyncio.to_thread(self._arena.before)
                continue
            if isinstance(fact, e.IterationEnded) and fact.outcome == "skipped":  # `_roll_back` came a moment too late
                left.append(left.pop(0))
                self._arena.put_candidate(folder, task, len(list(folder.iterdir())), left[-1])
                result = blank(left[0])
                continue
            note(result, fact)
            if isinstance(fact, e.IterationEnded):
                left.pop(0)
                if fact.outcome == "accepted" and sanitizes:
                    unseen[fact.iteration] = result
                if fact.outcome == "accepted" and left:
                    left.append(left.pop(0))
                    self._arena.put_candidate(folder, task, len(list(folder.iterdir())), left[-1])
                    await self._roll_back(run)
                await self._end(result)
                if result.left or not left or time.monotonic() >= self._until:
                    break
                result = blank(left[0])
        while unseen and (fact := await self._next(run)) is not None and not isinstance(fact, e.RunEnded):
            if isinstance(fact, e.Sanitized):
                note_fault(unseen.pop(fact.iteration), fact)
        await self._stop(run)
        return left

    async def _roll_back(self, run: str) -> None:
        """Make the baseline the incumbent again, and skip the iteration that has begun against another one."""
        await self._daemon.command("rollback", iteration=f"{run}.0", force=True)
        kept: list[e.Fact] = []  # for who called this
        while not isinstance(fact := await self._next(run), e.IterationEnded):
            if fact is None or isinstance(fact, e.RunPaused | e.RunEnded | e.QueueHeld):
                kept += [fact] if fact is not None else []
                break
            if isinstance(fact, e.Sanitized):
                kept.append(fact)
            if isinstance(fact, e.IterationStarted):
                await self._daemon.command("skip", run=run)
        for fact in kept:
            self._facts.put_nowait(fact)

    async def _next(self, run: str) -> e.Fact | None:
        """Return the next fact of the run, or of none; None when the daemon has ended."""
        while True:
            coming = asyncio.ensure_future(self._facts.get())
            await asyncio.wait([coming, self._daemon.serving], return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return None
            fact = coming.result()
            if not isinstance(fact, e.RunFact) or fact.run == run:
                return fact

    async def _stop(self, run: str) -> None:
        over = any(isinstance(fact, e.RunEnded) and fact.run == run for fact in self._daemon.facts)
        if over or self._daemon.serving.done():
            return
        if any(isinstance(fact, e.QueueHeld) for fact in self._daemon.facts):
            await self._daemon.command("resume")
        await self._daemon.command("stop", run=run)

    async def _end(self, result: Result) -> None:
        result.left = await asyncio.to_thread(self._arena.left)
        self.results.append(result)
        self._keep()
        say(
            f"{result.kind}/{result.name}: {result.verdict} ({result.outcome}) {result.why}"
            f"{' FLAGS ' + '; '.join(result.flags) if result.flags else ''}"
            f"{' LEFT ' + ', '.join(result.left[:4]) if result.left else ''}"
            f"{' STOPPED ' + ', '.join(result.stopped) if result.stopped else ''} {sum(result.seconds.values()):.1f} s"
        )

    def _tampered(self, fact: e.Fact) -> bool:
        """Return whether a kernel has spoken to the daemon."""
        return isinstance(fact, e.Noted | e.Steered) and self._arena.name in fact.text


def _how_stopped(fact: e.Fact | None) -> str:
    match fact:
        case None:
            return f"ended the daemon, or gave no sign for {LONGEST_S:g} s"
        case e.RunPaused():
            return f"paused the run: {waits.pause(fact.cause)}"
        case e.RunEnded():
            return f"ended the run: {endings.run_ended(fact.cause)}"
        case e.QueueHeld():
            return f"held the queue: {waits.hold(fact.hold)}"
    return f"gave the daemon a command: {fact.kind()}"


def chosen(args: argparse.Namespace) -> list[Kernel]:
    """Return the kernels that the command line asks for."""
    names, kinds = (set(filter(None, words.split(","))) for words in (args.only, args.kind))
    every = load(args.language)
    found = [one for one in every if (not names or one.name in names) and (not kinds or one.kind in kinds)]
    if args.sample:
        of_kind: Counter[str] = Counter()
        some = []
        for kernel in found:
            of_kind[kernel.kind] += 1
            if of_kind[kernel.kind] <= args.sample:
                some.append(kernel)
        found = some
    index, _, count = args.sharded.partition("/")
    found.sort(key=lambda one: (one.task, one.honest))
    costs = list(itertools.accumulate(HONEST_COST if one.honest else 1 for one in found))
    return [one for one, cost in zip(found, costs, strict=True) if (cost - 1) * int(count) // costs[-1] == int(index)]


async def tried(args: argparse.Namespace, home: Path) -> dict[str, Any]:
    """Try the kernels that were asked for; return the figures."""
    kernels = chosen(args)
    until = time.monotonic() + args.seconds
    bait = traces.Bait(home / "bait")
    groups: dict[tuple[str, bool], list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        groups[kernel.task, kernel.honest].append(kernel)
    work = [(*group, some) for group, some in groups.items()]
    results: list[Result] = []

    def found() -> dict[str, Any]:
        where = {"device": devices(args.gpu), "command": " ".join(["python", *sys.argv])}
        return where | told(results, len(kernels))

    def keep() -> None:
        if args.out:
            args.out.write_text(json.dumps(found(), indent=1))

    keep()
    for number in itertools.count():
        if not work or time.monotonic() >= until:
            break
        facts: asyncio.Queue[e.Fact] = asyncio.Queue()
        arena = Arena(home / str(number), args.language, bait, named(args), args.gpu, args.any_case)
        async with own_daemon(arena.workspace, facts.put_nowait) as daemon:
            trial = Trial(arena, daemon, facts, until, results, keep)
            work = await trial.all(work)
    keep()
    return found()


def named(args: argparse.Namespace) -> str:
    """Return what attacks of this part call what they leave, in eight characters: parts and languages run at once."""
    return f"{'kpd' + args.language[:2]:_<6}{int(args.sharded.partition('/')[0]):02}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--language", choices=sorted(SUFFIX), default="c")
    parser.add_argument("--class", dest="kind", default="", help="classes, with commas between them; `honest` is one")
    parser.add_argument("--only", default="", help="names, with commas between them")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after this time")
    parser.add_argument("--sample", type=int, default=0, help="so many of each class")
    parser.add_argument("--any-case", action="store_true", help="one slow case refuses no kernel")
    parser.add_argument("--sharded", default="0/1", metavar="I/N", help="part I of N, from part 0 on")
    parser.add_argument("--gpu", default="", metavar="INDEX", help="the GPU to use, by nvidia-smi's index")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep the results here after each kernel")
    args = parser.parse_args()
    if HOME in os.environ:
        try:
            print(json.dumps(asyncio.run(tried(args, Path(os.environ[HOME]))), indent=1))
        finally:
            shutil.rmtree(os.environ[HOME])
        return
    home = tempfile.mkdtemp(prefix="kpd-cheats-")
    bait = traces.Bait(Path(home) / "bait")
    bait.lay()
    traces.clean(named(args))
    env = {**os.environ, HOME: home, "HOME": str(bait.home), "ANTHROPIC_API_KEY": KEY}
    os.execve(sys.executable, [sys.executable, *sys.argv], env)  # /proc shows the environment a program began with


if __name__ == "__main__":
    main()
