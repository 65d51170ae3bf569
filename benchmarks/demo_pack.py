"""Make a run on a GPU into the recording that `kpd demo` plays.

    python benchmarks/demo_pack.py WORKSPACE OUT [--run r1] [--word NAME …] [--command TEXT]

WORKSPACE has `.kpd/events.db`, `runs/` and `memory/`, with no daemon on it. OUT is the file to write; the demo plays
kpd/demo/h100.tar.xz unless it is told another. The run must be one on a GPU, with at least eight iterations, of which
some were accepted, rejected, incorrect and not to be built. Paths, names of people and machines, and the GPU's own id
are taken out; `--word` names what else must not be in it (the user and the host it ran on, say). What is left is looked
through once more, and refused if it still tells anything.
"""

import argparse
import getpass
import json
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kpd import __version__
from kpd.daemon.store import EventStore
from kpd.demo.recording import FORMAT, Recording, RecordingInfo, save
from kpd.model import codec, events as e
from kpd.model.faults import IsIncorrect, NotBuilt
from kpd.model.fold import fold_all
from kpd.model.hosts import HostCard, Telemetry
from kpd.model.run import Run
from kpd.model.waits import ForLease
from kpd.workspace.paths import Workspace
from tests.support.cassette.scrub import LEAST, REPLAYED_GPU, Scrub

PUBLIC = ("", "/", "/root", "root", "localhost")
"""Words that name neither a person nor a machine."""
OPERATOR = "operator"
"""In place of whoever it was."""
MOST_TEXT = 256 << 10
"""Bytes of a file that is packed; a profiler's report is larger, and no screen shows it."""
LEAST_ITERATIONS = 8
_AS_IT_IS = re.compile(r"runs/[^/]+/[^/]+/(task/|best/|iter_[0-9]+/(candidate/|diff\.patch|timing\.json))")
"""Files that other things in the recording know by their hash or that are code: not changed, only looked at."""
_PRIVATE = {
    "a path": re.compile(rb"(?<![\w./])/(?:home|root|Users|tmp|var|work|mnt|srv|data|scratch)/[\w.+@~-]+"),
    "an address": re.compile(
        rb"\b[\w.+-]+@(?!recorded\b)[\w-]+(?:\.[\w-]+)*\b|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"
    ),
    "a key": re.compile(rb"sk-ant-\w+|BEGIN [A-Z ]*PRIVATE KEY"),
    "a GPU's own id": re.compile(rb"GPU-(?!" + REPLAYED_GPU[4:].encode() + rb")[0-9a-f]{8}-"),
}


