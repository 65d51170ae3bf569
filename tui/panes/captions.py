"""Explains to a newcomer what happens in a recording, in one sentence."""

from kpd.model.causes import Flagged
from kpd.model.faults import (
    BreaksMeasurement,
    ClockForged,
    GainNotHeld,
    GainUnconfirmed,
    Implausible,
    Impossible,
    Incorrect,
    IncorrectHeldOut,
    IncorrectTimed,
    NotBuilt,
    NotMended,
)
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.status import StepName
from tui.actions.table import key
from tui.format.scores import won
from tui.format.text import clean, first_line
from tui.model.view import View

_STEPS: dict[StepName, str] = {
    "propose": "An agent proposes a change, and says in its memo why it should help.",
    "build": "The candidate is built. Its memo, below, says why it should be faster.",
    "check": "Is it right? Compared with a double-precision truth, on secret inputs.",
    "time": "Is it faster? It runs in turns with the incumbent, in fresh processes.",
    "profile": "Why? The profiler counts what the device did: 2 shows it, 3 the rules it fires.",
}
_BASELINE: dict[StepName, str] = {
    "build": "First the kernel as it came: everything that follows is compared with it.",
    "check": "First the kernel as it came: everything that follows is compared with it.",
    "time": "The baseline is timed against itself: that is the noise of this machine.",
}


def caption(view: View) -> str:
    """Explain in a sentence what happens in the run under way, wherever the operator is; empty for nothing."""
    run = view.live
    if run is None:
        ended = next(reversed(view.state.runs.values()), None)
        return _end(view, ended) if ended is not None and ended.over else _welcome(view)
    if (now := run.current) is not None:
        known = {**_STEPS, **(_BASELINE if now.number == 0 else {})}
        return known.get(now.step, "") if now.step is not None else ""
    if run.iterations:
        return _outcome(run.iterations[-1])
    return "The device is measured first: nothing can be faster than its memory."


def _welcome(view: View) -> str:
    task = next(iter(view.state.tasks.values()), None)
    here = f" Here: {first_line(clean(task.summary))}." if task is not None and task.summary else ""
    return f"kpd makes kernels faster.{here}"


def _outcome(it: Iteration) -> str:
    """Explain the outcome of an iteration that has ended."""
    if it.outcome == "baseline":
        return "That was the baseline. Now an agent tries to beat it: its memo says how."
    if it.outcome == "accepted":
        became = "is significantly faster: accepted. It is now the one to beat."
    elif it.outcome == "failed":
        failed = "did not build" if isinstance(it.cause, NotBuilt) else "failed before it could be measured"
        became = f"{failed}, and its agent is told why."
    elif isinstance(it.cause, Flagged):
        became = "won, but holds what no kernel needs: it is not accepted by itself."
    elif it.verdict is None:
        became = _unjudged(it)
    else:
        word = {"slower": "is slower", "faster": "is faster, but not by enough"}.get(it.verdict.word, "is no faster")
        became = f"{word}: rejected, however good it sounded."
    return f"Iteration {it.number} {became}"


def _unjudged(it: Iteration) -> str:
    """Explain why an iteration was rejected without a verdict."""
    match it.cause.fault if isinstance(it.cause, NotMended) else it.cause:
        case Impossible():
            return "is faster than the hardware can be: rejected."
        case Implausible():
            return "is too fast to be believed without a check of its results: rejected."
        case GainNotHeld():
            return "was faster, but not where its gain was audited: rejected."
        case GainUnconfirmed():
            return "was faster, and its audits left in doubt whether it is: not accepted."
        case ClockForged():
            return "has times that the driver's own clock does not bear out: rejected."
        case Incorrect():
            return "gave wrong results: rejected before it was ever timed."
        case BreaksMeasurement():
            return "broke its own measurement, and only its own: rejected."
        case IncorrectTimed() | IncorrectHeldOut():
            return "gave wrong results in the end: rejected, however fast it was."
    return "was not let through: rejected before it was ever timed."


def _end(view: View, run: Run) -> str:
    factor = won(run)
    came = f"{factor} the baseline's speed" if factor else "nothing was faster"
    return f"The run has ended: {came}. {key(view, 'play')} plays it again, {key(view, 'detach')} leaves."
