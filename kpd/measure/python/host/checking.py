"""Checks a kernel: each case, each kind of inputs, from secret seeds; and that its calls give the same again."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from kpd.measure.python.host import kept, nonfinite, sizes
from kpd.measure.python.host.held import HELD
from kpd.measure.python.host.judging import CallVerdict, compared, wrong
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.session import AT_ONCE, COMPILE_MS, GOES_ON, RunnerCommand, WorkerCase
from kpd.measure.python.host.turns import MEASURED

NOTHING: dict[str, Any] = {"comparisons": 0, "worst": 0.0, "case": "", "distribution": "", "output": "", "index": 0}
IN_TURN = 2  # sets of inputs of calls that are repeated
BEYOND, BEYOND_SHARE = 512, 0.25  # calls after them at most, and the time for these as a share of theirs


def check(session: RunnerCommand, kernel: str, seeds: str, limit_ms: str) -> dict[str, Any]:
    """Check a kernel in every case. Returns the report; raises KernelProblem, which says what failed besides."""
    rng = session.rng()
    asked = [(case, kind) for case in session.harness.cases for kind in session.kinds for _ in range(int(seeds))]
    planted = _planted(session, rng, int(seeds))
    report = {**NOTHING, "problem": None}
    if "baseline" in session.settings:
        others = sizes.drawn(session.harness.cases, session.harness.limits, rng, sizes.DRAWS * int(seeds))
        known = sizes.right(session, others, rng, float(limit_ms))
        asked += known
        report |= {"drawn": len(others), "unchecked": len(others) - len(known)}
    asked += planted
    usual = dict.fromkeys(nonfinite.VALUES, session.kinds[0])
    drawing = session.drawing(((case, usual.get(kind, kind), AT_ONCE) for case, kind in asked), rng)
    worker = session.worker({"b": kernel})
    session.started()
    problems: dict[str, KernelProblem] = {}
    compared_of: dict[tuple[str, str], int] = {}

    def judge(verdicts: Iterator[CallVerdict]) -> None:
        for one in verdicts:
            report["comparisons"] += one.worst.compared
            compared_of[one.case, one.kind] = compared_of.get((one.case, one.kind), 0) + one.worst.compared
            if one.problem is not None:
                problems.setdefault(f"{one.case}/{one.kind}", one.problem.at(one.case, one.kind))
            elif not report["case"] or one.worst.worst > report["worst"]:
                found = {"worst": one.worst.worst, "output": one.output, "index": one.worst.element}
                report.update(found, case=one.case, distribution=one.kind)

    for (case, kind), drawn in zip(asked, drawing, strict=True):
        if f"{case}/{kind}" in problems:
            continue
        if kind in nonfinite.VALUES:
            able = nonfinite.planted(drawn, kind, {*session.harness.outputs, *session.harness.fixed}, rng)
            if able is None:
                continue
            drawn = able
        work = WorkerCase(session, {"b": worker}, case, kind, rng, float(limit_ms), drawn)
        try:
            for result in work.results():
                judge(session.judging.add(result))
        except KernelProblem as err:
            if work.told(err).report["kind"] not in GOES_ON:
                raise
            problems[f"{case}/{kind}"] = err
    with session.marks.of("judge"):
        judge(session.judging.verdicts())
    report["fewest"] = min(compared_of.values(), default=0)
    if not problems:
        session.audit(worker)
    report["spent"] = session.spent()
    worker.end()
    report["kept"] = kept.pack(kernel) if session.gpu else ""
    if problems:
        worst = max(problems.values(), key=lambda one: one.report.get("multiple", 0.0))
        return {**report, "problem": worst.report, "failed": list(problems)}
    if session.order:
        session.order.tell(MEASURED)
    return report


def _planted(session: RunnerCommand, rng: random.Random, seeds: int) -> list[tuple[str, str]]:
    """Return the cases to be called with values that are not finite. They have the bounds of the first kind."""
    if not session.rule.plants:
        return []
    for bounds in session.rule.bounds.values():
        bounds |= dict.fromkeys(nonfinite.VALUES, bounds[session.kinds[0]])
    return nonfinite.asked(list(session.harness.cases), rng, seeds)


def repeat(session: RunnerCommand, kernel: str, how: str, span_ms: str, limit_ms: str) -> dict[str, Any]:
    """Call a kernel on two sets of inputs in turn; each result must be right, and where `how` says so, the same bits.

    On one set alone what the call before has left would be right. The first results are held until the end, after
    calls on the other one's inputs.
    """
    rng = session.rng()
    same = how == "yes" or (how == "auto" and _steady(session, rng, float(limit_ms)))
    worker = session.worker({"b": kernel})
    made: dict[str, int] = {}
    share = float(span_ms) / len(session.harness.cases) / 1000
    kind = session.kinds[0]
    drawing = session.drawing(((case, kind, IN_TURN) for case in session.harness.cases), rng)
    for case, drawn in zip(session.harness.cases, drawing, strict=True):
        work = WorkerCase(session, {"b": worker}, case, kind, rng, float(limit_ms), drawn)
        try:
            made[case] = _again(work, share, same)
        except KernelProblem as err:
            raise work.told(err, "repeats") from err
    return {"problem": None, "calls": made}


def _steady(session: RunnerCommand, rng: random.Random, limit_ms: float) -> bool:
    """Return whether the task's own kernel gives the same bits each time."""
    worker = session.worker({"b": session.settings["baseline"]})
    case, kind = next(iter(session.harness.cases)), session.kinds[0]
    drawn = next(session.drawing([(case, kind, IN_TURN)], rng))
    try:
        _again(WorkerCase(session, {"b": worker}, case, kind, rng, limit_ms, drawn), 0.05, True)
    except KernelProblem:
        return False
    finally:
        worker.end()
    return True


def _again(work: WorkerCase, share_s: float, same: bool) -> int:
    calls = work.calls()
    for number, inputs in enumerate(work.drawn.sets):
        calls.fill(number, inputs)
    calls.prepare(COMPILE_MS)
    calls.learn("b", work.limit_ms, work.rng)
    truths = [work.session.truth.of(work.case, work.kind, inputs) for inputs in work.drawn.sets]
    first: list[list[bytes | bytearray]] = [[] for _ in truths]
    deadline, made = time.monotonic() + share_s, 0
    while made < 2 * IN_TURN or time.monotonic() < deadline:
        results = calls.results("b", IN_TURN, work.limit_ms)
        for number, (truth, result) in enumerate(zip(truths, results, strict=True)):
            if made < HELD:
                calls.hold("b", number, result)
            bits = [one.data for one in result.outputs.values()]
            if bits == first[number]:
                continue
            output, verdict = compared(work.session.rule, result, truth)
            if not verdict.worst <= 1.0:
                raise wrong("b", output, verdict)
            if first[number] and same:
                raise KernelProblem("raised", "b", "its results differ from call to call, on the same inputs")
            first[number] = bits
        made += IN_TURN
    for number, inputs in enumerate(reversed(work.drawn.sets)):  # what overwrites a result now has other bits
        calls.fill(number, inputs)
    calls.prepare(COMPILE_MS)
    deadline, more = time.monotonic() + share_s * BEYOND_SHARE, 0
    while more < IN_TURN or (more < BEYOND and time.monotonic() < deadline):
        calls.restore()
        calls.run("b", IN_TURN, 1, IN_TURN * work.limit_ms)
        more += IN_TURN
    calls.held["b"].refuse_overwritten()
    return made + more
