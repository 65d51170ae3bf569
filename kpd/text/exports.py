"""Renders a run, its tools and a comparison as files for other programs: tables, and the shapes of HarnessGym.

What these files call a score is kpd's own measurement, and `verified` is kpd's own check: nothing that an agent says
of itself is in them, but for its memo and the improvement that it named.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from statistics import median
from typing import Any

from kpd.model.fact import Fact
from kpd.model.headline import headline, paired_score, speedups
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.scores import Direction
from kpd.model.spending import Spend
from kpd.model.toolbox import ToolVersion
from kpd.model.tools import SmithEnded
from kpd.text import harness_use
from kpd.text.endings import of_iteration, of_run

Json = dict[str, Any]
CONFIDENCE_PCT = 99
"""The level of the intervals of a contest."""
COLUMNS = (
    "iteration", "agent", "outcome", "parent", "started", "score", "score_unit", "gain_pct", "gain_low_pct",
    "gain_high_pct", "interval_pct", "speedup_over_baseline", "roofline_pct", "usd", "usd_exact", "reason", "memo",
)  # fmt: skip
STATUS = {"accepted": "solved", "baseline": "incomplete", "rejected": "incomplete", "measured": "incomplete",
          "held": "blocked", "failed": "failed"}  # fmt: skip
"""HarnessGym's word for each outcome; all others are `incomplete`."""
CHECKED = ("accepted", "baseline", "rejected", "measured", "held")


def candidates(run: Run, unit: str) -> list[Json]:
    """Return a row for each iteration that has ended: its gain over its parent with its interval, its score in `unit`.

    Scores of different iterations are of different contests; the speed-up over the baseline is chained.
    """
    chained = speedups(run)
    return [_candidate(it, unit, chained.get(it.number)) for it in run.iterations if it.outcome is not None]


def _candidate(it: Iteration, unit: str, chained: float | None) -> Json:
    gain = it.verdict.gain if it.verdict is not None else None
    found = (gain.pct, gain.low, gain.high, CONFIDENCE_PCT) if gain is not None else (None, None, None, None)
    row = (
        it.number, it.agent, it.outcome, it.parent, _when(it.started), it.score, unit, *found, chained,
        it.roofline_pct, *_usd(it.spend), of_iteration(it), it.memo,
    )  # fmt: skip
    return dict(zip(COLUMNS, row, strict=True))


def _usd(spend: Spend) -> tuple[float | None, bool]:
    """Return what calls have cost, None where that of some is not known; and whether it is exact."""
    return (None if spend.unpriced else spend.usd), not (spend.unpriced or spend.inexact)


def harnessgym(
    run: Run, facts: Collection[Fact], tools: Collection[ToolVersion], unit: str, direction: Direction
) -> dict[str, Json]:
    """Return the files of a run by path: summary.json, iterations/N/result.json, checkpoints/best_manifest.json …

    `facts` are those of the run.
    """
    attempts = [it for it in run.iterations if it.outcome is not None]
    best = paired_score(run, direction)
    known = {one.ref: one for one in tools}
    files = {f"iterations/{it.number}/result.json": _result(it, unit, facts, known) for it in attempts}
    files["summary.json"] = _summary(run, attempts, facts, best, unit, direction)
    files["registry.json"] = _registry(tools)
    if run.incumbent is not None and run.files:
        files["checkpoints/best_manifest.json"] = {
            "created_at": _when(run.best.started if run.best is not None else run.queued),
            "iteration": run.incumbent, "score": best, "reason": of_run(run), "checkpoint_path": "checkpoints/best",
            "manifest_path": "checkpoints/best_manifest.json", "file_count": len(run.files), "files": sorted(run.files),
        }  # fmt: skip
    return files


def _result(it: Iteration, unit: str, facts: Collection[Fact], known: Mapping[str, ToolVersion]) -> Json:
    made = harness_use.built(facts, it.number, known)
    checked = "passed" if it.outcome in CHECKED else "failed" if it.outcome == "failed" else "not_run"
    gain = it.verdict.gain if it.verdict is not None else None
    metrics = {"score": it.score, "score_unit": unit, "gain_pct": gain and gain.pct}
    return {
        "status": STATUS.get(it.outcome or "", "incomplete"),
        "verified": checked == "passed",
        "summary": it.memo or of_iteration(it),
        "reflection": {"selected_improvement": harness_use.improvement(facts, it.number, made)},
        "verification": {"status": checked, "tooling_tests": harness_use.tests_of(made)},
        "metrics": {**metrics, "gain_interval_pct": gain and [gain.low, gain.high]},
        "harness_usage": harness_use.usage(facts, it.number),
    }


