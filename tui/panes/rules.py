"""Draws the Rules tab: what fired, the evidence, what to do; then NVIDIA's advice. Enter opens the skill."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from kpd.model.metrics import describe
from kpd.model.profiles import ESTIMATED, Advice, Finding
from kpd.text.gains import brief
from kpd.text.numbers import counted
from tui.actions.table import key
from tui.format import marks
from tui.format.numbers import compact, percent
from tui.format.text import BLANK, Part, clean, fit, line, wrapped
from tui.model.answers import Problem, Show
from tui.model.selected import fired, known_rules, not_fired
from tui.model.view import View
from tui.panes.parts import heading, nothing_selected, problem, sentence, told

LEAST_ROOM = 6
"""Lines below the findings from which on other rules are listed."""


def lines(view: View, width: int, height: int, chosen: int = 0) -> list[Content]:
    if (nothing := nothing_selected(view, width)) is not None:
        return nothing
    if isinstance(view.shown.show, Problem):
        return problem(view.shown.show, width)
    if view.shown.show is None:
        return sentence("Asking the daemon which rules fired.", width)
    found, _ = _drawn(view, width, chosen)
    found += _incumbents(view, view.shown.show, width)
    detail = view.shown.detail
    if detail.profiled is not None and detail.profiled.advice:
        cases = tuple(case.case for case in detail.timed.cases) if detail.timed is not None else ()
        found += [BLANK, *advised(detail.profiled.advice, cases, width)]
    return [*found, *_others(view, width, height - len(found))]


def _others(view: View, width: int, room: int) -> list[Content]:
    """List other rules in at most `room` lines, those first that have fired most often: what else kpd looks for."""
    here = {finding.rule for finding in (*fired(view), *not_fired(view))}
    rest = sorted((one for one in known_rules(view) if one.id not in here), key=lambda one: -one.fired)[: room - 2]
    if room < LEAST_ROOM or not rest:
        return []
    names = max(cell_len(one.id) for one in rest)
    rows = [line("  ", fit(one.id, names), ("  " + clean(one.finding), ".muted")) for one in rest]
    title = heading("What else kpd looks for", ("those first that fired most often", ".muted"))
    return [BLANK, *(row.truncate(width, ellipsis=True) for row in (title, *rows))]


def _incumbents(view: View, show: Show, width: int) -> list[Content]:
    """Draw what fired for the incumbent, dimmed, until it is known what fires for the candidate."""
    it, explained = view.iteration, show.parent.explained if show.parent is not None else None
    if it is None or it.outcome is not None or show.detail.explained is not None or explained is None:
        return []
    found = [BLANK, heading(f"Its incumbent's, {view.at.run}.{it.parent}", ("until its own are known", ".muted"))]
    for finding in explained.findings:
        found += [BLANK, *_block(view, finding, width, chosen=False, fired=False)]
    return found if explained.findings else []


def span(view: View, width: int, nth: int) -> tuple[int, int]:
    """Return the number of the first line of the `nth` finding, and how many lines it has."""
    return _drawn(view, width, nth)[1][nth]


def finding_at(view: View, width: int, y: int) -> int | None:
    """Return the number of the finding at the line `y`; None where there is none."""
    if view.iteration is None or not isinstance(view.shown.show, Show):
        return None
    spans = _drawn(view, width, 0)[1]
    return next((nth for nth, (top, height) in enumerate(spans) if top <= y < top + height), None)


def _drawn(view: View, width: int, chosen: int) -> tuple[list[Content], list[tuple[int, int]]]:
    """Draw all findings. Return the lines, and the first line and height of each finding."""
    here, besides = fired(view), not_fired(view)
    found = _head(view, here, width)
    spans = []
    for nth, finding in enumerate((*here, *besides)):
        if nth == len(here):
            found += [
                BLANK,
                heading("Not fired here", ("pinned or banned in this run", ".muted")).truncate(width, ellipsis=True),
            ]
        block = _block(view, finding, width, nth == chosen, nth < len(here))
        spans.append((len(found) + 1, len(block)))
        found += [BLANK, *block]
    return found, spans


def _head(view: View, fired: Sequence[Finding], width: int) -> list[Content]:
    if not fired:
        return sentence(_nothing_fired(view), width)
    bottleneck = view.iteration.bottleneck if view.iteration else ""
    keys = f"{key(view, 'skill')} opens the skill, {key(view, 'pin')} pins, {key(view, 'ban')} bans"
    title = heading(counted(len(fired), "rule") + " fired", (keys, ".muted"))
    return [title.truncate(width, ellipsis=True), *told(bottleneck, width)]


def _block(view: View, finding: Finding, width: int, chosen: bool, fired: bool) -> list[Content]:
    """Draw one finding: severity and rule, its meaning, the evidence, the action, and how it has worked so far."""
    mark = marks.of_severity(finding.severity)
    parts: list[Part] = [("▸ " if chosen else "  ", ".accent")]
    parts.append((f"{mark.glyph} {mark.word:<7}", mark.style if fired else ".off"))
    parts.append((clean(finding.rule), ".strong"))
    found = _with_signs(parts, _signs(view, finding.rule), width)
    found += wrapped(finding.message, width, "" if fired else ".muted", indent=4) if finding.message else []
    evidence = " · ".join(_evidence(name, value) for name, value in finding.evidence.items())
    found += wrapped(evidence, width, ".muted", indent=4) if evidence else []
    action = wrapped(finding.action, width - 6, ".good" if fired else ".muted") if finding.action else []
    found += [Content.assemble("    ", ("→ " if nth == 0 else "  ", ".good"), text) for nth, text in enumerate(action)]
    record = _so_far(view, finding.rule)
    return found + (wrapped(record, width, ".muted", indent=4) if record else [])


def _signs(view: View, rule: str) -> list[Part]:
    """Return signs for a rule: NVIDIA's profiler agrees with it, or an operator has pinned or banned it."""
    signs: list[Part] = []
    profiled = view.shown.detail.profiled
    if profiled is not None and any(piece.agrees == rule for piece in profiled.advice):
        signs.append(("✓ NVIDIA", ".good"))
    stand = view.run.stands.get(rule) if view.run is not None else None
    if stand == "pinned":
        signs.append(("↑ pinned: agents hear of it first", ".accent"))
    elif stand == "banned":
        signs.append(("⊘ banned: agents never hear of it", ".warn"))
    return signs


