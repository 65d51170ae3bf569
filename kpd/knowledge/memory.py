"""What was tried on a task before: `memory/<task>.md`, a section a run, an entry an iteration, open to people's edits.

kpd only ever appends. What people wrote, moved or struck out stays as they left it.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from kpd.model.metrics import describe
from kpd.model.nouns import Expectation, Iteration, Outcome, Run
from kpd.profile.catalogue import RULES
from kpd.workspace.paths import Workspace

LONGEST_LINE = 400
READ_BACK = 16_000
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_SECTION = re.compile(r"^## Run .*$", re.MULTILINE)
_NOTHING: Mapping[str, float] = {}


def append(
    workspace: Workspace,
    run: Run,
    iteration: Iteration,
    outcome: Outcome,
    reason: str,
    before: Mapping[str, float] = _NOTHING,
    after: Mapping[str, float] = _NOTHING,
) -> None:
    """Add an iteration's entry, at the end of its run's section. Doing it again adds nothing. Raises OSError.

    `before` and `after` are the metrics of the iteration it was measured against and its own: with them the entry says
    what became of the metric that was expected to move.
    """
    path = _path(workspace, run.task)
    heading, title = _heading(run), _title(run, iteration)
    text = path.read_text(errors="replace") if path.exists() else f"# What was tried on {run.task}\n"
    if f"\n{title}\n" in f"\n{text}\n":
        return
    sections = _SECTION.findall(text)
    added = "" if path.exists() else text
    added += "" if text.endswith("\n") else "\n"
    if not sections or sections[-1] != heading:
        added += f"\n{heading}\n"
    added += f"\n{title}\n" + "\n".join(_entry(run, iteration, outcome, reason, before, after)) + "\n"
    _append(path, added.encode())


def read(workspace: Workspace, task: str, limit: int = READ_BACK) -> str:
    """The newest part of a task's memory, at most `limit` characters, cut at an entry. Raises OSError."""
    path = _path(workspace, task)
    if not path.exists():
        return ""
    text = path.read_text(errors="replace")
    if len(text) <= limit:
        return text
    newest = text[-limit:]
    cut = re.search(r"^##", newest, re.MULTILINE)
    return "(older entries are left out)\n\n" + (newest[cut.start() :] if cut else newest)


def plain(text: str) -> str:
    """Other people's words as one line of harmless markdown, free of control and invisible characters."""
    kept = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text)
    line = " ".join(kept.split())
    if len(line) > LONGEST_LINE:
        line = line[: LONGEST_LINE - 1] + "…"
    return _MARKDOWN.sub(r"\\\1", line)


def _path(workspace: Workspace, task: str) -> Path:
    return workspace.memory / f"{task}.md"


def _heading(run: Run) -> str:
    where = plain(f"{run.host}/{run.device}" if run.device else run.host)
    return f"## Run {run.id} · {_when(run.started or run.queued, '%Y-%m-%d')} · {where}"


def _title(run: Run, iteration: Iteration) -> str:
    """With the time it began, as run ids start again when a workspace's log is thrown away."""
    return f"### {run.id}.{iteration.number} · {_when(iteration.started, '%Y-%m-%d %H:%M:%S')}"


def _when(at: float, pattern: str) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(pattern)


def _entry(
    run: Run,
    iteration: Iteration,
    outcome: Outcome,
    reason: str,
    before: Mapping[str, float],
    after: Mapping[str, float],
) -> Iterable[str]:
    yield f"- memo: {plain(iteration.memo) or '(none)'}"
    marked = f"{outcome} by hand: {plain(iteration.override)}" if iteration.override else outcome
    yield f"- outcome: {marked}" + (f": {plain(reason)}" if reason and not iteration.override else "")
    if iteration.verdict is not None:
        gain = iteration.verdict.gain
        yield f"- verdict: {iteration.verdict.word}, gain {gain.pct:+.1f} % [{gain.low:+.1f}, {gain.high:+.1f}]"
    parent = run.iteration(iteration.parent)
    if iteration.expected is not None:
        if aimed := _aimed_at(iteration.expected, parent.rules if parent else ()):
            yield f"- aimed at: {', '.join(aimed)}"
        yield f"- expected: {_expected(iteration.expected)}; measured: {_measured(iteration, before, after)}"
    if iteration.rules:
        yield f"- findings: {', '.join(iteration.rules)}"


def _aimed_at(expected: Expectation, fired: Iterable[str]) -> list[str]:
    """The rules that had fired on what the candidate started from and look at the metric that it meant to move."""
    looking = {rule.id for rule in RULES if expected.metric in rule.needs}
    return [rule for rule in fired if rule in looking]


def _expected(expected: Expectation) -> str:
    gain = "" if expected.gain_pct is None else f", gain {expected.gain_pct:+.1f} %"
    name = expected.metric if describe(expected.metric) else plain(expected.metric)
    return f"{name} {expected.direction}{gain}"


def _measured(iteration: Iteration, before: Mapping[str, float], after: Mapping[str, float]) -> str:
    assert iteration.expected is not None
    name = iteration.expected.metric
    parts = []
    if name in before and name in after:
        metric = describe(name)
        unit = f" {metric.unit}" if metric and metric.unit else ""
        parts.append(f"{before[name]:.4g} → {after[name]:.4g}{unit}")
    if iteration.verdict is not None:
        parts.append(f"gain {iteration.verdict.gain.pct:+.1f} %")
    return ", ".join(parts) or "nothing"


def _append(path: Path, data: bytes) -> None:
    """One write at the end of the file, whatever else has it open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    with os.fdopen(descriptor, "ab", buffering=0) as file:
        written = file.write(data)
        if written != len(data):
            raise OSError(f"only {written} of {len(data)} bytes of {path.name} were written")
