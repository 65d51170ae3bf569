"""Draws the Overview tab: progress and why, the current step, what comes next."""

from collections import Counter

from rich.cells import cell_len
from textual.content import Content

from kpd.model.causes import Flagged
from kpd.model.detail import Detail
from kpd.model.headline import headline
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.text.changes import change
from kpd.text.deployments import headline as in_production, name
from kpd.text.endings import of_iteration
from kpd.text.faults import fault
from kpd.text.flags import flag
from kpd.text.gains import speedup
from kpd.text.headlines import HOW, unconfirmed
from kpd.text.sanitizer import provisional
from kpd.text.verdicts import BASELINE_IS_TRUTH, UNCHECKED, verdict
from tui.actions.table import key
from tui.format import marks, money
from tui.format.numbers import figure
from tui.format.scores import unit
from tui.format.text import BLANK, Part, as_fits, beside, clean, clip, line, wrapped
from tui.model.answers import Problem, Show
from tui.model.view import View
from tui.panes.cases import cases
from tui.panes.chart import chart
from tui.panes.distance import distance, split
from tui.panes.iterations import lately
from tui.panes.models import models
from tui.panes.next_step import budget, next_lines
from tui.panes.other_runs import others
from tui.panes.parts import device, heading, nothing_selected, problem, told, where
from tui.panes.phases import phases
from tui.panes.steps import across, down

WIDE, WIDEST = 76, 140
"""From so many cells on the steps stand in a column of their own, and from so many on there are two halves."""
SIDE, GAP = 30, 4
MOST_LATELY = 12


def lines(view: View, width: int, height: int) -> list[Content]:
    run, iteration = view.run, view.iteration
    if run is not None and not run.iterations and run.order is not None:
        return _before(view, run, width)
    if run is None or (not run.iterations and iteration is None):
        return nothing_selected(view, width) or []
    if iteration is None:
        return _whole_run(view, run, width, height)
    head = _headline(view, run, iteration, view.shown.detail, width)
    head += [*next_lines(view, width), *_in_production(view, run, width), BLANK]
    if isinstance(view.shown.show, Problem):
        head += [*problem(view.shown.show, width), BLANK]
    if width < WIDE:
        return [*head, *_narrow(view, run, iteration, width, height - len(head))]
    if width < WIDEST:
        return [*head, *_wide(view, run, iteration, width, height - len(head))]
    return [*head, *_widest(view, run, iteration, width, height - len(head))]


def _before(view: View, run: Run, width: int) -> list[Content]:
    """Draw a run that has no iteration yet, as its task is made of a project's kernel."""
    limits = [heading("Budget"), *budget(view, run, width)]
    return [_run_head(view, run, width, ""), *next_lines(view, width), BLANK, *phases(view, run, width), BLANK, *limits]


def _run_head(view: View, run: Run, width: int, device: str) -> Content:
    mark = marks.of_run(run, bool(view.state.held), view.out_of_touch)
    by = f"   by {', '.join(map(clean, run.agents))} on {where(run)}{device}"
    head = line((run.id, ".strong"), "  ", (f"{mark.glyph} {mark.word}", mark.style), (by, ".muted"))
    return head.truncate(width, ellipsis=True)


def _narrow(view: View, run: Run, it: Iteration, width: int, height: int) -> list[Content]:
    """Draw all in one column; the plot takes the height that the rest leaves."""
    detail = view.shown.detail
    steps, table = across(view, run, it, detail, width), cases(it, detail, width)
    rest = [*steps, BLANK, *table] if len(steps) > 1 else [*steps, *table]
    best, far = _best(view, run, width), distance(view, run, width)
    rows = max(5, min(9, height - len(best) - len(far) - len(rest) - 1))
    found = [*best, *far, *chart(run, width, rows, view.state.direction(run)), BLANK, *rest, *split(detail, width)]
    found += [BLANK, heading("Budget"), *budget(view, run, width)]
    return [*found, *_after_blank(others(view, run, width))]


def _wide(view: View, run: Run, it: Iteration, width: int, height: int) -> list[Content]:
    """Draw the plot and the cases, and beside them the steps and the budget."""
    detail = view.shown.detail
    main = width - SIDE - 3
    table = [*cases(it, detail, main), *split(detail, main)]
    best, far = _best(view, run, main), distance(view, run, main)
    rows = max(6, min(16, height - len(best) - len(far) - len(table) - 1))
    left = [*best, *far, *chart(run, main, rows, view.state.direction(run)), BLANK, *table]
    right = [*down(view, run, it, detail, SIDE), BLANK, heading("Budget"), *budget(view, run, SIDE)]
    found = [*beside(left, right, main), *_after_blank(others(view, run, width))]
    found += why(view, width, height - len(found)) if height - len(found) > 6 else []
    room = height - len(found) - 2
    return [*found, *_after_blank(lately(view, run, width, min(MOST_LATELY, room)))] if room > 2 else found


