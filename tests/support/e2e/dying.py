"""A daemon that dies at a given point, and what must not be there twice afterwards."""

from collections import Counter
from typing import Any

from kpd.model.facts.steps import STEP_OF
from tests.support.daemon.real_daemon import RealDaemon

DIE_AT = """
import asyncio, os, signal, sys
from pathlib import Path
from kpd.daemon.process import serve
from kpd.model.events import Event
from kpd.workspace.paths import Workspace

kind, step, root = sys.argv[1], sys.argv[2], Path(sys.argv[3])

def die(message):
    if not isinstance(message, Event):
        return
    fact = message.fact
    if fact.kind() == kind and getattr(fact, "iteration", 1) == 1 and getattr(fact, "step", step) == step:
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(serve(Workspace(root), [die]))
"""


def nothing_twice(daemon: RealDaemon) -> None:
    events = daemon.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    once = {fact.kind() for fact in STEP_OF} | {
        "iteration_started",
        "iteration_ended",
        "accepted",
        "run_started",
        "run_ended",
    }
    seen: Counter[Any] = Counter(
        (event["kind"], event["body"]["run"], event["body"].get("iteration"))
        for event in events
        if event["kind"] in once
    )
    assert {what: count for what, count in seen.items() if count > 1} == {}
