"""Bundles of the recorded run, as a run of today would leave them, and what somebody may do to one."""

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kpd.demo.recording import load
from kpd.evidence import archive
from kpd.evidence.archive import EVENTS, Bundle
from kpd.evidence.contents import RunSource, gather
from kpd.evidence.scrub import Scrub
from kpd.evidence.verify import verify
from kpd.measure import audits
from kpd.measure.audits import AuditSamples
from kpd.measure.fresh_cases import FreshCase
from kpd.measure.judge import FINAL, HeldOutResult, held_out
from kpd.measure.samples import CaseSample, samples_from_json
from kpd.model import codec, events as e
from kpd.workspace.paths import Workspace, inside
from kpd.workspace.run_files import digest, write_atomic
from tests.places import ROOT

LAST = 2
"""The last iteration of the run that these bundles have: the baseline and two that were accepted."""
AUDITED = 1
Change = Callable[[e.Fact], e.Fact]


def source(root: Path, last: int = LAST, change: Change = lambda fact: fact) -> RunSource:
    """The recorded run up to the end of iteration `last`, in a workspace below `root`, with changed facts."""
    recording = load(ROOT / "kpd" / "demo" / "h100.tar.xz")
    for name, data in recording.files.items():
        write_atomic(inside(root, name), data)
    kept: list[e.Event] = []
    for event in recording.events:
        if isinstance(event.fact, e.RunFact):
            kept.append(replace(event, fact=change(event.fact)))
        if isinstance(event.fact, e.IterationEnded) and event.fact.iteration == last:
            break
    return RunSource(Workspace(root), recording.about.run, tuple(kept), None, None)


@cache
def recorded() -> Bundle:
    """The bundle of these iterations, with hashes of samples as a log of today has, an audit and a held-out case."""
    with tempfile.TemporaryDirectory() as folder:
        made = gather(source(Path(folder)), Scrub())
    files, judged = dict(made.files), _audited(made)

    def today(fact: e.Fact) -> e.Fact:
        if isinstance(fact, e.Timed):
            return replace(fact, samples=digest(files[archive.iteration_file(fact.iteration, "timing.json")]))
        return judged(fact)

    final, audit = _final(), _audit(made)
    files[archive.iteration_file(AUDITED, FINAL)] = codec.encode(final)
    files[archive.iteration_file(AUDITED, "audit.json")] = codec.encode({"summary": audit[1], "samples": audit[0]})
    return signed(with_facts(replace(made, files=files), today))


def _final() -> HeldOutResult:
    return HeldOutResult("us", 60.0, 160.0, 62.5, (62.0, 63.0))


def _audit(bundle: Bundle) -> tuple[AuditSamples, Any]:
    """An audit that bears the gain out: it has the times of the contest itself."""
    contest = samples_from_json(bundle.files[archive.iteration_file(AUDITED, "timing.json")])
    first: dict[str, CaseSample] = contest[0].cases
    fresh = {
        name: FreshCase(case.reps, 3, True, tuple(map(int, case.a_ns)), tuple(map(int, case.b_ns)))
        for name, case in first.items()
    }
    found = AuditSamples(fresh, contest[:4], 1.5, 2.5)
    return found, audits.summary(found, contest)


def _audited(bundle: Bundle) -> Change:
    summary = _audit(bundle)[1]

    def change(fact: e.Fact) -> e.Fact:
        if isinstance(fact, e.Judged) and fact.iteration == AUDITED:
            return replace(fact, verdict=held_out(fact.verdict, _final(), fact.verdict.least_pct), audited=summary)
        if isinstance(fact, e.IterationEnded) and fact.iteration == AUDITED:
            cause: Any = fact.cause
            return replace(fact, cause=type(cause)(held_out(cause.verdict, _final(), cause.verdict.least_pct)))
        return fact

    return change


def with_facts(bundle: Bundle, change: Change) -> Bundle:
    events = (codec.event_from_json(row) for row in bundle.files[EVENTS].splitlines())
    return with_events(bundle, (replace(event, fact=change(event.fact)) for event in events))


def with_events(bundle: Bundle, events: Iterable[e.Event]) -> Bundle:
    return with_rows(bundle, [codec.event_to_json(event) for event in events])


def rows(bundle: Bundle) -> list[bytes]:
    return bundle.files[EVENTS].splitlines()


def with_rows(bundle: Bundle, rows: Iterable[bytes]) -> Bundle:
    return signed(replace(bundle, files={**bundle.files, EVENTS: b"".join(row + b"\n" for row in rows)}))


def with_file(bundle: Bundle, name: str, data: bytes | None) -> Bundle:
    """The bundle with another content of one file, or without it."""
    files = {other: held for other, held in bundle.files.items() if other != name}
    return signed(replace(bundle, files=files if data is None else {**files, name: data}))


def signed(bundle: Bundle) -> Bundle:
    """The bundle with a manifest that fits its files, as whoever changes them makes one."""
    manifest = replace(bundle.manifest, files=archive.entries(bundle.files))
    return replace(bundle, manifest=manifest, signed=codec.encode(manifest))


def wrong(bundle: Bundle) -> list[str]:
    """What does not hold of a bundle that was sent: `about text`, a line each."""
    return [f"{line.about} {line.text}" for line in verify(archive.unpack(archive.pack(bundle))) if not line.holds]
