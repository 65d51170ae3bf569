"""Rules: what fired, on what evidence, and what to do about it; then NVIDIA's own advice. Enter opens the skill."""

from collections.abc import Sequence

from textual.content import Content

from kpd.model.metrics import describe
from kpd.model.profiles import Finding
from tui import marks
from tui.details import Problem
from tui.numbers import change, compact, count
from tui.panes.advice import advised
from tui.panes.parts import heading, nothing_selected, problem, sentence, told
from tui.text import BLANK, clean, line, wrapped
from tui.view import View


def findings(view: View) -> Sequence[Finding]:
    """What fired for the selected iteration, the gravest first."""
    explained = view.shown.detail.explained
    order = {"high": 0, "medium": 1, "low": 2}
    return sorted(explained.findings, key=lambda one: order[one.severity]) if explained else ()


def lines(view: View, width: int, height: int, chosen: int = 0) -> list[Content]:
    if (nothing := nothing_selected(view, width)) is not None:
        return nothing
    if isinstance(view.shown.show, Problem):
        return problem(view.shown.show, width)
    if view.shown.show is None:
        return sentence("Asking the daemon which rules fired.", width)
    fired, detail = findings(view), view.shown.detail
    found = _head(view, fired, width)
    for nth, finding in enumerate(fired):
        found += [BLANK, *_block(view, finding, width, nth == chosen)]
    if detail.profiled is not None and detail.profiled.advice:
        cases = tuple(case.case for case in detail.timed.cases) if detail.timed is not None else ()
        found += [BLANK, *advised(detail.profiled.advice, cases, width)]
    return found


def span(view: View, width: int, nth: int) -> tuple[int, int]:
    """The number of the first line of the `nth` finding, and how many it has."""
    fired = findings(view)
    heights = [len(_block(view, finding, width, False)) for finding in fired]
    return len(_head(view, fired, width)) + sum(heights[:nth]) + nth + 1, heights[nth]


def _head(view: View, fired: Sequence[Finding], width: int) -> list[Content]:
    if not fired:
        return sentence(_nothing_fired(view), width)
    bottleneck = view.iteration.bottleneck if view.iteration else ""
    return [
        heading(count(len(fired), "rule") + " fired", ("enter opens the skill", ".muted")),
        *told(bottleneck, width),
    ]


def _block(view: View, finding: Finding, width: int, chosen: bool) -> list[Content]:
    """One finding: severity and rule, what it means, the evidence, the action, what came of it before."""
    mark = marks.of_severity(finding.severity)
    head = line(
        ("▸ " if chosen else "  ", ".accent"),
        (f"{mark.glyph} {mark.word:<7}", mark.style),
        (clean(finding.rule), ".strong"),
    )
    found = [head, *wrapped(finding.message, width, indent=4)]
    evidence = " · ".join(_evidence(name, value) for name, value in finding.evidence.items())
    found += wrapped(evidence, width, ".muted", indent=4) if evidence else []
    action = wrapped(finding.action, width - 6, ".good")
    found += [Content.assemble("    ", ("→ " if nth == 0 else "  ", ".good"), text) for nth, text in enumerate(action)]
    record = _so_far(view, finding.rule)
    return found + (wrapped(record, width, ".muted", indent=4) if record else [])


def _so_far(view: View, rule: str) -> str:
    """What came of acting on a rule in all runs of the workspace; empty where nobody has, or while it is not known."""
    known = view.shown.rules if isinstance(view.shown.rules, tuple) else ()
    found = next((one for one in known if one.id == rule and one.tried), None)
    if found is None:
        return ""
    gain = f", median gain {change(found.median_gain_pct)}" if found.median_gain_pct is not None else ""
    return f"so far: fired on {found.fired:,}, aimed at by {found.tried:,}, accepted {found.accepted:,}{gain}"


def _evidence(name: str, value: float) -> str:
    metric = describe(name)
    if metric is None:
        return f"{clean(name)} = {compact(value)}"
    return f"{metric.label} {compact(value)}{f' {metric.unit}' if metric.unit else ''}"


def _nothing_fired(view: View) -> str:
    it, detail = view.iteration, view.shown.detail
    assert it is not None
    if detail.explained is not None:
        if detail.profiled is not None and not detail.profiled.metrics:
            return "No rule fired: there are no metrics for this iteration, and a rule never fires on a missing one."
        return "No rule fired: nothing in the metrics of this iteration points to a known bottleneck."
    if it.outcome is None:
        return "The rules are looked at in the explain step, after the profile; what fires appears here."
    return "This iteration ended before the explain step, so no rule was looked at."
