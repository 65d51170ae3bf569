"""Draws what a run does next, what it waits for, and the rest of its budget."""

from statistics import median

from textual.content import Content

from kpd.model.agents import BASELINE
from kpd.model.iteration import Iteration
from kpd.model.lanes import wait_of
from kpd.model.run import Run
from kpd.model.session import AGENT
from kpd.model.status import Ended, Paused, Queued
from kpd.model.waits import ForPermission, PausedBy
from kpd.text.endings import of_run
from kpd.text.numbers import counted
from kpd.text.preparing import question
from kpd.text.waits import pause, permission, wait
from tui.actions.table import key
from tui.format import money
from tui.format.numbers import figure, seconds
from tui.format.text import clean, clip, first_line, line, wrapped
from tui.model.view import View
from tui.model.waits import described, folded

MOST_LINES = 5
LABEL = 12
TYPICAL = 20
"""So many iterations say how long one takes."""


def next_lines(view: View, width: int) -> list[Content]:
    """Draw a few lines that begin with `next`, `waits` or `ended`; a file that is waited for has its full path."""
    run = view.run
    assert run is not None
    word, text, path = _next(view, run)
    style = {"waits": ".warn", "ended": ".strong"}.get(word, ".accent")
    room = width - len(word) - 2
    first, *more = wrapped(text, room, most=MOST_LINES)
    more += [line((piece, ".strong")) for piece in (folded(path, room) if path else ())]
    return [line((f"{word}  ", style)) + first, *(line(" " * (len(word) + 2)) + one for one in more)]


def _next(view: View, run: Run) -> tuple[str, str, str]:
    """Return the first word, a sentence, and the path of a file that is waited for."""
    if isinstance(run.status, Ended):
        return "ended", first_line(of_run(run)) or run.status.outcome, ""
    if view.link.state == "down":
        return "waits", "no link to the daemon: what you see is the last that was heard", ""
    if view.state.held:
        return "waits", f"the queue is held: {key(view, 'resume')} releases it", ""
    if isinstance(run.status, Paused):
        return "waits", f"{paused(run.status)}; {key(view, 'resume')} resumes it", ""
    if (phase := run.next_phase) is not None:
        if phase == "task" and run.order is not None and run.order.mailbox and run.at_phase is not None:
            return "waits", "for reply.md beside this question:", question(run, view.state.workspace)
        *_, last = phases = run.phases_wanted
        then = "its baseline" if phase == last else phases[phases.index(phase) + 1]
        return "next", f"{then}, once {phase} is done", ""
    if isinstance(run.status, Queued):
        return "waits", first_line(wait(run.waiting)) or "for a device that is free", ""
    now = under_way(view, run)
    if now is not None and now.review == "waits":
        return "waits", _review(view, run, now), ""
    waiting = run.waiting if now is None else wait_of(run, now)
    if isinstance(waiting, ForPermission):
        acts = f"{key(view, 'allow')} allows it, {key(view, 'deny')} refuses it"
        return "waits", f"{clean(permission(waiting))}: {acts}", ""
    if waiting:
        wanted = described(waiting)
        if wanted.path:
            return "waits", f"{wanted.text}; {key(view, 'copy_path')} copies its path:", wanted.path
        return "waits", f"{wanted.text}; it goes on by itself", ""
    if (step := _step(view, run, now)) != "":
        return "next", step, ""
    if run.waits_for_edits and run.incumbent is not None and not run.pending_edit:
        return "waits", "for an edit of the task folder: save a file and it is measured", ""
    return "next", _iteration(run), ""


def _review(view: View, run: Run, it: Iteration) -> str:
    """Describe what a person can do with a candidate that waits for review."""
    keys = [(key(view, act), does) for act, does in (("approve", "builds it"), ("decline", "ends it"))]
    acts = ", ".join(f"{pressed} {does}" for pressed, does in keys)
    return f"for your review of {run.id}.{it.number}: {key(view, 'tab_diff')} shows its diff, {acts}"


def under_way(view: View, run: Run) -> Iteration | None:
    """Return the selected iteration if it is under way, else the oldest that is."""
    return next((it for it in run.open if it == view.iteration), run.current)


def _step(view: View, run: Run, now: Iteration | None) -> str:
    """Describe the step after the present one, and who proposes before it; empty when there is none."""
    if now is None or now.step is None or now.step == now.steps[-1]:
        return ""
    following = now.steps[now.steps.index(now.step) + 1]
    if now.step != "propose" or now.agent == BASELINE:
        return f"{following}, once {now.step} is done"
    written = any(one.run == run.id and one.iteration == now.number and one.channel == AGENT for one in view.output)
    live = f"; {key(view, 'tab_log')} shows it live" if written else ""
    return f"{following}, once {clean(now.agent)} has proposed{live}"