class NotFit(Exception):
    """The run is not one to publish; the message says why."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a run on a GPU into the recording that kpd demo plays.")
    parser.add_argument("workspace", metavar="WORKSPACE", type=Path)
    parser.add_argument("out", metavar="OUT", type=Path)
    parser.add_argument("--run", default="r1", metavar="RUN", help="the run's id (default: r1)")
    parser.add_argument("--word", action="append", default=[], metavar="NAME", help="what must not be in it")
    parser.add_argument("--command", default="", help="what made the run, if that was more than kpd run")
    args = parser.parse_args()
    here = (str(Path.home()), socket.gethostname(), getpass.getuser(), str(args.workspace.resolve()))
    words = sorted({*args.word, *here} - set(PUBLIC))
    try:
        recording = pack(Workspace(args.workspace.resolve()), args.run, words, args.command)
        refuse_unfit(recording)
        refuse_private(recording, words)
    except NotFit as err:
        sys.exit(str(err))
    save(recording, args.out)
    about = json.loads(codec.encode(recording.about))
    held = {"events": len(recording.events), "files": len(recording.files), "bytes": args.out.stat().st_size}
    print(json.dumps({**about, **held}, indent=1))


def pack(workspace: Workspace, id: str, words: Iterable[str], command: str = "") -> Recording:
    """The run `id` with what led to it. `words` are names of people and machines, and folders, besides those it shows.

    `command` is what made the run, where that was more than `kpd run`.

    Raises NotFit, StoreError, OSError.
    """
    with EventStore(workspace.store, read_only=True) as store:
        events = list(store.read())
    run = fold_all(events).runs.get(id)
    if run is None:
        raise NotFit(f"there is no run {id} in {workspace.root}")
    scrub = Scrub([*words, *_shown(events)], run.device_id if run.device_id.startswith("GPU-") else "")
    kept = tuple(_events(events, run, scrub))
    public = fold_all(kept)
    card = public.hosts.get(run.host) or HostCard(run.host, "local")
    return Recording(_about(public.runs[id], card, command), kept, dict(_files(workspace, run, scrub)))


def refuse_unfit(recording: Recording) -> None:
    """A demo shows everything that can happen, on a real GPU. Raises NotFit."""
    state = fold_all(recording.events)
    run = state.runs[recording.about.run]
    card = state.hosts.get(run.host)
    tried = [it for it in run.iterations if it.outcome not in (None, "baseline", "skipped", "interrupted")]
    lacks = [what for what, is_one in _KINDS.items() if not any(map(is_one, tried))]
    if run.device_id != REPLAYED_GPU or card is None or card.transport == "recorded":
        raise NotFit(f"{run.id} was measured on {run.device}: not on a GPU")
    if not run.over:
        raise NotFit(f"{run.id} has not ended")
    if len(tried) < LEAST_ITERATIONS:
        raise NotFit(f"{run.id} has {len(tried)} iterations besides its baseline, a demo wants {LEAST_ITERATIONS}")
    if lacks:
        raise NotFit(f"{run.id} has no iteration that was {' and none that was '.join(lacks)}")


def refuse_private(recording: Recording, words: Iterable[str]) -> None:
    """The last look: nothing may say who made it, or where. Raises NotFit."""
    named = [word.encode() for word in words if len(word) >= LEAST]
    held = {f"event {event.seq}": codec.event_to_json(event) for event in recording.events} | dict(recording.files)
    for name, data in {**held, "about": codec.encode(recording.about)}.items():
        if seen := [word for word in named if word in data]:
            raise NotFit(f"{name} holds {seen[0].decode()!r}")
        for what, looks in _PRIVATE.items():
            if (match := looks.search(data)) is not None:
                raise NotFit(f"{name} holds {what}: {match[0].decode(errors='replace')!r}")


_KINDS = {
    "accepted": lambda it: it.outcome == "accepted",
    "rejected by its times": lambda it: it.outcome == "rejected" and it.verdict is not None,
    "incorrect": lambda it: isinstance(it.cause, IsIncorrect),
    "not to be built": lambda it: isinstance(it.cause, NotBuilt),
}


def _about(run: Run, card: HostCard, command: str) -> RecordingInfo:
    day = datetime.fromtimestamp(run.queued, UTC).date().isoformat()
    command = command or f"kpd run {run.task} --agent {run.agent} --iterations {run.budget.iterations}"
    return RecordingInfo(
        FORMAT,
        __version__,
        day,
        run.device,
        card.driver,
        card.cuda,
        run.task,
        run.id,
        command,
    )


# ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _shown(events: Iterable[e.Event]) -> set[str]:
    """Names that the log itself has: the workspace's folder, the hosts' addresses."""
    found: set[str] = set()
    for event in events:
        if isinstance(event.fact, e.DaemonStarted):
            found.add(event.fact.workspace)
        elif isinstance(event.fact, e.HostProbed):
            found |= {event.fact.card.address, *re.split(r"[@:]", event.fact.card.address)}
    return found


def _events(events: list[e.Event], run: Run, scrub: Scrub) -> Iterator[e.Event]:
    """What was known of the task and the host when the run was queued, then all that bears on the run."""
    queued = next(event.seq for event in events if isinstance(event.fact, e.RunQueued) and event.fact.run == run.id)
    last = max(event.seq for event in events if isinstance(event.fact, e.RunFact) and event.fact.run == run.id)
    known: dict[type[e.Fact], e.Event] = {}
    during: list[e.Event] = []
    for event in events:
        fact = event.fact
        about = isinstance(fact, e.TaskLoaded) and fact.card.name == run.task
        about |= isinstance(fact, e.HostProbed) and fact.card.name == run.host
        if about and event.seq < queued:
            known[type(fact)] = event
        elif about or isinstance(fact, e.Noticed | e.QueueHeld | e.QueueReleased):
            during += [event] if queued < event.seq <= last else []
        elif isinstance(fact, e.RunFact) and fact.run == run.id:
            during.append(event)
    for seq, event in enumerate([*sorted(known.values(), key=lambda one: one.seq), *during], 1):
        yield e.Event(seq, event.at, _public(event.fact, scrub))


def _public(fact: e.Fact, scrub: Scrub) -> e.Fact:
    if isinstance(fact, e.HostProbed):
        system = " ".join(word for word in fact.card.system.split() if not word[:1].isdigit())
        devices = tuple(replace(device, telemetry=_own(device.telemetry)) for device in fact.card.devices)
        fact = replace(fact, card=replace(fact.card, address="", system=system, devices=devices))
    if isinstance(fact, e.RunWaits) and isinstance(fact.wait, ForLease):  # whoever has the device
        fact = replace(fact, wait=ForLease("somebody measures on the device"))
    body = _without(codec.jsonable(fact), scrub)
    return codec.fact_from(fact.kind(), codec.encode(body))


def _own(telemetry: Telemetry | None) -> Telemetry | None:
    """What the device did, and nothing of who else had it just then."""
    if telemetry is None:
        return None
    kpds = tuple(one for one in telemetry.computes if one.whose == "kpd")
    return replace(telemetry, holder="", since=0.0, computes=kpds)


def _without(value: Any, scrub: Scrub) -> Any:
    match value:
        case str():
            return scrub.text(value.encode())
        case list():
            return [_without(item, scrub) for item in value]
        case dict():
            return {
                key: OPERATOR if key == "by" and item not in ("", "kpd") else _without(item, scrub)
                for key, item in value.items()
            }
    return value


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _files(workspace: Workspace, run: Run, scrub: Scrub) -> Iterator[tuple[str, bytes]]:
    memory = workspace.memory / f"{run.task}.md"
    held = sorted(workspace.run_folder(run.task, run.id).rglob("*"))
    for path in (*held, memory):
        if not path.is_file() or path.is_symlink() or path.stat().st_size > MOST_TEXT:
            continue
        name, data = path.relative_to(workspace.root).as_posix(), path.read_bytes()
        if not _is_text(data):
            continue
        yield name, data if _AS_IT_IS.match(name) else scrub.text(data).encode()


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


if __name__ == "__main__":
    main()
