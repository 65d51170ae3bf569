"""Draws the Memo tab: the history of the run, newest first, with the steering queue on top."""

from collections.abc import Iterator, Sequence

from textual.content import Content

from kpd.model import events as e
from kpd.model.iteration import Iteration
from kpd.model.metrics import describe
from kpd.model.run import Run, Steering
from kpd.text.endings import of_iteration, override
from kpd.text.gains import brief, gain as told_gain
from kpd.text.numbers import counted
from tui.actions.table import key
from tui.format import marks, money
from tui.format.numbers import clock, figure, moved
from tui.format.story import sentence as told, verdict_text
from tui.format.text import BLANK, clean, line, wrapped
from tui.model.answers import Problem, Show
from tui.model.view import View
from tui.panes.next_step import left_open
from tui.panes.parts import heading, labelled, nothing_selected, sentence

MOST_TOLD = 50
"""Iterations told at once; the story ends at the selected one, so the rest is a selection away."""
ROOMY = 64
"""From this width on what is set has lines of its own."""
_ELSEWHERE = (e.Steered, e.MemoGiven, e.IterationEnded)
"""Acts that are shown elsewhere: notes as such, a memo's author beside it, who skips in the reason."""

Came = tuple[bool, str]
"""Whether an expectation was met, and the result."""


def lines(view: View, width: int, height: int) -> list[Content]:
    run = view.run
    if run is None or not run.iterations:
        return nothing_selected(view, width) or []
    found = [*_set(view, run, width), *_steering(view, run, width)]
    last = view.iteration.number if view.iteration else run.iterations[-1].number
    told = [it for it in run.iterations if it.number <= last]
    acts = _acts(view, run)
    found.append(heading(f"{run.id} up to iteration {last}", ("newest first", ".muted")))
    for it in reversed(told[-MOST_TOLD:]):
        found += [BLANK, *chapter(view, run, it, acts.get(it.number, ()), width)]
    if len(told) > MOST_TOLD:
        earlier = counted(len(told) - MOST_TOLD, "earlier iteration")
        found += [BLANK, *sentence(f"{earlier}: select one on the left to read the story up to it.", width)]
    elif before := [row for event in acts.get(-1, ()) for row in _act(view, event, 0, width)]:
        found += [BLANK, *before]
    if isinstance(view.shown.acts, Problem):
        found += [BLANK, *sentence(f"What operators did is not known: {view.shown.acts.message}", width)]
    return found


# ── what is set, and what waits ───────────────────────────────────────────────────────────────────────────────────


def _set(view: View, run: Run, width: int) -> list[Content]:
    """Draw what operators have set for the iterations to come; empty where they have set nothing."""
    settings = list(_settings(view, run))
    if not settings:
        return []
    if width < ROOMY:
        return [*wrapped(" · ".join(f"{label}: {text}" for label, text in settings), width, ".muted"), BLANK]
    rows = [row for label, text in settings for row in labelled(label, text, width)]
    return [heading("Set by operators"), *rows, BLANK]


def _settings(view: View, run: Run) -> Iterator[tuple[str, str]]:
    if run.approve:
        yield "review", "candidates wait for a person"
    if run.model:
        yield "model", clean(run.model)
    for stand, label in (("pinned", "pinned"), ("banned", "banned")):
        if rules := sorted(rule for rule, one in run.stands.items() if one == stand):
            yield label, ", ".join(map(clean, rules))
    if run.again:
        yield (
            "once more",
            ", ".join(
                f"{run.id}.{one.of}{', all processes' if one.thorough else ''}{f' ({clean(one.by)})' if one.by else ''}"
                for one in run.again
            ),
        )
    if run.before is not None and not run.over:
        yield "undo", f"{key(view, 'undo')} brings {run.id}.{run.before} back"


def _steering(view: View, run: Run, width: int) -> list[Content]:
    queued = [note for note in run.steering if note.consumed_by is None]
    if not queued:
        return []
    edit = "" if view.read_only or run.over else f"; {key(view, 'steer')} edits"
    found = [heading("Steering queue", (f"for the next iteration{edit}", ".muted")).truncate(width, ellipsis=True)]
    for note in queued:
        found += _note(note, width)
    return [*found, BLANK]


def _note(note: Steering, width: int) -> list[Content]:
    text = wrapped(_signed(note.text, note.by), width - 5)
    return [
        Content.assemble((f"{note.note:>3}  " if nth == 0 else "     ", ".accent"), one) for nth, one in enumerate(text)
    ]


def _signed(text: str, by: str) -> str:
    return text + (f"  — {clean(by)}" if by else "")


# ── the story ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _acts(view: View, run: Run) -> dict[int, list[e.Event]]:
    """Group operators' acts by the iteration that was the newest at the time; -1 before the first."""
    known = view.shown.acts if isinstance(view.shown.acts, tuple) else ()
    found: dict[int, list[e.Event]] = {}
    newest = 0
    for event in sorted(known, key=lambda event: event.seq):
        while newest < len(run.iterations) and run.iterations[newest].started <= event.at:
            newest += 1
        found.setdefault(run.iterations[newest - 1].number if newest else -1, []).append(event)
    return found


def _act(view: View, event: e.Event, indent: int, width: int) -> list[Content]:
    head = f"{clock(event.at, view.zone)}  "
    mark, text = told(event.fact)
    rows = wrapped(text, width - indent - len(head) - 2)
    return [
        line(
            " " * indent,
            (head if nth == 0 else " " * len(head), ".muted"),
            (f"{mark.glyph} " if nth == 0 else "  ", mark.style),
        )
        + one
        for nth, one in enumerate(rows)
    ]