def _summary(
    run: Run, attempts: list[Iteration], facts: Collection[Fact], best: float | None, unit: str, direction: Direction
) -> Json:
    found = headline(run)
    baseline = run.baseline.score if run.baseline is not None else None
    won = any(it.outcome == "accepted" for it in attempts)
    built = any(isinstance(fact, SmithEnded) and fact.end == "qualified" for fact in facts)
    status = "solved" if won else "tooling_built" if built else "incomplete"
    iterations = [
        {"iteration": it.number, "agent": it.agent, "status": STATUS.get(it.outcome or "", "incomplete"),
         "solved": it.outcome == "accepted", "result_path": f"iterations/{it.number}/result.json", "score": it.score,
         "attempt_timed_out": it.session.end == "time" if it.session is not None else None,
         "attempt_duration_seconds": it.session.seconds if it.session is not None else None,
         "harness_usage": harness_use.usage(facts, it.number)}
        for it in attempts
    ]  # fmt: skip
    usd, exact = _usd(run.spend)
    times = None if found is None else {"ratio": found.speedup.ratio, "low": found.speedup.low,
                                        "high": found.speedup.high, "interval_pct": CONFIDENCE_PCT}  # fmt: skip
    return {
        "run_id": run.id, "task": run.task, "status": status, "reason": of_run(run),
        "score_key": unit, "direction": direction, "baseline_score": baseline, "best_score": best,
        "stop_score": run.budget.stop_score, "best_iteration": run.incumbent, "speedup": times,
        "usd": usd, "usd_exact": exact,
        "mcp_telemetry": harness_use.telemetry(facts), "iterations_completed": len(run.counted),
        "iterations": iterations,
    }  # fmt: skip


def _registry(tools: Iterable[ToolVersion]) -> Json:
    artifacts = []
    newest = 0.0
    for one in tools:
        newest = max(newest, one.checked, one.built)
        status = {"qualified": "passed", "built": "not_run"}.get(one.state, "quarantined")
        kinds = (("mcp", "tool.toml"),) if one.server else ()
        for kind, name in (*kinds, *((("skill", "SKILL.md"),) if one.skill else ())):
            path = f"tools/{one.tool}/{one.version}/{name}"
            artifacts.append(
                {"id": f"{kind}:{path}", "kind": kind, "path": path, "description": one.summary,
                 "iteration": one.iteration if one.run else None, "created_at": _when(one.built),
                 "metadata": {"qualification": {"status": status, "state": one.state}, "run": one.run}}
            )  # fmt: skip
    return {"version": 1, "updated_at": _when(newest), "artifacts": artifacts, "metadata": {}}


def compare_report(found: Mapping[str, Any]) -> Json:
    """Return compare_report.json of an answer of the query `comparison`. A score is a speed-up: higher is better."""
    groups = {"plain": "plain", "tools": "harnessed"}
    summary = {name: _group([one for one in found["runs"] if one["side"] == side]) for side, name in groups.items()}
    trials = [
        {"group": groups[one["side"]], "trial": one["number"], "run_id": one["run"], "post_score": _ratio(one),
         "post_valid": one["over"] and not one["invalid"], "post_invalid_reason": one["reason"] or None,
         "post_treated_as_worst": bool(one["invalid"]), "comparison_valid": one["over"] and not one["invalid"],
         "comparison_invalid_reason": one["reason"] or None, "mcp_call_count": one["calls"],
         "mcp_called_tools": one["called"], "harness_used_before_accepted": one["used"],
         "cumulative_attempt_duration_seconds": one["seconds"]}
        for one in found["runs"]
    ]  # fmt: skip
    figures = {name: found[name] for name in ("conclusion", "text", "times", "wins", "p", "p_valid", "least_p")}
    settings = {name: found[name] for name in ("id", "task", "agent", "seed", "order", "tools", "budget")}
    score = {"post_score_key": "speedup", "direction": "higher"}
    return {**settings, **score, "summary": summary, "trials": trials, "statistics": figures}


def _group(found: list[Mapping[str, Any]]) -> Json:
    scores = [ratio for one in found if (ratio := _ratio(one)) is not None]
    ended = [one for one in found if one["over"]]
    invalid = sum(bool(one["invalid"]) for one in ended)
    calls = [one["calls"] for one in ended]
    return {
        "count": len(ended),
        "post_score": {
            "best": max(scores, default=None), "median": median(scores) if scores else None,
            "worst": min(scores, default=None), "valid_count": len(scores), "invalid_count": invalid,
            "invalid_treated_as_worst": invalid > 0,
        },
        "comparison_valid": {"valid": len(ended) - invalid, "invalid": invalid},
        "mcp_call_count": {"best": max(calls, default=None), "median": median(calls) if calls else None},
        "mcp_called_tools": sorted({tool for one in ended for tool in one["called"]}),
        "harness_used_before_accepted": sum(one["used"] for one in ended),
    }  # fmt: skip


def _ratio(one: Mapping[str, Any]) -> float | None:
    return None if one["speedup"] is None else float(one["speedup"]["ratio"])


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
