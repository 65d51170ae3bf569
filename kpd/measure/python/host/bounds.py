"""Measures how exact the task's own kernel is: a task without a tolerance of its own judges candidates by it."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kpd.measure.python.host.cases import AT_ONCE, WorkerCase
from kpd.measure.python.host.compare import errors, widest
from kpd.measure.python.host.harness import CaseInputs
from kpd.measure.python.host.judging import Judging
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.results import CallResult
from kpd.measure.python.host.rules import Errors
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.truths import Oracle, Referee

FEWEST_ROUNDS, MOST_ROUNDS = 2, 4  # of calls that tell the error of the task's own kernel: the fewest, …
ENOUGH = 1 << 20  # … where each output of a call has so many elements
SEED = 0x6B706462  # what is found by it holds for other inputs of the same kind


def bounds(session: RunnerCommand, kernel: str, file: str, limit_ms: str) -> dict[str, Any]:
    """Measure the errors of the task's own kernel, and write them to `file` for `CompareRule.bounds`."""
    rng = random.Random(SEED)
    asked = [(case, kind) for case in session.harness.cases for kind in session.kinds]
    known: dict[tuple[str, str], OwnErrors] = {}
    drawing = _rounds(session, asked, FEWEST_ROUNDS, rng)
    worker = session.worker({"b": kernel})
    _note_errors(session, worker, drawing, known, rng, float(limit_ms))
    few = [one for one in asked if one[1] == "constant" or known[one].elements < ENOUGH]  # equal ones show few errors
    drawing = _rounds(session, few, MOST_ROUNDS - FEWEST_ROUNDS, rng)
    _note_errors(session, worker, drawing, known, rng, float(limit_ms))
    table: dict[str, dict[str, dict[str, Errors]]] = {}
    for (case, kind), found in known.items():
        table.setdefault(case, {})[kind] = found.errors
    Path(file).write_text(json.dumps(table))
    return {"problem": None}


class OwnErrors(NamedTuple):
    """The errors of the task's own kernel, by output, and the elements of the output that has the fewest."""

    errors: dict[str, Errors]
    elements: int


def _rounds(
    session: RunnerCommand, asked: list[tuple[str, str]], rounds: int, rng: random.Random
) -> Iterator[tuple[str, str, CaseInputs]]:
    """Draw inputs for so many rounds of calls of each case and kind. Raises HarnessError."""
    calls = [one for one in asked for _ in range(rounds)]
    drawing = session.drawing(((*one, AT_ONCE) for one in calls), rng)
    return ((*one, drawn) for one, drawn in zip(calls, drawing, strict=True))


def _note_errors(
    session: RunnerCommand, worker: Worker, drawing: Iterator[tuple[str, str, CaseInputs]],
    known: dict[tuple[str, str], OwnErrors], rng: random.Random, limit_ms: float,
) -> None:  # fmt: skip
    """Call the task's own kernel on all inputs, and add its errors to what is known. Raises KernelProblem."""

    def note(found: Iterable[tuple[str, str, OwnErrors | KernelProblem]]) -> None:
        for case, kind, seen in found:
            if isinstance(seen, KernelProblem):
                raise seen.at(case, kind, "check")
            before = known.get((case, kind), OwnErrors({}, sys.maxsize))
            wide = {name: widest(before.errors.get(name, one), one) for name, one in seen.errors.items()}
            known[case, kind] = OwnErrors(wide, min(before.elements, seen.elements))

    waiting = Judging(partial(_errors_of, session.truth), session.later)
    for case, kind, drawn in drawing:
        work = WorkerCase(session, {"b": worker}, case, kind, rng, limit_ms, drawn)
        with work.blamed("check"):
            results = work.results()
        for result in results:
            note(waiting.add(result))
    note(waiting.verdicts())


def _errors_of(truth: Oracle | Referee, result: CallResult) -> tuple[str, str, OwnErrors | KernelProblem]:
    """Return the errors of a call, with its case and kind of inputs. Raises HarnessError."""
    want, scales, _ = truth.of(result.case, result.kind, result.inputs)
    found, fewest = {}, sys.maxsize
    for name, output in result.outputs.items():
        got = output.read()
        if len(got) != len(want[name]):
            message = f"{name} has {len(got)} elements, but truth gives {len(want[name])}"
            return result.case, result.kind, KernelProblem("raised", "b", message)
        found[name] = errors(output.layout, got, want[name], scales.get(name))
        fewest = min(fewest, len(got))
    return result.case, result.kind, OwnErrors(found, fewest)
