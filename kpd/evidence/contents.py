"""Collects the files of a bundle from a workspace's run folder and its events."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kpd import __version__
from kpd.evidence import archive
from kpd.evidence.archive import (
    CANDIDATES,
    ENVIRONMENT,
    EVENTS,
    MANIFEST,
    TASK,
    Bundle,
    BundleManifest,
    Environment,
    iteration_file,
)
from kpd.evidence.scrub import Scrub, refuse_named
from kpd.model import codec, events as e
from kpd.model.hosts import HostCard
from kpd.model.state import TaskCard
from kpd.workspace.paths import Workspace, inside
from kpd.workspace.run_files import IterationFolder, NotRegularFile, digest, files_below, read_plain

OF_ITERATION = (
    "timing.json", "audit.json", "repeats.json", "final.json", "check.json", "build.log", "metrics.json",
    "findings.json",
)  # fmt: skip
"""Files of an iteration's folder that a bundle has."""


@dataclass(frozen=True, slots=True)
class RunSource:
    """A run in its workspace: all its events in order, and the cards of its machine and its task."""

    workspace: Workspace
    run: str
    events: tuple[e.Event, ...]
    host: HostCard | None
    card: TaskCard | None

    @property
    def task(self) -> str:
        """The run's task, which it may have got only in a phase before its first iteration."""
        facts = [event.fact for event in self.events]
        made = [fact.result.task for fact in facts if isinstance(fact, e.PhaseEnded) and fact.result.task]
        return [*(fact.task for fact in facts if isinstance(fact, e.RunQueued)), *made][-1]

    @property
    def people(self) -> set[str]:
        """Names of those who did something, such as ada and laptop of ada@laptop:pts/3."""
        said = {getattr(event.fact, "by", "") for event in self.events}
        cards = [event.fact.card for event in self.events if isinstance(event.fact, e.DeploymentSeen)]
        said |= {name for card in cards for name in (card.deployment.by, card.deployment.answered_by)}
        return {part for one in said for part in one.partition(":")[0].split("@")}


def gather(source: RunSource, scrub: Scrub) -> Bundle:
    """Make the bundle of a run, without a signature. Raises OSError, StillNamed."""
    before, left_out = _files(source)
    clean = {name: scrub.file(name, data) for name, data in before.items()}
    hashes = {digest(data): digest(clean[name]) for name, data in before.items() if clean[name] != data}
    held = {_name(name, data, scrub): data for name, data in clean.items()}
    log = b"".join(codec.event_to_json(event) + b"\n" for event in source.events)
    held[EVENTS] = scrub.file(EVENTS, log, hashes)
    environment = Environment(__version__, source.host, source.card)
    held[ENVIRONMENT] = scrub.file(ENVIRONMENT, codec.encode(environment))
    task, named = scrub.text(source.task), tuple(scrub.text(name) for name in left_out)
    manifest = BundleManifest(
        archive.FORMAT,
        __version__,
        source.run,
        task,
        archive.entries(held),
        scrub.names is not None,
        scrub.redacted,
        named,
    )
    signed = codec.encode(manifest) + b"\n"
    refuse_named({**held, MANIFEST: signed}, scrub)
    return Bundle(manifest, held, signed)


def _name(name: str, data: bytes, scrub: Scrub) -> str:
    """Return the name of a clean file: a candidate's is its hash."""
    return CANDIDATES + digest(data) if name.startswith(CANDIDATES) else scrub.text(name)


def _files(source: RunSource) -> tuple[dict[str, bytes], list[str]]:
    """Read the run's files, by their names in a bundle; return the names of those that are too large, too."""
    held: dict[str, bytes] = {}
    left_out: list[str] = []
    for name, path in _wanted(source):
        try:
            data = read_plain(path, archive.MOST_FILE)
        except FileNotFoundError:  # not every iteration has every file
            continue
        except NotRegularFile:
            left_out.append(name)
            continue
        held[CANDIDATES + digest(data) if name.startswith(CANDIDATES) else name] = data
    return held, left_out


def _wanted(source: RunSource) -> Iterator[tuple[str, Path]]:
    """Yield the name in the bundle and the path of each file that a bundle has, if it is there."""
    folder = source.workspace.run_folder(source.task, source.run)
    pinned = next((event.fact for event in source.events if isinstance(event.fact, e.TaskPinned)), None)
    for path in sorted({**pinned.protected, **pinned.editable} if pinned is not None else {}):
        yield TASK + path, inside(folder / "task" / source.task, path)
    for number in sorted({event.fact.iteration for event in source.events if isinstance(event.fact, e.IterationFact)}):
        found = IterationFolder(source.workspace.iteration_folder(source.task, source.run, number))
        yield from ((iteration_file(number, name), found.folder / name) for name in OF_ITERATION)
        yield from ((CANDIDATES + path, inside(found.candidate, path)) for path in files_below(found.candidate))
