"""Checks a kernel: each case, each kind of inputs, from secret seeds; and how exact the task's own kernel is."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from kpd.measure.python.host.calling import CallOutput, CallSets, KernelProblem, wrong
from kpd.measure.python.host.compare import CompareRule, errors
from kpd.measure.python.host.session import RunnerCommand, WorkerCase

NOTHING: dict[str, Any] = {"comparisons": 0, "worst": 0.0, "case": "", "distribution": "", "output": "", "index": 0}
AT_ONCE = 2  # calls on inputs of their own, whose results must all be right at the end
ROUNDS = 4  # of calls that tell the error of the task's own kernel
SEED = 0x6B706462  # what is found by it holds for other inputs of the same kind
LIMIT_MS = 60_000.0


def check(session: RunnerCommand, kernel: str, seeds: str, limit_ms: str) -> dict[str, Any]:
    """Check a kernel in every case. Returns the report; raises KernelProblem, which says what failed besides."""
    rng = random.Random(session.seed())
    worker = session.worker({"b": kernel})
    report = {**NOTHING, "problem": None}
    failed: list[str] = []
    worst: KernelProblem | None = None
    for case in session.harness.cases:
        for kind in session.kinds:
            work = WorkerCase(session, worker, case, kind, rng, float(limit_ms))
            try:
                for _ in range(int(seeds)):
                    _once(work, report)
            except KernelProblem as err:
                work.told(err)
                if err.report["kind"] not in ("wrong", "raised", "input"):
                    raise
                failed.append(f"{case}/{kind}")
                if worst is None or err.report.get("multiple", 0.0) > worst.report.get("multiple", 0.0):
                    worst = err
    if worst is not None:
        return {**report, "problem": worst.report, "failed": failed}
    return report


def _once(work: WorkerCase, report: dict[str, Any]) -> None:
    calls, outputs = called(work)
    session = work.session
    for number, found in enumerate(outputs):
        output, verdict = calls.judge("b", found, number, session.rule, session.harness.truth(calls.values(number)))
        report["comparisons"] += verdict.compared
        if not verdict.worst <= 1.0:
            raise wrong("b", output, verdict)
        if not report["case"] or verdict.worst > report["worst"]:
            report.update(
                worst=verdict.worst, case=work.case, distribution=work.kind, output=output, index=verdict.element
            )


def called(work: WorkerCase) -> tuple[CallSets, list[list[CallOutput]]]:
    """Call a kernel on some sets of inputs, and return what it returned for each."""
    calls = work.calls()
    for number in range(AT_ONCE):
        calls.fill(number, work.draw())
    calls.prepare(LIMIT_MS)
    calls.learn("b", work.limit_ms, work.rng)
    answer, _ = calls.run("b", AT_ONCE, 1, AT_ONCE * work.limit_ms)
    outputs = [calls.outputs("b", answer, number) for number in range(AT_ONCE)]
    for number in range(AT_ONCE):
        calls.unchanged("b", number)
    return calls, outputs


def bounds(session: RunnerCommand, kernel: str, file: str, limit_ms: str) -> dict[str, Any]:
    """Measure the errors of the task's own kernel, and write them to `file` for `CompareRule.bounds`."""
    rng = random.Random(SEED)
    worker = session.worker({"b": kernel})
    table: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {}
    for case in session.harness.cases:
        for kind in session.kinds:
            work = WorkerCase(session, worker, case, kind, rng, float(limit_ms))
            found = table.setdefault(case, {}).setdefault(kind, {})
            for _ in range(ROUNDS):
                try:
                    calls, outputs = called(work)
                except KernelProblem as err:
                    raise work.told(err) from err
                for number, one in enumerate(outputs):
                    want = session.harness.truth(calls.values(number))
                    for name, output in zip(session.harness.outputs, one, strict=False):
                        got = output.read()
                        if len(got) != len(want[name]):
                            message = f"{name} has {len(got)} elements, but truth gives {len(want[name])}"
                            raise work.told(KernelProblem("raised", "b", message))
                        seen = errors(output.layout, got, want[name])
                        found[name] = tuple(map(max, zip(found.get(name, (0.0, 0.0, 0.0)), seen, strict=False)))
    Path(file).write_text(json.dumps(table))
    return {"problem": None}


def repeat(session: RunnerCommand, kernel: str, how: str, span_ms: str, limit_ms: str) -> dict[str, Any]:
    """Call a kernel on inputs that do not change; each result must be right, and where `how` says so, the same bits."""
    rng = random.Random(session.seed())
    same = how == "yes" or (how == "auto" and _steady(session, rng, float(limit_ms)))
    worker = session.worker({"b": kernel})
    made: dict[str, int] = {}
    share = float(span_ms) / len(session.harness.cases) / 1000
    for case in session.harness.cases:
        work = WorkerCase(session, worker, case, session.kinds[0], rng, float(limit_ms))
        try:
            made[case] = _again(work, share, same)
        except KernelProblem as err:
            raise work.told(err, "repeats") from err
    return {"problem": None, "calls": made}


def _steady(session: RunnerCommand, rng: random.Random, limit_ms: float) -> bool:
    """Return whether the task's own kernel gives the same bits each time."""
    worker = session.worker({"b": session.settings["baseline"]})
    case = next(iter(session.harness.cases))
    try:
        _again(WorkerCase(session, worker, case, session.kinds[0], rng, limit_ms), 0.05, True)
    except KernelProblem:
        return False
    finally:
        worker.end()
    return True


def _again(work: WorkerCase, share_s: float, same: bool) -> int:
    calls = work.calls()
    calls.fill(0, work.draw())
    calls.prepare(LIMIT_MS)
    calls.learn("b", work.limit_ms, work.rng)
    want = work.session.harness.truth(calls.values(0))
    first: list[bytes] | None = None
    deadline, made = time.monotonic() + share_s, 0
    while made < 2 or time.monotonic() < deadline:
        calls.restore()
        answer, _ = calls.run("b", 1, 1, work.limit_ms)
        outputs = calls.outputs("b", answer, 0)
        bits = [one.data for one in outputs]
        if first is None or bits != first:
            output, verdict = calls.judge("b", outputs, 0, work.session.rule, want)
            if not verdict.worst <= 1.0:
                raise wrong("b", output, verdict)
            if first is not None and same:
                raise KernelProblem("raised", "b", "its results differ from call to call, on the same inputs")
            first = bits
        made += 1
    return made


__all__ = ["NOTHING", "CompareRule", "bounds", "check", "repeat"]
