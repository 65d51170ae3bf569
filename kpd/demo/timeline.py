"""Orders the contents of a recording: each event with its files and its output."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from kpd.demo.recording import Recording
from kpd.messages import Live
from kpd.model import events as e
from kpd.model.status import StepName

WRITTEN_BY: dict[str, StepName] = {
    "build.log": "build", "check.json": "check", "timing.json": "time", "verdict.json": "judge", "final.json": "judge",
    "metrics.json": "profile", "findings.json": "explain",
}  # fmt: skip
"""The step that writes a file of an iteration."""
PROPOSED = ("candidate/", "memo.md", "diff.patch", "prompt", "reply")
"""Prefixes of files that appear once an iteration has its candidate; all others appear at its end."""
PRINTED: dict[str, str] = {"build.log": "build"}
"""Files that hold live output, and the channel of that output."""
_OF_ITERATION = re.compile(r"runs/[^/]+/(r[0-9]+)/iter_([0-9]+)/(.+)")
_OF_RUN = re.compile(r"runs/[^/]+/(r[0-9]+)/([^/]+)")

LINGER_S = 2.5
"""Recorded seconds for which the end of an iteration stays visible."""
ENDS_STEP = (e.StepFact, e.Faulted)
ENDS_ITERATION = (e.IterationEnded, e.RunEnded)
"""Facts that end a step, or an iteration."""


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One event, before which `files` (path → content) are written and `printed` is sent."""

    at: float
    fact: e.Fact
    files: dict[str, bytes]
    printed: tuple[Live, ...]


def timeline(recording: Recording) -> tuple[TimelineEntry, ...]:
    """Order the recording: every event in its order, and every file with one of them."""
    places = _places(recording.events)
    files: dict[int, dict[str, bytes]] = defaultdict(dict)
    for name in sorted(recording.files):
        files[_place(name, places, recording.events[-1].seq)][name] = recording.files[name]
    return tuple(
        TimelineEntry(event.at, event.fact, files[event.seq], tuple(_printed(files[event.seq])))
        for event in recording.events
    )


def waits(cues: tuple[TimelineEntry, ...]) -> list[float]:
    """Compute the recorded seconds before each entry of the timeline.

    Everything before the queued run comes at once. The end of an iteration stays for LINGER_S at least, because the
    next one begins some milliseconds later.
    """
    queued = next((nth for nth, cue in enumerate(cues) if isinstance(cue.fact, e.RunQueued)), 0)
    found = [0.0] * max(1, queued)
    for before, cue in zip(cues[len(found) - 1 :], cues[len(found) :], strict=False):
        least = LINGER_S if isinstance(before.fact, e.IterationEnded) else 0.0
        found.append(max(least, cue.at - before.at))
    return found


Places = dict[tuple[str, int, str], int]
"""The number of the event that ended a step of an iteration, or the whole iteration ("")."""


def _places(events: tuple[e.Event, ...]) -> Places:
    found: Places = {}
    under_way: dict[tuple[str, int], StepName] = {}
    for event in events:
        fact = event.fact
        if isinstance(fact, e.StepStarted | e.StepFact | e.Faulted | e.IterationEnded):
            key = (fact.run, fact.iteration)
            if (step := under_way.pop(key, None)) is not None:
                found[(*key, step)] = event.seq
            if isinstance(fact, e.StepStarted):
                under_way[key] = fact.step
            if isinstance(fact, e.IterationEnded):
                found[(*key, "")] = event.seq
        elif isinstance(fact, e.TaskPinned):
            found[fact.run, -1, "task"] = event.seq
    return found


def _place(name: str, places: Places, last: int) -> int:
    """Return the number of the event with which a file of the workspace appears."""
    if (of := _OF_ITERATION.fullmatch(name)) is not None:
        run, number, rest = of[1], int(of[2]), of[3]
        step = WRITTEN_BY.get(rest, "propose" if rest.startswith(PROPOSED) else "")
        return places.get((run, number, step), places.get((run, number, ""), last))
    if (of := _OF_RUN.match(name)) is not None:
        return places.get((of[1], -1, of[2]), last)
    return last


def _printed(files: dict[str, bytes]) -> Iterator[Live]:
    for name, data in files.items():
        of = _OF_ITERATION.fullmatch(name)
        if of is not None and data and (channel := PRINTED.get(of[3])) is not None:
            yield Live(channel, of[1], int(of[2]), data.decode(errors="replace"))
