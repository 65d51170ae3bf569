"""Defines what can be wrong with a candidate. Errors of a host are never faults."""

from typing import Literal

import msgspec

from kpd.model.exhaustion import ExhaustionReason
from kpd.model.kinds import Kind, Told

# ── what a check can see a kernel do ──────────────────────────────────────────────────────────────────────────────


class WrongValue(Kind, frozen=True):
    """The worst element of an output; `multiple` of the tolerance, None where that says nothing (no finite number)."""

    output: str
    index: int
    got: str
    want: str
    multiple: float | None
    wrong: int
    compared: int


class Crashed(Kind, frozen=True):
    """It ended by a signal; `said` is the last line that it printed."""

    signal: int
    said: str = ""


class NoReturn(Kind, frozen=True):
    """A call did not return in time."""


class LeftProcess(Kind, frozen=True):
    """It ended the process instead of returning."""


class NotLoaded(Kind, frozen=True):
    """The object cannot be loaded, and what the loader said."""

    said: str


class TookTooLong(Kind, frozen=True):
    """The whole job, a check or a timing, did not end within its limit."""

    job: str
    limit_s: float


class LeftThreads(Kind, frozen=True):
    count: int


class OtherCases(Kind, frozen=True):
    """Candidate and incumbent were timed on different cases."""

    cases: tuple[str, ...]


class BadAccess(Kind, frozen=True):
    """What compute-sanitizer reported, and how many errors."""

    said: str
    errors: int


class Complaint(Kind, frozen=True):
    """In the words of who found it: kpd's driver, or the task's own benchmark."""

    text: str


Defect = (
    WrongValue
    | Crashed
    | NoReturn
    | LeftProcess
    | NotLoaded
    | TookTooLong
    | LeftThreads
    | OtherCases
    | BadAccess
    | Complaint
)


class WrongResult(msgspec.Struct, frozen=True):
    """What a kernel did wrong, and where: the case, the kind of its inputs, the moment (empty: its check).

    `by_incumbent`: it showed in the incumbent, which shares a process with the candidate. `combinations` are all cases
    and inputs for which values were wrong.
    """

    what: Defect
    case: str = ""
    distribution: str = ""
    moment: str = ""
    by_incumbent: bool = False
    combinations: tuple[str, ...] = ()


# ── faults ────────────────────────────────────────────────────────────────────────────────────────────────────────


class NotBuilt(Kind, frozen=True, tag="build"):
    """`error` is the compiler's first one; `limit_s` is set where the compiler did not end within it."""

    error: str = ""
    about: Literal["structural", "semantic", "timeout"] = "semantic"
    limit_s: float | None = None


class Incorrect(Kind, frozen=True):
    """Found by the check, or by the memcheck before an acceptance."""

    wrong: WrongResult


class IncorrectTimed(Kind, frozen=True):
    """Found while it was timed."""

    wrong: WrongResult


class IncorrectHeldOut(Kind, frozen=True):
    """Found on the cases that the task holds out."""

    wrong: WrongResult


class Impossible(Kind, frozen=True):
    """A case took less time than this machine needs for its bytes and operations at the least."""

    case: str
    us: float
    least_us: float
    bytes: float | None = None
    flops: float | None = None
    of_baseline: bool = False


class ProtectedFiles(Kind, frozen=True, tag="protected"):
    """It would change files that it may not."""

    files: tuple[str, ...]


class ProtectedLines(Kind, frozen=True, tag="protected_section"):
    """It would change lines of an editable file that it may not."""

    error: str


class DeclinedBy(Kind, frozen=True, tag="declined"):
    """A person has looked at it and does not want it built. `why` is in that person's words."""

    by: str
    why: str = ""


class UnusableReply(Kind, frozen=True):
    """Its agent's answer holds no candidate, and why."""

    error: str


RepairableFault = (
    NotBuilt
    | Incorrect
    | IncorrectTimed
    | IncorrectHeldOut
    | Impossible
    | ProtectedFiles
    | ProtectedLines
    | DeclinedBy
    | UnusableReply
    | Told
)


class NotMended(Kind, frozen=True):
    """Its agent left, or may not be asked any more, before it had mended `fault`."""

    fault: RepairableFault
    why: ExhaustionReason


CandidateFault = RepairableFault | NotMended
IsIncorrect = Incorrect | IncorrectTimed | IncorrectHeldOut


def outcome_of(fault: CandidateFault) -> Literal["failed", "rejected"]:
    """Return whether there was a candidate that could be judged."""
    return "failed" if isinstance(first(fault), NotBuilt | UnusableReply) else "rejected"


def first(fault: CandidateFault) -> RepairableFault:
    """Return the fault itself, also of one that was not mended."""
    return fault.fault if isinstance(fault, NotMended) else fault
