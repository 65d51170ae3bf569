"""Defines what a check can see a kernel do wrong."""

import msgspec

from kpd.model.kinds import Kind


class WrongValue(Kind, frozen=True):
    """The worst element of an output.

    `multiple` is its error in tolerances, None where that is not finite. `wrong` of `compared` elements are wrong. It
    `cancels` when it is small beside the other elements, and all errors are small beside those.
    """

    output: str
    index: int
    got: str
    want: str
    multiple: float | None
    wrong: int
    compared: int
    cancels: bool = False


class Crashed(Kind, frozen=True):
    """An end by a signal; `said` is the last line that the kernel's process printed."""

    signal: int
    said: str = ""


class NoReturn(Kind, frozen=True):
    """A call that did not return in time; `said` tells how long that is, where it is known."""

    said: str = ""


class LeftProcess(Kind, frozen=True):
    """An end of the whole process where the kernel should have returned; `said` tells how, where it is known."""

    said: str = ""


class NotLoaded(Kind, frozen=True):
    """An object that cannot be loaded; `said` is the loader's message."""

    said: str


class TookTooLong(Kind, frozen=True):
    """A job, a check or a timing, that did not end within its limit."""

    job: str
    limit_s: float


class TookTooMuch(Kind, frozen=True):
    """A job, as above, that had more memory or threads than one may have: its processes together, in words."""

    job: str
    limit: str


class LeftThreads(Kind, frozen=True):
    count: int


class OtherCases(Kind, frozen=True):
    """A timing in which candidate and incumbent ran different cases."""

    cases: tuple[str, ...]


class BadAccess(Kind, frozen=True):
    """A report of `model.sanitizer.Tool`: its number of errors and first words; `tool` is empty in older logs."""

    said: str
    errors: int
    tool: str = ""


class ChangedCode(Kind, frozen=True):
    """Code of the measuring process that is not what was loaded, or a time that cannot be; `said` is the driver's."""

    said: str


class Complaint(Kind, frozen=True):
    """A complaint in the words of its source: kpd's driver, or the task's own benchmark."""

    text: str


class UnknownWord(Kind, frozen=True):
    """A text, or a number as JSON, by which the task's own benchmark judges its result, and that kpd does not know."""

    place: str
    said: str


class Unjudged(Kind, frozen=True):
    """A result of the task's own benchmark that does not say whether it is right."""

    command: str


Defect = (
    WrongValue
    | Crashed
    | NoReturn
    | LeftProcess
    | NotLoaded
    | TookTooLong
    | TookTooMuch
    | LeftThreads
    | OtherCases
    | BadAccess
    | ChangedCode
    | Complaint
    | UnknownWord
    | Unjudged
)


class WrongResult(msgspec.Struct, frozen=True):
    """What a kernel did wrong, and where: the case, the distribution of its inputs, the moment (empty: its check).

    `by_incumbent`: the incumbent did it, which shares a process with the candidate. `combinations` are all pairs of
    case and distribution for which values were wrong.
    """

    what: Defect
    case: str = ""
    distribution: str = ""
    moment: str = ""
    by_incumbent: bool = False
    combinations: tuple[str, ...] = ()
