"""What a run does next, what it waits for, and what of its budget is left."""

from textual.content import Content

from kpd.model.nouns import STEPS, Run
from tui.numbers import count, figure
from tui.text import clean, clip, first_line, line, wrapped
from tui.view import View

COUNTED = ("accepted", "rejected", "failed")
MOST_LINES = 3


def next_lines(view: View, width: int) -> list[Content]:
    """A few lines that begin with what it is: `next`, `waits` or `ended`."""
    run = view.run
    assert run is not None
    word, text = _next(view, run)
    style = {"waits": ".warn", "ended": ".strong"}.get(word, ".accent")
    first, *more = wrapped(text, width - len(word) - 2, most=MOST_LINES)
    return [line((f"{word}  ", style)) + first, *(line(" " * (len(word) + 2)) + one for one in more)]


def _next(view: View, run: Run) -> tuple[str, str]:
    if run.status == "ended":
        return "ended", first_line(run.reason) or (run.outcome or "")
    if view.link.state == "down":
        return "waits", "no link to the daemon: what you see is the last that was heard"
    if view.state.held:
        return "waits", "the queue is held: u releases it"
    if run.status == "paused":
        return "waits", f"{paused(run)}; r resumes it"
    if run.status == "queued":
        return "waits", first_line(run.waiting) or "for a device that is free"
    if run.waiting:
        return "waits", f"{first_line(run.waiting)}; it goes on by itself"
    now = run.current
    if now is not None and now.step is not None and now.step != STEPS[-1]:
        return "next", f"{STEPS[STEPS.index(now.step) + 1]}, once {now.step} is done"
    if run.pending_edit:
        return "next", "your edit of the task folder is measured as an operator iteration"
    queued = sum(note.consumed_by is None for note in run.steering)
    if queued:
        return "next", f"a new iteration, steered by {count(queued, 'note')} of yours"
    if run.agent == "operator" and run.incumbent is not None:
        return "waits", "for an edit of the task folder: save a file and it is measured"
    if run.incumbent is None:
        return "next", "the baseline: the task as it is, measured against itself"
    return "next", f"{clean(run.agent)} proposes the next candidate"


def paused(run: Run) -> str:
    """Why a run is paused: `paused by op`, `paused: infrastructure: …`."""
    reason = first_line(run.reason)
    return reason if reason.startswith("paused") else f"paused: {reason or 'by you'}"


def used(run: Run) -> tuple[int, int]:
    """Iterations that count against the budget, and those since the last accepted one."""
    done = [it for it in run.iterations if it.outcome in COUNTED]
    without = 0
    for it in reversed(done):
        if it.outcome == "accepted":
            break
        without += 1
    return len(done), without


def budget(run: Run, width: int) -> list[Content]:
    """What is left: iterations, patience, and how far the stop score is."""
    limits = run.budget
    done, without = used(run)
    parts = [
        ("iterations", f"{max(0, limits.iterations - done):,} of {limits.iterations:,} left"),
        ("patience", f"{max(0, limits.patience - without):,} of {limits.patience:,} left"),
        ("accepts", f"from +{limits.min_gain_pct:g} % on"),
    ]
    if limits.stop_score is not None:
        parts.append(("stops", f"at a score of {figure(limits.stop_score)}"))
    return [line((f"{what:<12}", ".muted"), clip(text, width - 12)) for what, text in parts]
