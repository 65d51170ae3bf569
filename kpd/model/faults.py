"""Defines what can be wrong with a candidate. Errors of a host are never faults."""

from typing import Literal

from kpd.model.defects import WrongResult
from kpd.model.exhaustion import ExhaustionReason
from kpd.model.kinds import Kind, Told
from kpd.model.waits import HostTrouble


class NotBuilt(Kind, frozen=True, tag="build"):
    """A candidate that does not build.

    `error` is the compiler's first error; `limit_s` is set where the compiler did not end within so many seconds.
    """

    error: str = ""
    about: Literal["structural", "semantic", "timeout"] = "semantic"
    limit_s: float | None = None


class Incorrect(Kind, frozen=True):
    """A wrong result found by the check, or a fault that the last checks saw after the acceptance."""

    wrong: WrongResult


class IncorrectTimed(Kind, frozen=True):
    """A wrong result found while the candidate was timed."""

    wrong: WrongResult


class IncorrectHeldOut(Kind, frozen=True):
    """A wrong result on the cases that the task holds out."""

    wrong: WrongResult


class Impossible(Kind, frozen=True):
    """A case that took less time than this machine needs at the least for its bytes and operations."""

    case: str
    us: float
    least_us: float
    bytes: float | None = None
    flops: float | None = None
    of_baseline: bool = False


class Implausible(Kind, frozen=True):
    """A speed-up of more than `most` times in one step, in a task that does not check its results."""

    times: float
    most: float


class GainNotHeld(Kind, frozen=True):
    """A gain of the contest, `claimed_pct`, that an audit before the acceptance did not find.

    In older logs, and for the audit `kept`, that is what the gain was at least. The audit `fresh` calls each kernel on
    inputs that are new in every call, `alone` times each in processes without the other one; `clocked` and `driver` do
    so by the driver's own clock. It found `pct`, and beyond doubt no more than `high_pct`; all in percent of time. The
    audit `kept` looks for what is gained only while inputs hardly change: `pct`, and beyond doubt no less than
    `high_pct`. The audit `average` is of all calls together, in the contest or on fresh inputs: they
    gained no more than `pct`.
    """

    audit: Literal["fresh", "alone", "driver", "clocked", "kept", "average"]
    claimed_pct: float
    pct: float
    high_pct: float


class GainUnconfirmed(Kind, frozen=True):
    """A gain of the contest, `claimed_pct`, of which all audits leave in doubt whether it is there.

    `audit` is as in `GainNotHeld`; it found `pct`, and between `low_pct` and `high_pct`, in percent of time. `taken`
    are the audits for which there was time, if that ended them: `seconds` from the contest's end.
    """

    audit: Literal["fresh", "clocked"]
    claimed_pct: float
    pct: float
    low_pct: float
    high_pct: float
    taken: int | None = None
    seconds: float = 0.0


class ClockForged(Kind, frozen=True):
    """Samples of a process that took `summed_ms` together where the driver's own clock counted `wall_ms`.

    These are of the worst process; `processes` of `of` show it.
    """

    summed_ms: float
    wall_ms: float
    processes: int
    of: int


class BreaksMeasurement(Kind, frozen=True):
    """Trouble of the host that came with this candidate again and again in `step`, and never with the incumbent.

    `alone`: the run had no incumbent that could be tried.
    """

    step: str
    trouble: HostTrouble
    alone: bool = False


class ProtectedFiles(Kind, frozen=True, tag="protected"):
    """A change of files that the candidate may not change."""

    files: tuple[str, ...]


class ProtectedLines(Kind, frozen=True, tag="protected_section"):
    """A change of lines of an editable file that the candidate may not change."""

    error: str


class DeclinedBy(Kind, frozen=True, tag="declined"):
    """A person's refusal to have the candidate built. `why` is in that person's words."""

    by: str
    why: str = ""


class UnusableReply(Kind, frozen=True):
    """An answer of an agent that holds no candidate; `error` says why."""

    error: str


RepairableFault = (
    NotBuilt
    | Incorrect
    | IncorrectTimed
    | IncorrectHeldOut
    | Impossible
    | Implausible
    | GainNotHeld
    | GainUnconfirmed
    | ClockForged
    | BreaksMeasurement
    | ProtectedFiles
    | ProtectedLines
    | DeclinedBy
    | UnusableReply
    | Told
)


class NotMended(Kind, frozen=True):
    """A fault that was not repaired: the agent left, or may not be asked any more, before it had mended `fault`."""

    fault: RepairableFault
    why: ExhaustionReason


CandidateFault = RepairableFault | NotMended
IsIncorrect = Incorrect | IncorrectTimed | IncorrectHeldOut


def outcome_of(fault: CandidateFault) -> Literal["failed", "rejected"]:
    """Return "failed" where there was nothing to judge (no build, no usable reply), else "rejected"."""
    return "failed" if isinstance(first(fault), NotBuilt | UnusableReply) else "rejected"


def first(fault: CandidateFault) -> RepairableFault:
    """Return the fault itself; for one that was not mended, the fault inside."""
    return fault.fault if isinstance(fault, NotMended) else fault
