"""Overview: is it getting faster, what is happening now, what comes next and why it waits."""

from collections import Counter

from textual.content import Content

from kpd.model.detail import Detail
from kpd.model.events import STEP_OF
from kpd.model.nouns import STEPS, Iteration, Run, StepName
from tui import marks, money
from tui.details import Problem
from tui.numbers import figure, percent, seconds, times
from tui.panes.cases import cases
from tui.panes.chart import chart
from tui.panes.models import models
from tui.panes.next import budget, next_lines
from tui.panes.parts import device, heading, nothing_selected, problem, told, where
from tui.text import BLANK, Part, beside, clean, line, wrapped
from tui.view import View

WIDE = 76
"""From this many cells on, the steps stand in a column of their own."""

_FACT_OF: dict[StepName, str] = {step: fact.kind() for fact, step in STEP_OF.items()}


def lines(view: View, width: int, height: int) -> list[Content]:
    run, iteration = view.run, view.iteration
    if run is None or (not run.iterations and iteration is None):
        return nothing_selected(view, width) or []
    if iteration is None:
        return _whole_run(view, run, width, height)
    shown = iteration
    head = _headline(view, run, shown, view.shown.detail, width)
    head += [*next_lines(view, width), BLANK]
    if isinstance(view.shown.show, Problem):
        head += [*problem(view.shown.show, width), BLANK]
    detail = view.shown.detail
    direction = view.task.direction if view.task else "lower"
    if width < WIDE:
        steps, table = _steps_across(view, run, shown, detail, width), cases(shown, detail, width)
        rest = [*steps, BLANK, *table] if len(steps) > 1 else [*steps, *table]
        best = _best(view, run, width)
        plot = chart(run, width, max(5, min(9, height - len(head) - len(best) - len(rest) - 1)), direction)
        return [*head, *best, *plot, BLANK, *rest, BLANK, heading("Budget"), *budget(view, run, width)]
    side = 30
    main = width - side - 3
    left = [*_best(view, run, main), *chart(run, main, max(6, min(12, height - 18)), direction), BLANK]
    left += [*cases(shown, detail, main)]
    right = [*_steps_down(view, run, shown, detail, side), BLANK, heading("Budget"), *budget(view, run, side)]
    return [*head, *beside(left, right, main)]


def _whole_run(view: View, run: Run, width: int, height: int) -> list[Content]:
    """The run as such: how it stands, what became of its iterations, what is left."""
    mark = marks.of_run(run, bool(view.state.held))
    on = device(run, width)
    by = f"   by {', '.join(map(clean, run.agents))} on {where(run)}" + (
        f", {clean(run.device)}" if run.device and not on else ""
    )
    head = line((run.id, ".strong"), "  ", (f"{mark.glyph} {mark.word}", mark.style), (by, ".muted"))
    direction = view.task.direction if view.task else "lower"
    found = [head.truncate(width, ellipsis=True), *on, *next_lines(view, width), BLANK, *_best(view, run, width)]
    found += [*chart(run, width, max(5, min(12, height - 10)), direction), BLANK, heading("Iterations")]
    counts = Counter(marks.of_iteration(it, run, bool(view.state.held)) for it in run.iterations)
    found += [
        line((f"{kind.glyph} {kind.word:<14}", kind.style), f"{times_seen:>6,}")
        for kind, times_seen in counts.most_common()
    ]
    found += [BLANK, heading("Budget"), *budget(view, run, width)]
    return [*found, BLANK, *models(view, run, width)] if run.spend.calls else found


def _headline(view: View, run: Run, it: Iteration, detail: Detail, width: int) -> list[Content]:
    mark = marks.of_iteration(it, run, bool(view.state.held))
    parts: list[Part] = [(f"{run.id}.{it.number}", ".strong"), "  ", (f"{mark.glyph} ", mark.style)]
    gain = marks.gain_of(it)
    parts.append((f"{gain}  {mark.word}" if gain else mark.word, mark.style))
    against = "" if it.number == it.parent else f", against {run.id}.{it.parent}"
    on = f" on {where(run)}" if len(view.state.hosts) > 1 else ""
    parts.append((f"   by {clean(it.agent)}{on}{against}", ".muted"))
    head = [line(*parts).truncate(width, ellipsis=True), *device(run, width)]
    reason = it.reason or (it.verdict.reason if it.verdict else "")
    wide = width >= WIDE
    for text, style, most in (
        (it.memo, "", 4 if wide else 2),
        (reason, ".muted", 2),
    ):
        head += wrapped(text, width, style, most=most) if text else []
    head += _given_back(it, detail, width)
    head += _bottleneck(it, detail, width)
    head += [line((f"! {clean(flag)}", ".warn")).truncate(width, ellipsis=True) for flag in it.flags[:3]]
    return head


def _given_back(it: Iteration, detail: Detail, width: int) -> list[Content]:
    """Why the agent is asked again, while its next attempt is under way."""
    if it.outcome is not None or not detail.faults:
        return []
    last = detail.faults[-1]
    return wrapped(f"✗ attempt {last.attempt}, {last.step}: {last.message}", width, ".warn", most=2)


def _bottleneck(it: Iteration, detail: Detail, width: int) -> list[Content]:
    """What holds the candidate back, and for a GPU without counters why there are none and what to do."""
    found = told(it.bottleneck, width, most=2)
    profiled = detail.profiled
    if profiled is not None and "sm_pct" not in profiled.metrics and (reason := profiled.missing.get("sm_pct")):
        found += wrapped(f"! no counters: {reason}", width, ".warn", most=4)
    return found