def _with_signs(parts: list[Part], signs: list[Part], width: int) -> list[Content]:
    """Draw the signs beside the name, or below it where there is no room."""
    head = line(*parts)
    beside = line(*(part for sign in signs for part in ("  ", sign)))
    if head.cell_length + beside.cell_length <= width:
        return [head + beside]
    return [head.truncate(width, ellipsis=True), *(line("    ", sign).truncate(width, ellipsis=True) for sign in signs)]


def _so_far(view: View, rule: str) -> str:
    """Describe how acting on a rule has worked in all runs of the workspace; empty while that is not known."""
    found = next((one for one in known_rules(view) if one.id == rule), None)
    if found is None or not (found.fired or found.tried):
        return ""
    if not found.tried:
        return f"so far: fired on {counted(found.fired, 'candidate')}, none that came after aimed at it"
    gain = f", median gain {brief(found.median_gain_pct)}" if found.median_gain_pct is not None else ""
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


MOST = 12
LINES, NARROW_LINES = 3, 4
"""Lines of one piece of advice: its first sentence names the problem, the rest is general explanation."""
WIDE = 64
_STYLES = {"OPT": ".accent", "WRN": ".warn", "INF": ".muted"}


def advised(advice: Sequence[Advice], cases: Sequence[str], width: int) -> list[Content]:
    """Draw NVIDIA's advice below one heading, in the order in which it comes; `cases` are all cases of the task."""
    aside = "✓ a rule above says the same" if any(piece.agrees for piece in advice) else "no rule says the same"
    found = [heading("NVIDIA's advice", (aside, ".muted")).truncate(width, ellipsis=True)]
    for piece in advice[:MOST]:
        found += [BLANK, *_piece(piece, cases, width)]
    more = len(advice) - MOST
    return [*found, BLANK, line((f"{more} more: kpd show", ".muted"))] if more > 0 else found


def _piece(piece: Advice, cases: Sequence[str], width: int) -> list[Content]:
    gain = f"  {ESTIMATED[piece.scope].format(percent(piece.speedup_pct))}" if piece.speedup_pct else ""
    tint = ".accent" if piece.scope == "global" else ".muted"
    parts: list[Part] = [
        ("  ", ""), (piece.level, _STYLES[piece.level]), "  ", (clean(piece.rule), ".strong"), (gain, tint),
    ]  # fmt: skip
    agrees = f"✓ {clean(piece.agrees)}" if piece.agrees else ""
    head = line(*parts)
    rows = [head.truncate(width, ellipsis=True)]
    if agrees and head.cell_length + cell_len(agrees) + 2 <= width:
        rows = [line(*parts, ("  " + agrees, ".good"))]
    elif agrees:
        rows.append(line("    ", (agrees, ".good")).truncate(width, ellipsis=True))
    rows += wrapped(piece.text, width, indent=4, most=LINES if width >= WIDE else NARROW_LINES)
    told = _cases(piece.cases, cases)
    return rows + (wrapped(told, width, ".muted", indent=4, most=2) if told else [])


def _cases(said_of: Sequence[str], cases: Sequence[str]) -> str:
    if not said_of or len(cases) < 2:
        return ""
    if set(said_of) >= set(cases):
        return f"in all {len(cases)} cases"
    return f"in {len(said_of)} of {len(cases)} cases: {', '.join(map(clean, said_of))}"