def chapter(view: View, run: Run, it: Iteration, acts: Sequence[e.Event], width: int) -> list[Content]:
    mark = marks.of_iteration(it, run, bool(view.state.held), view.out_of_touch)
    gain = marks.gain_of(it)
    head = line(
        (f"{it.number:>4}  ", ".strong" if view.at.iteration == it.number else ".muted"),
        (f"{mark.glyph} {gain + '  ' if gain else ''}{mark.word}", mark.style),
        (f"   {clean(it.agent)}", ".muted"),
    )
    found = [head.truncate(width, ellipsis=True)]
    for note in run.steering:
        if note.consumed_by == it.number:
            found += wrapped(_signed(f"steered: {note.text}", note.by), width, ".accent", indent=6)
    found += _memo(view, it, width)
    for label, text in _particulars(run, it):
        found += labelled(label, text, width, ".muted" if label == "cost" else "", indent=6)
    for nth, (good, text) in enumerate(_came(view, it)):
        found += _outcome("measured" if nth == 0 else "", good, text, width)
    if it.spend.calls:
        found += labelled("cost", money.told(it.spend), width, ".muted", indent=6)
    found += _review(view, it, width)
    if it.verdict is not None and it.outcome is None:
        found += wrapped(verdict_text(it.verdict), width, ".muted", indent=6)
    if it.override:
        found += wrapped(f"accepted by hand: {override(it.override)}", width, ".warn", indent=6)
    if it.cause is not None:
        found += wrapped(of_iteration(it), width, ".muted", indent=6)
    told = (event for event in acts if not isinstance(event.fact, _ELSEWHERE))
    return found + [row for event in told for row in _act(view, event, 6, width)]


def _memo(view: View, it: Iteration, width: int) -> list[Content]:
    """Draw the memo, with the name of the person who wrote it, if one did."""
    if not it.memo:
        return wrapped("no memo yet", width, ".muted", indent=6)
    facts = (one.fact for one in view.shown.acts) if isinstance(view.shown.acts, tuple) else ()
    authors = [fact.by for fact in facts if isinstance(fact, e.MemoGiven) and fact.iteration == it.number]
    return wrapped(_signed(it.memo, authors[-1] if authors else ""), width, indent=6)


def _particulars(run: Run, it: Iteration) -> Iterator[tuple[str, str]]:
    """Yield what the agent aimed at and expected before anything was measured, each with a label."""
    if it.again is not None:
        more = ", against the baseline" if it.confirming else ", with all processes" if it.thorough else ""
        more = ", against itself: the noise floor of its device" if it.measures_floor else more
        yield "again", f"the files of {run.id}.{it.again} once more{more}"
    if it.aims:
        yield "aims at", ", ".join(map(clean, it.aims))
    if it.tune:
        names = "; ".join(f"{clean(name)} = {', '.join(map(clean, values))}" for name, values in it.tune.items())
        explores = f" (left to the {clean(run.explorer)})" if run.explorer and left_open(it) else ""
        yield "unsure of", names + explores
    if it.expected is not None:
        metric = describe(it.expected.metric)
        gain = f", {brief(it.expected.gain_pct)}" if it.expected.gain_pct is not None else ""
        yield "expects", f"{metric.label if metric else clean(it.expected.metric)} {it.expected.direction}{gain}"


def _outcome(label: str, good: bool, text: str, width: int) -> list[Content]:
    mark, style = ("✓", ".good") if good else ("✗", ".bad")
    rows = labelled(label, f"{mark} {text}", width, indent=6)
    at = rows[0].plain.find(mark)
    return [rows[0].stylize(style, at, at + 1), *rows[1:]]


def _came(view: View, it: Iteration) -> Iterator[Came]:
    """Yield how expectations turned out: the gain, and the metric, which is known only for the selected iteration."""
    expected = it.expected
    if expected is None:
        return
    show = view.shown.show
    if view.at.iteration == it.number and isinstance(show, Show) and show.parent is not None:
        before, after = (
            of.profiled.metrics.get(expected.metric) if of.profiled is not None else None
            for of in (show.parent, show.detail)
        )  # fmt: skip
        if before is not None and after is not None:
            known = describe(expected.metric)
            unit = f" {known.unit}" if known is not None and known.unit else ""
            went = after > before if expected.direction == "up" else after < before
            label = f"{known.label} " if known is not None else ""
            yield went, f"{label}{figure(before)} → {figure(after)}{unit} ({moved(after, before)})"
    if it.verdict is not None and it.outcome != "baseline":
        gain = it.verdict.gain
        wanted = expected.gain_pct if expected.gain_pct is not None else 0.0
        # An expectation that lies in the interval has been met.
        yield gain.high >= wanted and gain.pct > 0, told_gain(gain)


def _review(view: View, it: Iteration, width: int) -> list[Content]:
    match it.review:
        case "waits":
            keys = f"{key(view, 'approve')} has it built, {key(view, 'decline')} declines it"
            return wrapped(f"◔ waits for a person before it is built: {keys}", width, ".warn", indent=6)
        case "approved":
            return wrapped("✓ approved before it was built", width, ".muted", indent=6)
        case "declined":
            return wrapped("✗ declined before it was built", width, ".muted", indent=6)
    return []