def _best(view: View, run: Run, width: int) -> list[Content]:
    """What the run has cost, if it pays for a model, and the incumbent's score."""
    found = [_cost(view, run, width)] if money.costs(run) else []
    best, baseline = run.best, run.baseline
    if best is None or best.score is None:
        return [*found, heading("Best so far", ("appears when the baseline is timed", ".muted"))]
    unit = "µs" if view.task is None or view.task.score == "us" else clean(view.task.score)
    more: list[Part] = []
    if baseline is not None and baseline is not best and (factor := times(baseline.score, best.score)):
        more.append((f"  {factor} the baseline", ".good"))
    if best.roofline_pct is not None:
        more.append((f"  {percent(best.roofline_pct)} of roofline", ".muted"))
    return [*found, _as_fits(heading("Best so far", (f"{figure(best.score)} {unit}", ".strong")), more, width)]


def _cost(view: View, run: Run, width: int) -> Content:
    """Dollars of the limit, tokens, and what of it is the selected iteration's."""
    more: list[Part] = []
    if run.spend.calls:
        more.append((f"  {money.tokens(run.spend)}", ".muted"))
    if view.iteration is not None and view.iteration.spend.calls:
        more.append((f"  {view.ref}: {money.cost(view.iteration.spend)}", ".muted"))
    return _as_fits(heading("Cost so far", (money.of_limit(run), ".strong")), more, width)


def _as_fits(found: Content, more: list[Part], width: int) -> Content:
    """With those parts that fit; what does not is left out whole."""
    for part in more:
        longer = Content.assemble(found, part)
        found = longer if longer.cell_length <= width else found
    return found


def _state_of(step: StepName, run: Run, it: Iteration, detail: Detail) -> tuple[marks.Mark, float | None]:
    """Whether a step is done, under way or to come, and how long it took."""
    if it.step == step and it.outcome is None:
        return (marks.WAITING if run.waiting else marks.RUNNING), None
    if step == "record":
        return (marks.DONE if it.outcome is not None else marks.NOT_YET), None
    fact = getattr(detail, _FACT_OF[step])
    if fact is not None:
        return marks.DONE, fact.seconds
    if it.outcome is None and it.step is not None and STEPS.index(step) < STEPS.index(it.step):
        return marks.DONE, None
    if it.outcome in ("rejected", "failed") and step == _ended_at(it, detail):
        return marks.FAILED, None
    if it.outcome in ("baseline", "accepted") or (it.verdict is not None and STEPS.index(step) <= STEPS.index("judge")):
        return marks.DONE, None
    return marks.NOT_YET, None


def _ended_at(it: Iteration, detail: Detail) -> StepName | None:
    """The step that ended an iteration early: the first one without a result."""
    if it.verdict is not None:
        return None
    return next((step for step in STEPS[:-1] if getattr(detail, _FACT_OF[step]) is None), None)


def _steps_heading(view: View, run: Run, it: Iteration, detail: Detail, width: int) -> Content:
    if it.outcome is not None or it.step is None:
        done = sum(_state_of(step, run, it, detail)[0] is marks.DONE for step in STEPS)
        if it.outcome in ("rejected", "failed") and (last := _ended_at(it, detail)) is not None:
            return heading("Steps", (f"ended by {last}", ".bad"))
        took = f"{done} of {len(STEPS)} done in {seconds(it.ended - it.started)}" if it.ended else "about to begin"
        return heading("Steps", (took, ".muted"))
    place = f"{it.step}, {STEPS.index(it.step) + 1} of {len(STEPS)}"
    again = f", attempt {it.attempt}" if it.attempt > 1 else ""
    found = heading("Steps", (place + again, ".accent"))
    at_work = marks.of_iteration(it, run, bool(view.state.held)) is marks.RUNNING
    return found if at_work else _as_fits(found, [("  waiting", ".warn")], width)


def _steps_across(view: View, run: Run, it: Iteration, detail: Detail, width: int) -> list[Content]:
    """Two rows of five; one line is enough once all of them are done."""
    found = [_steps_heading(view, run, it, detail, width)]
    if all(_state_of(step, run, it, detail)[0] is marks.DONE for step in STEPS):
        return found
    half = len(STEPS) // 2
    widths = [max(len(first), len(second)) + 3 for first, second in zip(STEPS[:half], STEPS[half:], strict=True)]
    for row in (STEPS[:half], STEPS[half:]):
        parts: list[Part] = []
        for step, cell in zip(row, widths, strict=True):
            mark, _ = _state_of(step, run, it, detail)
            parts.append((f"{mark.glyph} {step}".ljust(cell), mark.style))
        found.append(line(*parts).rstrip())
    return found


def _steps_down(view: View, run: Run, it: Iteration, detail: Detail, width: int) -> list[Content]:
    found = [_steps_heading(view, run, it, detail, width)]
    for step in STEPS:
        mark, took = _state_of(step, run, it, detail)
        word = "" if mark is marks.DONE or (mark is marks.NOT_YET and it.outcome is not None) else mark.word
        time = seconds(took) if took is not None else word
        style = mark.style if mark in (marks.RUNNING, marks.WAITING) else ".muted"
        found.append(line((f"{mark.glyph} ", mark.style), f"{step:<9}", (f"{time:>12}", style)))
    return found
