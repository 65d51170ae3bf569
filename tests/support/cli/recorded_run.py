"""A workspace of the recorded run that `kpd demo` plays."""

from dataclasses import replace
from pathlib import Path

from kpd.daemon.store import EventStore
from kpd.demo.recording import load
from kpd.model.facts.iterations import IterationEnded
from kpd.model.facts.runs import RunQueued
from kpd.workspace.paths import Workspace, inside
from kpd.workspace.run_files import write_atomic
from tests.places import ROOT


def workspace_of(root: Path, before_baseline: bool = False, deploy: str = "") -> Workspace:
    """A workspace with the recorded run, whole or only up to the end of its first iteration.

    `deploy` is the project into which the winner is to be brought.
    """
    recording = load(ROOT / "kpd" / "demo" / "h100.tar.xz")
    (root / "tasks").mkdir(parents=True)
    (root / ".kpd").mkdir(mode=0o700)
    found = Workspace(root)
    with EventStore(found.store) as store:
        for event in recording.events:
            if before_baseline and isinstance(event.fact, IterationEnded):
                break
            fact = replace(event.fact, deploy=deploy) if isinstance(event.fact, RunQueued) else event.fact
            store.append(fact, event.at)
    for name, data in recording.files.items():
        write_atomic(inside(root, name), data)
    return found
