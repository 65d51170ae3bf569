"""Kills the daemon or the agent of a session again and again, and says what came of it."""

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psutil

from kpd.workspace.paths import Workspace
from tests.support.daemon.real_daemon import RealDaemon, leftovers
from tests.support.patience import PATIENCE_S
from tests.support.sessions.scripted import PROGRAM, agent, kernel

SEED = 7
CHILD = "sleep"
LONGEST_S = 0.8
"""Seconds between the moment at which an agent is seen and a kill."""


@dataclass
class Found:
    """What was seen: kills of the daemon and of the agent, which had `children`, and what there must be none of."""

    daemon_kills: int = 0
    agent_kills: int = 0
    children: int = 0
    iterations: int = 0
    lost: int = 0
    orphans: int = 0
    double_bills: int = 0
    unbilled: int = 0


def agents_of(workspace: Workspace) -> list[psutil.Process]:
    """The scripted agents below the workspace."""
    found = []
    for process in leftovers(workspace):
        try:
            if str(PROGRAM) in process.cmdline() and "python" in process.name():
                found.append(process)
        except psutil.Error:
            continue
    return found


def children_of(workspace: Workspace) -> list[psutil.Process]:
    """The programs that the scripted agents have started, in sessions of their own."""
    return [process for process in leftovers(workspace) if name_of(process) == CHILD]


def name_of(process: psutil.Process) -> str:
    """The name of its program; empty where it has ended."""
    try:
        return str(process.name())
    except psutil.Error:
        return ""


def kill_often(daemon: RealDaemon, workspace: Workspace, kills: int) -> Found:
    """Run a task whose agent works in small steps; kill the one or the other at random moments."""
    chance, found = random.Random(SEED), Found()
    begins = [["fork", 2], ["say", "x\n"]]
    work = [begins, [["say", "x\n"], ["cost", 0.01], ["sleep", 0.1]] * 8, [["write", "kernel.c", kernel(4)]]]
    agent(workspace, [step for part in work for step in part], settings='limit = "20s"\nusd = 0.2')
    daemon.start()
    daemon.command("run", task="scale", agent="mine", iterations=10_000, patience=10_000, usd=1000.0)
    while found.daemon_kills + found.agent_kills < kills:
        daemon.until(
            lambda: _at_work(daemon, workspace) and (found.children or children_of(workspace)),
            "an agent at work, the first time with programs of its own",
        )
        found.children = found.children or len(children_of(workspace))
        time.sleep(chance.uniform(0.0, LONGEST_S))
        children = children_of(workspace)
        found.children += len(children)
        if chance.random() < 0.5:
            for process in agents_of(workspace):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            found.agent_kills += 1
            found.orphans += _left(lambda old=children: [one for one in old if one.is_running()])
        else:
            daemon.kill()
            found.daemon_kills += 1
            found.orphans += _left(lambda: leftovers(workspace))
            daemon.start()
            if daemon.query("status")["held"]:
                daemon.command("resume")
    daemon.command("stop")
    found.orphans += _left(lambda: [*agents_of(workspace), *children_of(workspace)])
    return _accounts(daemon, found)


def _at_work(daemon: RealDaemon, workspace: Workspace) -> bool:
    """Return whether an agent runs; a run that is paused, because its agent was killed while it began, is resumed."""
    if daemon.query("status")["runs"]["r1"]["status"] == "paused":
        daemon.command("resume")
    return bool(agents_of(workspace))


def _left(look: Callable[[], list[psutil.Process]]) -> int:
    """Return how many processes are still there after PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while (left := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(left)


def _accounts(daemon: RealDaemon, found: Found) -> Found:
    """Compare what was begun with what was ended and billed."""
    asked = Counter(event["body"]["call"] for event in daemon.events("asked"))
    billed = Counter(event["body"]["call"] for event in daemon.events("billed"))
    found.double_bills = sum(times > 1 for times in billed.values()) + len(billed - asked)
    found.unbilled = len(asked - billed)
    opened: Counter[Any] = Counter(event["body"]["session"] for event in daemon.events("session_opened"))
    ended = {f"{event['body']['run']}.{event['body']['iteration']}" for event in daemon.events("iteration_ended")}
    found.iterations = len(opened)
    found.lost = sum(session not in ended for session in opened) + sum(times > 1 for times in opened.values())
    return found