def _iteration(run: Run) -> str:
    """Describe the iteration that comes next."""
    if run.pending_edit:
        return "your edit of the task folder is measured as an operator iteration"
    if run.again and run.incumbent is not None:
        if run.again[0].confirming:
            return f"{run.id}.{run.again[0].of} is measured against the baseline"
        thorough = ", with all processes that a verdict can use" if run.again[0].thorough else ""
        return f"{run.id}.{run.again[0].of} is measured once more{thorough}"
    queued = sum(note.consumed_by is None for note in run.steering)
    if queued:
        return f"a new iteration, steered by {counted(queued, 'note')} of yours"
    if run.incumbent is None and (run.own_files == "right" or (run.own_files == "wrong" and not run.iterations)):
        return "the baseline: the task as it is, measured against itself"
    return _turn(run)


def _turn(run: Run) -> str:
    """Describe who proposes next: the agents in turn, or first the one that explores parameters left open."""
    explorer = run.explorer
    others = [agent for agent in run.agents if not (explorer and run.trait(agent).explores)]
    last = next((it.agent for it in reversed(run.iterations) if it.agent in others), others[-1])
    name = clean(others[(others.index(last) + 1) % len(others)])
    unsure = next((it for it in reversed(run.iterations) if _proposes(run, it.agent)), None)
    if explorer and unsure is not None and left_open(unsure):
        left = f"as long as {run.id}.{unsure.number} leaves it {_names(unsure)} to explore"
        return f"{clean(explorer)}, {left}; then {name}"
    return f"{name} proposes the next candidate"


def _proposes(run: Run, agent: str) -> bool:
    """Return whether an agent proposes in turn: it neither explores what is left open nor acts for a person or kpd."""
    trait = run.trait(agent)
    return not trait.explores and not trait.operators


def left_open(it: Iteration) -> bool:
    """Return whether an iteration leaves parameters to explore: its agent was unsure of them, and it has a score."""
    return bool(it.tune) and it.score is not None


def _names(it: Iteration) -> str:
    *most, last = map(clean, it.tune)
    return f"{', '.join(most)} and {last}" if most else last


def paused(status: Paused) -> str:
    """Describe why a run is paused: `paused by op`, `paused: infrastructure: …`."""
    reason = first_line(pause(status.cause))
    return reason if isinstance(status.cause, PausedBy) else f"paused: {reason}"


def used(run: Run) -> tuple[int, int]:
    """Count the iterations that use up the budget, and those since the last accepted one."""
    without = 0
    for it in reversed(run.iterations):
        if it.outcome == "accepted":
            break
        without += it.counts
    return sum(it.counts for it in run.iterations), without


def budget(view: View, run: Run, width: int) -> list[Content]:
    """List what is left of the budget: iterations, patience, money and time, and what is accepted or ends the run."""
    limits = run.budget
    done, without = used(run)
    left = max(0, limits.iterations - done)
    parts = [
        ("iterations", f"{left:,} of {limits.iterations:,} left"),
        ("patience", f"{max(0, limits.patience - without):,} of {limits.patience:,} left"),
    ]
    if money.costs(run):
        parts.append(("models", money.left(run, width - LABEL)))
    parts += _time(view, run, left)
    parts.append(("accepts", f"from {limits.min_gain_pct:g} % less time"))
    if limits.stop_score is not None:
        parts.append(("stops", f"at a score of {figure(limits.stop_score)}"))
    if run.approve:
        parts.append(("review", "candidates wait for you"))
    if run.deploy:
        parts.append(("at the end", f"the winner goes into {clean(run.deploy)}"))
    return [line((f"{what:<{LABEL}}", ".muted"), clip(text, width - LABEL)) for what, text in parts]


def _time(view: View, run: Run, left: int) -> list[tuple[str, str]]:
    """Return how long the run has taken, and, from its recent iterations, how long the rest may take at most."""
    if run.started is None:
        return []
    if isinstance(run.status, Ended):
        return [("time", seconds(run.status.at - run.started))]
    parts = [("time", f"{seconds(max(0.0, view.moment - run.started))} so far")]
    took = [it.ended - it.started for it in run.iterations if it.counts and it.ended is not None][-TYPICAL:]
    if took and left:
        parts.append(("to go", f"up to {seconds(left * median(took))}"))
    return parts
