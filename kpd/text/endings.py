"""Renders why an iteration or a run ended."""

from kpd.model import causes as c
from kpd.model.iteration import Iteration, Override
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.model.session import TurnEnd
from kpd.model.status import Ended, Paused
from kpd.text.faults import fault
from kpd.text.flags import flags
from kpd.text.gains import gain
from kpd.text.numbers import counted
from kpd.text.verdicts import verdict
from kpd.text.waits import exhausted, pause, trouble

TURN_ENDS: dict[TurnEnd, str] = {
    "done": "the agent ended its turn",
    "refused": "the agent declined",
    "time": "its time was over",
    "money": "its dollars were spent",
    "stopped": "an operator cut it",
    "cut": "it was cut off",
    "crash": "it crashed",
    "flood": "it flooded kpd with messages",
    "disk": "it filled the disk",
    "memory": "it used too much memory",
    "processes": "it started too many processes",
    "lost": "the daemon ended meanwhile",
}
"""How a turn of a session ended, in words."""


def iteration_ended(cause: c.IterationCause | None) -> str:
    """Say why an iteration ended; empty while it goes on."""
    match cause:
        case None:
            return ""
        case c.Noise():
            return f"against itself: {gain(cause.gain)}"
        case c.ByVerdict():
            return verdict(cause.verdict)
        case c.AgainstItself():
            return f"the incumbent against itself: {verdict(cause.verdict)}"
        case c.Superseded():
            return f"{verdict(cause.verdict)}, but {cause.run}.{cause.by} became the incumbent meanwhile"
        case c.Flagged():
            return f"{verdict(cause.verdict)}, but it {flags(cause.flags)}"
        case c.TooBusy():
            return cause.error
        case c.ContestBroken():
            return f"it broke off again and again, but not with the baseline in its place: {trouble(cause.trouble)}"
        case c.DeviceChanged():
            goes_on = "; its candidate is measured there" if cause.again else ""
            return f"its run went on with another kind of device, {cause.device}{goes_on}"
        case c.Skipped():
            return f"skipped by {cause.by}" if cause.by else "skipped"
        case c.NothingLeft():
            return exhausted(cause.why)
        case c.RunOver():
            return run_ended(cause.cause)
        case _:
            return fault(cause)


def run_ended(cause: c.RunCause) -> str:
    """Say why a run ended."""
    match cause:
        case c.IterationsUsed():
            return f"budget of {counted(cause.iterations, 'iteration')} used"
        case c.PatienceUsed():
            return f"{counted(cause.without, 'iteration')} without a gain (patience {cause.patience})"
        case c.HoursUsed():
            return f"budget of {counted(cause.hours, 'hour')} used"
        case c.GpuHoursUsed():
            return f"budget of {counted(cause.hours, 'GPU hour')} used"
        case c.StopScoreReached():
            return f"stop score {cause.stop:g} reached: {cause.score:g}"
        case c.AgentsDone():
            return "; ".join(map(exhausted, cause.why))
        case c.BaselineFaulty():
            return f"the baseline does not hold: {fault(cause.fault)}"
        case c.NotMeasurable():
            return f"the task cannot be measured: {cause.error}"
        case c.PlugInTrouble():
            return cause.error
        case c.PhaseFailed():
            return f"{cause.phase}: {cause.error}" + (f"; {cause.remedy}" if cause.remedy else "")
        case c.Stopped():
            return f"stopped by {cause.by}" if cause.by else "stopped"
        case Told():
            return cause.text


def of_iteration(it: Iteration) -> str:
    """Say why the iteration ended; empty while it goes on."""
    return iteration_ended(it.cause)


def override(found: Override) -> str:
    """Say why a person accepted an iteration against its verdict."""
    return found.reason or f"accepted by {found.by} against the verdict"


def of_run(run: Run) -> str:
    """Say why the run ended, or why it is paused; empty while it goes on."""
    match run.status:
        case Ended(cause=cause):
            return run_ended(cause)
        case Paused(cause=cause):
            return pause(cause)
    return ""