def _widest(view: View, run: Run, it: Iteration, width: int, height: int) -> list[Content]:
    """Draw two halves: the run on the left, the iteration on the right."""
    detail = view.shown.detail
    half = (width - GAP) // 2
    rest = width - half - GAP
    best, far = _best(view, run, half), distance(view, run, half)
    rows = max(8, min(24, height // 2 - len(best) - len(far)))
    left = [*best, *far, *chart(run, half, rows, view.state.direction(run)), BLANK]
    left += lately(view, run, half, min(MOST_LATELY, max(4, height - len(left) - 6)))
    left += _after_blank(others(view, run, half))
    limits = [heading("Budget"), *budget(view, run, rest - SIDE - GAP)]
    right = beside(down(view, run, it, detail, SIDE), limits, SIDE, GAP)
    right += [BLANK, *cases(it, detail, rest), *split(detail, rest)]
    right += _after_blank(models(view, run, rest)) if run.spend.calls else []
    right += why(view, rest, height - len(right), roomy=True)
    return beside(left, right, half, GAP)


def _after_blank(found: list[Content]) -> list[Content]:
    return [BLANK, *found] if found else []


def _whole_run(view: View, run: Run, width: int, height: int) -> list[Content]:
    """Draw the run as a whole: its state, the outcomes of its iterations, and what is left."""
    on = device(run, width)
    head = _run_head(view, run, width, f", {clean(run.device)}" if run.device and not on else "")
    unchecked = wrapped(f"! {UNCHECKED}", width, ".warn", most=2) if run.unchecked else []
    found = [head, *on, *unchecked, *next_lines(view, width)]
    found += [*phases(view, run, width), *_in_production(view, run, width), BLANK]
    half = width if width < WIDEST else (width - GAP) // 2
    rows = max(5, min(12 if half == width else 24, height - 12))
    left = [*_best(view, run, half), *distance(view, run, half), *chart(run, half, rows, view.state.direction(run))]
    counts = Counter(marks.of_iteration(it, run, bool(view.state.held), view.out_of_touch) for it in run.iterations)
    became = [heading("Iterations")]
    became += [
        line((f"{kind.glyph} {kind.word:<14}", kind.style), f"{times_seen:>6,}")
        for kind, times_seen in counts.most_common()
    ]
    two = half >= 2 * SIDE + GAP
    limits = [heading("Budget"), *budget(view, run, half - SIDE - GAP if two else half)]
    rest = beside(became, limits, SIDE, GAP) if two else [*became, BLANK, *limits]
    rest += _after_blank(models(view, run, half)) if run.spend.calls else []
    rest += _after_blank(others(view, run, half))
    if half == width:
        return [*found, *left, BLANK, *rest]
    left += _after_blank(lately(view, run, half, min(MOST_LATELY, max(4, height - len(left) - 6))))
    rest += _after_blank(_winners(run, width - half - GAP, height - len(found) - len(rest) - 1))
    return [*found, *beside(left, rest, half, GAP)]


def _winners(run: Run, width: int, height: int) -> list[Content]:
    """Draw the accepted candidates with their memos, the newest first, as many as fit into `height` lines."""
    found: list[Content] = []
    for it in reversed(run.iterations):
        if it.outcome != "accepted" and not it.override:
            continue
        head = line((f"▲ {run.id}.{it.number}  {marks.gain_of(it)}", ".good"))
        told = [head, *wrapped(it.memo, width, ".muted", most=3), BLANK]
        if len(found) + len(told) >= height:
            break
        found += told
    return [heading("What won", ("each against its incumbent", ".muted")), *found[:-1]] if found else []


def _headline(view: View, run: Run, it: Iteration, detail: Detail, width: int) -> list[Content]:
    mark = marks.of_iteration(it, run, bool(view.state.held), view.out_of_touch)
    parts: list[Part] = [(f"{run.id}.{it.number}", ".strong"), "  ", (f"{mark.glyph} ", mark.style)]
    gain = marks.gain_of(it)
    parts.append((f"{gain}  {mark.word}" if gain else mark.word, mark.style))
    against = "" if it.number == it.parent else f", against {run.id}.{it.parent}"
    on = f" on {where(run)}" if len(view.state.hosts) > 1 else ""
    by = f"   by {clean(it.agent)}"
    known = line(*parts)
    tails = (f"{by}{on}{against}", f"{by}{against}", against.replace(", ", "   "), by)
    tail = next((tail for tail in tails if known.cell_length + cell_len(tail) <= width), tails[0])
    head = [(known + line((tail, ".muted"))).truncate(width, ellipsis=True), *device(run, width, it)]
    judged = verdict(it.verdict) if it.verdict else ""
    reason = judged if isinstance(it.cause, Flagged) else of_iteration(it) or judged
    wide = width >= WIDE
    for text, style, most in (
        (it.memo, "", 4 if wide else 2),
        (reason, ".muted", 2),
        (f"! {UNCHECKED}" if run.unchecked else "", ".warn", 2),
        (f"! {provisional(it)}" if it.provisional else "", ".warn", 3),
        (f"truth: {BASELINE_IS_TRUTH}" if _by_the_baseline(detail) else "", ".muted", 2),
    ):
        head += wrapped(text, width, style, most=most) if text else []
    head += _given_back(it, detail, width)
    head += _bottleneck(it, detail, width)
    head += [line((f"! {clean(flag(one))}", ".warn")).truncate(width, ellipsis=True) for one in it.flags[:3]]
    if it.held:
        keys = f"{key(view, 'accept')} accepts it, {key(view, 'decline')} declines it"
        head += wrapped(f"⚑ it waits for you: {key(view, 'tab_diff')} shows its diff, {keys}", width, ".warn")
    return head


def _in_production(view: View, run: Run, width: int) -> list[Content]:
    """Draw where the last deployment of what the run has found stands in each project."""
    last = {card.project: card for card in view.state.deployments_of(run)}
    found: list[Content] = []
    for card in last.values():
        mark = marks.of_deployment(card)
        said = in_production(card)
        if card.waits:
            keys = f"{key(view, 'deploy')} shows its change and approves it, {key(view, 'keep_program')} declines it"
            said = f"{name(card)} waits for you: {keys}"
        first, *more = wrapped(said, width - 2, most=3)
        found += [line((f"{mark.glyph} ", mark.style)) + first, *(line("  ") + one for one in more)]
    return found


def _by_the_baseline(detail: Detail) -> bool:
    return detail.checked is not None and detail.checked.truth == "baseline"


def _given_back(it: Iteration, detail: Detail, width: int) -> list[Content]:
    """Return the fault for which the agent is asked again, while its next attempt is under way."""
    if it.outcome is not None or not detail.faults:
        return []
    last = detail.faults[-1]
    return wrapped(f"✗ attempt {last.attempt}, {last.step}: {fault(last.fault)}", width, ".warn", most=3)


def _bottleneck(it: Iteration, detail: Detail, width: int) -> list[Content]:
    """Return what limits the candidate; without GPU counters also why there are none and what to do."""
    found = told(it.bottleneck, width, most=2)
    profiled = detail.profiled
    if profiled is not None and "sm_pct" not in profiled.metrics and (reason := profiled.missing.get("sm_pct")):
        found += wrapped(f"! no counters: {reason}", width, ".warn", most=4)
    return found


def _best(view: View, run: Run, width: int) -> list[Content]:
    """Draw what the run has cost, if it pays for a model, and the incumbent's score."""
    found = [_cost(view, run, width)] if money.costs(run) else []
    best = run.best
    if best is None or best.score is None:
        return [*found, heading("Best so far", ("appears when the baseline is timed", ".muted"))]
    won = headline(run)
    if won is None:
        score = f"{figure(best.score)} {unit(view.state, run)}"
        return [*found, as_fits(heading("Baseline", (score, ".strong")), [("  nothing faster yet", ".muted")], width)]
    aside = f": {clean(unconfirmed(won))}" if won.cause is not None else ""
    first = "the baseline" if won.first is None else f"{run.id}.{won.first}, the first right candidate"
    parts: list[Part] = [
        ("  provisional" if won.provisional else "", ".warn"), (f"  {HOW[won.how]}", ".muted"),
        (f"  {run.id}.{won.of} against {first}", ".muted"), (aside, ".warn"),
    ]  # fmt: skip
    return [*found, as_fits(heading("Speed-up", (speedup(won.speedup), ".good")), parts, width)]


def _cost(view: View, run: Run, width: int) -> Content:
    """Draw the dollars spent of the limit, the tokens, and the part of the selected iteration."""
    more: list[Part] = []
    if run.spend.calls:
        more.append((f"  {money.tokens(run.spend)}", ".muted"))
    if view.iteration is not None and view.iteration.spend.calls:
        more.append((f"  {view.ref}: {money.cost(view.iteration.spend)}", ".muted"))
    return as_fits(heading("Cost so far", (money.of_limit(run), ".strong")), more, width)


MOST = 8


def why(view: View, width: int, height: int, roomy: bool = False) -> list[Content]:
    """Draw the largest changes and the rules that fired, as much as fits into `height` lines.

    Until it is known what fires for the candidate, the rules are its incumbent's, dimmed, where the screen is `roomy`.
    """
    it, show, known = view.iteration, view.shown.show, view.shown.detail.explained
    parent = show.parent if roomy and isinstance(show, Show) and it is not None and it.outcome is None else None
    own = known is not None
    known = known or (parent.explained if parent is not None else None)
    if known is None or it is None:
        return []
    moved = [line(clip(clean(change(one)), width)) for one in known.changes] if own else []
    fired = []
    for finding in known.findings:
        mark = marks.of_severity(finding.severity)
        head = line((f"{mark.glyph} {mark.word:<7}", mark.style), (clean(finding.rule), ".strong"), "  ")
        row = head + line((clip(clean(finding.message), width - head.cell_length), ".muted"))
        fired.append(row if own else line((row.plain, ".muted")))
    aside = "" if own else f"its incumbent's, {view.at.run}.{it.parent}, until its own are known"
    room = max(0, (height - 4) // 2)
    found: list[Content] = []
    for title, rows in ((heading("Moved most"), moved), (heading("Rules", (aside, ".muted")), fired)):
        if rows and room:
            found += [BLANK, title.truncate(width, ellipsis=True), *rows[: min(MOST, room)]]
    return found
