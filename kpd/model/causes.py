"""Defines why an iteration or a run ended."""

from kpd.model.exhaustion import ExhaustionReason
from kpd.model.faults import CandidateFault
from kpd.model.flags import Flag
from kpd.model.kinds import Kind, Told
from kpd.model.verdicts import Gain, Verdict
from kpd.model.waits import HostTrouble

# ── of a run ──────────────────────────────────────────────────────────────────────────────────────────────────────


class IterationsUsed(Kind, frozen=True):
    iterations: int


class PatienceUsed(Kind, frozen=True):
    """`without` iterations in a row brought no gain."""

    without: int
    patience: int


class HoursUsed(Kind, frozen=True):
    hours: float


class GpuHoursUsed(Kind, frozen=True):
    hours: float


class StopScoreReached(Kind, frozen=True):
    stop: float
    score: float


class AgentsDone(Kind, frozen=True):
    """None of its agents has anything left to propose."""

    why: tuple[ExhaustionReason, ...]


class BaselineFaulty(Kind, frozen=True):
    """The task as it came is itself faulty: it does not build, gives wrong results, or the like."""

    fault: CandidateFault


class NotMeasurable(Kind, frozen=True):
    """The task cannot be measured; `error` is what its folder or the compiler says."""

    error: str


class PlugInTrouble(Kind, frozen=True):
    """A package that somebody has installed (an agent, a language or the like) cannot be used; `error` says why."""

    error: str


class PhaseFailed(Kind, frozen=True):
    """A phase before its first iteration failed, in the words of its process; `remedy` is what helps."""

    phase: str
    error: str
    remedy: str = ""


class Stopped(Kind, frozen=True):
    by: str


RunCause = (
    IterationsUsed
    | PatienceUsed
    | HoursUsed
    | GpuHoursUsed
    | StopScoreReached
    | AgentsDone
    | BaselineFaulty
    | NotMeasurable
    | PlugInTrouble
    | PhaseFailed
    | Stopped
    | Told
)

# ── of an iteration ───────────────────────────────────────────────────────────────────────────────────────────────


class Noise(Kind, frozen=True):
    """The baseline was measured against itself."""

    gain: Gain


class ByVerdict(Kind, frozen=True, tag="verdict"):
    verdict: Verdict


class AgainstItself(Kind, frozen=True):
    """What was measured once more was the incumbent."""

    verdict: Verdict


class Superseded(Kind, frozen=True):
    """It was better than what it was measured against; meanwhile iteration `by` has become the incumbent."""

    verdict: Verdict
    run: str
    by: int


class Flagged(Kind, frozen=True):
    """It won, but it has flags: a person decides, or the task has such candidates rejected."""

    verdict: Verdict
    flags: tuple[Flag, ...]


class TooBusy(Kind, frozen=True):
    """It could not be measured against the baseline, as the machine was too busy, in its host's words."""

    error: str


class ContestBroken(Kind, frozen=True):
    """It could not be measured against the baseline: trouble came again and again with it, not with the baseline."""

    trouble: HostTrouble


class DeviceChanged(Kind, frozen=True):
    """Its run went on with a device of another kind; `again`: its candidate is measured there from the beginning."""

    device: str
    again: bool


class Skipped(Kind, frozen=True):
    by: str


class NothingLeft(Kind, frozen=True):
    """Its agent had nothing left to propose."""

    why: ExhaustionReason


class RunOver(Kind, frozen=True):
    """Its run ended before it did."""

    cause: RunCause


IterationCause = (
    Noise
    | ByVerdict
    | AgainstItself
    | Superseded
    | Flagged
    | TooBusy
    | ContestBroken
    | DeviceChanged
    | Skipped
    | NothingLeft
    | RunOver
    | CandidateFault
)
