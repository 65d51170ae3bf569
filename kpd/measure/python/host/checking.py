"""Checks a kernel: each case, each kind of inputs, from secret seeds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from kpd.measure.python.host import kept, nonfinite, sizes
from kpd.measure.python.host.cases import AT_ONCE, COMPILE_MS, WorkerCase
from kpd.measure.python.host.judging import CallVerdict
from kpd.measure.python.host.problems import KernelProblem, blamed
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.secret import SecretRandom
from kpd.measure.python.host.session import GOES_ON, RunnerCommand
from kpd.measure.python.host.turns import MEASURED

BEFORE = 32  # calls at a size that is drawn, at the most, before those that are compared
NOTHING: dict[str, Any] = {"comparisons": 0, "worst": 0.0, "case": "", "distribution": "", "output": "", "index": 0}


def check(session: RunnerCommand, kernel: str, seeds: str, limit_ms: str) -> dict[str, Any]:
    """Check a kernel in every case. Returns the report; raises KernelProblem, which says what failed besides."""
    rng = session.rng()
    asked = [(case, kind) for case in session.harness.cases for kind in session.kinds for _ in range(int(seeds))]
    planted, known = _planted(session, rng, int(seeds)), list[tuple[str, str]]()
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
        before = rng.randint(1, BEFORE) if (case, kind) in known else 1
        work = WorkerCase(session, {"b": worker}, case, kind, rng, float(limit_ms), drawn, before=before, fleeting=True)
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
        if not session.gpu:
            _refuse_borrowed(session, worker, rng, float(limit_ms))
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


def _refuse_borrowed(session: RunnerCommand, worker: Worker, rng: SecretRandom, limit_ms: float) -> None:
    """Refuse a kernel that changes its inputs while it runs, and puts back what was there. Raises KernelProblem.

    Another thread of a program may read them meanwhile. These calls are the worker's last ones on a CPU: it cannot
    write to inputs any more.
    """
    kind = session.kinds[0]
    asked = [(case, kind, 1) for case in session.harness.cases]
    for (case, _, _), drawn in zip(asked, session.drawing(asked, rng), strict=True):
        work = WorkerCase(session, {"b": worker}, case, kind, rng, limit_ms, drawn)
        calls = work.calls()
        calls.fill(0, drawn.sets[0])
        if calls.in_place:
            return
        calls.prepare(COMPILE_MS)
        with blamed("b"):
            worker.ask(COMPILE_MS, what="seal")
        try:
            calls.run("b", 1, 1, limit_ms)
        except KernelProblem as err:
            if err.report["kind"] == "crash":
                err = KernelProblem("input", "b", "it changes its inputs while it runs, and puts back what was there")
            raise work.told(err) from None
