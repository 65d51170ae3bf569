"""Tools that read what a run has found: its incumbent, its iterations, its candidates."""

from collections.abc import Awaitable
from typing import Annotated, Any

from msgspec import Meta

from kpd.agents.prompt.background import is_shown
from kpd.agents.prompt.measured import counters
from kpd.engine import trials
from kpd.engine.patches import unified
from kpd.engine.proposing import start_of
from kpd.engine.tools.desk import Desk, Workplace
from kpd.engine.tools.measuring import candidate, trial_json
from kpd.engine.tools.tool import Answer
from kpd.knowledge.efficacy import NEVER, by_efficacy, efficacy
from kpd.model.case_matrix import case_matrix, dispatch
from kpd.model.headline import chained, headline
from kpd.model.iteration import Iteration
from kpd.model.metrics import parted
from kpd.model.profiles import CaseTime
from kpd.operations.operation import Refused, UnknownName
from kpd.text import trials as told
from kpd.text.endings import of_iteration
from kpd.text.foreign import plain
from kpd.text.gains import speedup, times
from kpd.text.headlines import base, headline as told_headline

MOST_CASES = 40
"""The most cases of which an answer lists the times; the rest are counted."""
MOST_ITERATIONS = 60
MOST_TEXT = 24_000
"""The most characters of an answer's text that a file or a memory may have."""
MOST_COMPARED = 128 * 1024
"""The most bytes of a file that is compared: that takes quadratic time."""
Number = Annotated[int, Meta(ge=0, description="the number of an iteration of this run")]


def inspect(desk: Desk) -> Answer:
    """Describe the task and its incumbent, the program to beat: its cases, their rooflines, its bottleneck.

    `headroom` is the time of a case over the least time that the machine's roofline allows: 1 means nothing is left.
    Times are in microseconds a call, as measured in the incumbent's own contest.
    """
    run, number = desk.run, desk.incumbent
    known, card, won = desk.detail(number), desk.state.tasks.get(run.task), headline(run)
    listed = known.timed.cases if known.timed else ()
    bottleneck = known.explained.bottleneck if known.explained else ""
    best = f"the baseline, iteration {number}"
    if won is not None:
        best = f"iteration {number}, {told_headline(won, based=True)}, {base(won)}"
    lines = [
        f"task {run.task}{f': {card.summary}' if card and card.summary else ''}",
        f"editable: {', '.join(card.editable if card else run.files)}; language {card.language if card else '?'}",
        f"measured on {run.device} of host {run.host}; a gain below {run.budget.min_gain_pct:g} % is not accepted",
        f"incumbent: {best}",
        *([f"its bottleneck: {bottleneck}"] if bottleneck else []),
        *map(_case_line, listed[:MOST_CASES]),
    ]
    answer: dict[str, Any] = {
        "run": run.id, "task": run.task, "language": card.language if card else None, "host": run.host,
        "editable": card.editable if card else tuple(run.files), "device": run.device,
        "min_gain_pct": run.budget.min_gain_pct, "incumbent": number, "headline": won, "bottleneck": bottleneck,
        "cases": [_case(one) for one in listed[:MOST_CASES]], "more_cases": max(0, len(listed) - MOST_CASES),
    }  # fmt: skip
    if (place := desk.session) is not None:
        left, bench = trials.left(place.attempt, place.budget), place.attempt.bench
        bandwidth, arithmetic = bench.peaks
        lines.append(told.left(left))
        answer |= {"left": left, "peak_gb_s": bandwidth, "peak_gflop_s": arithmetic, "arch": bench.device.arch}
    return {"text": "\n".join(lines), **answer}


def _headroom(case: CaseTime) -> float | None:
    return case.candidate_us / case.roofline_us if case.roofline_us else None


def _case(case: CaseTime) -> dict[str, Any]:
    return {
        "case": case.case, "us": case.candidate_us, "device_us": case.device_us, "roofline_us": case.roofline_us,
        "headroom": _headroom(case), "bytes": case.bytes, "flops": case.flops, "weight": case.weight,
    }  # fmt: skip


def _case_line(case: CaseTime) -> str:
    room = _headroom(case)
    rest = f", roofline {case.roofline_us:.4g} µs, headroom {room:.2f}×" if room and case.roofline_us else ""
    return f"- {plain(case.case, 60)}: {case.candidate_us:.4g} µs{rest}"


def findings(desk: Desk, iteration: Number | None = None) -> Answer:
    """List what the profile of a candidate shows, the most promising first: what each rule saw, and what to do.

    It is the incumbent's unless you name another iteration. `tried` and `accepted` count earlier attempts at a rule in
    this workspace, `median_gain_pct` is what these gained. Counters come with their units.
    """
    number = desk.incumbent if iteration is None else _of(desk, iteration).number
    found = desk.detail(number)
    if found.explained is None or found.profiled is None:
        raise Refused(f"iteration {number} was not profiled", "call `profile` with your tree, or ask for the incumbent")
    known = efficacy(desk.state.runs.values())
    fired = by_efficacy((one for one in found.explained.findings if is_shown(desk.run, one.rule)), known)
    rows = [
        {
            "rule": one.rule, "severity": one.severity, "message": one.message, "action": one.action,
            "evidence": one.evidence, "tried": (so_far := known.get(one.rule, NEVER)).tried,
            "accepted": so_far.accepted, "median_gain_pct": so_far.median_pct,
        }
        for one in fired
    ]  # fmt: skip
    lines = [f"iteration {number}: {found.explained.bottleneck}"]
    lines += [f"[{one.rule}] {one.severity}: {one.message} → {one.action}" for one in fired]
    lines += counters(found.profiled.metrics, fired, known)
    metrics = {name: value for name, value in found.profiled.metrics.items() if not parted(name)[1]}
    data = {"iteration": number, "bottleneck": found.explained.bottleneck, "findings": rows, "metrics": metrics}
    return {"text": "\n".join(lines), **data, "missing": found.profiled.missing}


def history(desk: Desk) -> Answer:
    """List what was tried in this run, oldest first, with the outcomes; in a session also your trials so far.

    A gain is in percent of the time of the incumbent of that moment, with its 99 % interval.
    """
    listed = desk.run.iterations[-MOST_ITERATIONS:]
    lines, rows = [_history_line(it) for it in listed], [_row(it) for it in listed]
    tried: list[dict[str, Any]] = []
    if (place := desk.session) is not None:
        ended = trials.trials_of(place.attempt).ended
        tried = [trial_json(one) for one in ended]
        lines += [told.tried(one).partition("\n")[0] for one in ended]
    return {"text": "\n".join(lines), "run": desk.run.id, "iterations": rows, "trials": tried}


def _history_line(it: Iteration) -> str:
    outcome = f"{it.outcome}: {of_iteration(it)}" if it.outcome else "under way"
    return f"{it.number}. {it.agent}: {plain(it.memo, 120)} → {plain(outcome, 240)}"


def _row(it: Iteration) -> dict[str, Any]:
    return {
        "iteration": it.number, "agent": it.agent, "parent": it.parent, "memo": it.memo[:400], "outcome": it.outcome,
        "gain_pct": it.verdict.gain if it.verdict else None, "rules": it.rules, "bottleneck": it.bottleneck,
        "point": it.point, "reason": of_iteration(it),
    }  # fmt: skip


def rank(desk: Desk) -> Answer:
    """Rank the run's candidates by their speed-up over the baseline, and name the best of each case.

    Speed-ups are chained from paired contests, with their intervals; times of different contests are never compared.
    `dispatch` is how many times as fast as the incumbent a program would be that takes the best candidate in each case.
    """
    run = desk.run
    ranked = sorted(
        ((it, found) for it in run.iterations if (found := chained(run, it.number)) is not None and it.verdict),
        key=lambda one: -one[1].ratio,
    )[:MOST_ITERATIONS]
    details = {it.number: desk.detail(it.number).timed for it in run.iterations}
    rows = case_matrix(run, {number: timed for number, timed in details.items() if timed is not None})[:MOST_CASES]
    lines = [f"{at}. iteration {it.number}: {speedup(found)}, {it.outcome}" for at, (it, found) in enumerate(ranked, 1)]
    lines += [f"- {plain(row.case, 60)}: iteration {row.best}, {times(row.ratio(row.best))}" for row in rows]
    cases = [{"case": row.case, "best": row.best, "speedup": row.speedups[row.best]} for row in rows]
    candidates = [{"iteration": it.number, "outcome": it.outcome, "speedup": found} for it, found in ranked]
    text = "\n".join(lines) or "no candidate was judged yet"
    return {"text": text, "candidates": candidates, "cases": cases, "dispatch": dispatch(rows, run.incumbent)}


def diff(desk: Desk, iteration: Number | None = None) -> Answer | Awaitable[Answer]:
    """Show what an iteration changed against the one that it was built on; without a number, what your tree changes."""
    if iteration is not None:
        try:
            patch = desk.folder(_of(desk, iteration).number).read("diff.patch").decode(errors="replace")
        except FileNotFoundError as err:
            raise Refused(f"iteration {iteration} has proposed nothing yet", "ask for another one") from err
        return _patch(f"iteration {iteration}", patch)
    if (place := desk.session) is None:
        raise Refused("name an iteration: only an agent in a session has a tree of its own", "diff with iteration = 1")
    return _tree_diff(place)


async def _tree_diff(place: Workplace) -> Answer:
    before, after = start_of(place.attempt), await candidate(place)
    if large := next((path for path, data in (*before.items(), *after.items()) if len(data) > MOST_COMPARED), ""):
        raise Refused(f"{large} is too large to compare", "compare it yourself: the incumbent's files are in the task")
    return _patch("your tree", unified(before, after))


def _patch(of: str, patch: str) -> Answer:
    cut = f"\n[{len(patch) - MOST_TEXT} more characters]" if len(patch) > MOST_TEXT else ""
    return {"text": f"{patch[:MOST_TEXT]}{cut}" or f"{of} changes nothing", "of": of, "truncated": bool(cut)}


def _of(desk: Desk, number: int) -> Iteration:
    found = desk.run.iteration(number)
    if found is None:
        raise UnknownName(f"{desk.run.id} has no iteration {number}", f"it has 0 to {len(desk.run.iterations) - 1}")
    return found
