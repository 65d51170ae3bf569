"""Defines what a person should look at, one class per kind."""

from dataclasses import dataclass
from typing import Literal

from kpd.model.causes import RunCause
from kpd.model.deployments import DeploymentCard
from kpd.model.faults import CandidateFault
from kpd.model.hosts import DeviceKind
from kpd.model.kinds import Kind, Told
from kpd.model.verdicts import Speedup
from kpd.model.waits import Hold, Pause, Wait

Level = Literal["info", "warning", "error"]


class Said(Kind, frozen=True):
    """A line of the daemon's log, or an error that comes with its own message."""

    text: str


class SettingsRead(Kind, frozen=True):
    """A new reading of config.toml."""

    changed: bool


class SettingsRefused(Kind, frozen=True):
    """A config.toml that cannot be used; the former settings stay in force."""

    error: str


class Finishing(Kind, frozen=True):
    """An announced end of the daemon, once the work named in `left` is done."""

    left: tuple[str, ...]


class EditsUnseen(Kind, frozen=True):
    """A failure to watch the files that people edit: edits are not noticed any more."""

    error: str


class NotifyFailed(Kind, frozen=True):
    """A failure of the operator's command for notifications.

    It could not be started (`error`), did not end within `limit_s` seconds, or exited with `code`.
    """

    command: str
    error: str = ""
    limit_s: float | None = None
    code: int | None = None


class ProtectedChanged(Kind, frozen=True):
    """Protected files of the task that differ from those that the run goes on with."""

    run: str
    task: str
    files: tuple[str, ...]


class OwnBaseline(Kind, frozen=True):
    """A run that begins with other files than `before`, the last run, ended with."""

    run: str
    before: str
    files: tuple[str, ...]


class EditUnreadable(Kind, frozen=True):
    task: str
    error: str


class BuiltAgain(Kind, frozen=True):
    """A file on a host that was not what was built for iteration `of` (None: what measures it) when it was needed.

    kpd built it again; nobody knows who changed it.
    """

    run: str
    path: str
    host: str
    of: int | None = None


class NotMeasuredAgain(Kind, frozen=True):
    """An ended run that could not measure what it was asked for once more; it keeps the end that it had."""

    run: str
    cause: RunCause


class NotWritten(Kind, frozen=True):
    """Files that cannot be written: those of an incumbent, or, without an iteration, the result of the run."""

    run: str
    error: str
    iteration: int | None = None


class DoesNotHold(Kind, frozen=True):
    """An accepted iteration whose number a contest against the baseline does not bear out.

    `before` is the number until then, `measured` the contest's; None where there is none. `instead` is the iteration
    that became the incumbent in its place.
    """

    run: str
    iteration: int
    measured: Speedup | None = None
    before: Speedup | None = None
    instead: int | None = None


class Unsound(Kind, frozen=True):
    """An accepted iteration in which its last checks found a fault.

    `instead` is the iteration that became the incumbent in its place; None where it was not, or a person had chosen it.
    """

    run: str
    iteration: int
    fault: CandidateFault
    instead: int | None = None


class Unlooked(Kind, frozen=True):
    """An accepted iteration whose last checks could not run, as its host or the disk had trouble."""

    run: str
    iteration: int
    error: str


class NewBaseline(Kind, frozen=True):
    """A run that goes on with a device of another kind, and its incumbent so far, if that was not the baseline."""

    run: str
    before: DeviceKind
    now: DeviceKind
    incumbent: int | None = None


class NoSanitizer(Kind, frozen=True):
    """A run of a CUDA task whose host has no compute-sanitizer that answers: nothing looks at its winners."""

    run: str
    host: str


class BaselineCost(Kind, frozen=True):
    """What the baseline of a task with its own benchmark will take: at most `runs` runs of `seconds` each."""

    run: str
    seconds: float
    runs: int


class CasesUnread(Kind, frozen=True):
    """Entries of a result's cases that have no name or no time, which the verdict therefore does not see."""

    run: str
    cases: tuple[str, ...]


class NotOptimised(Kind, frozen=True):
    """A run whose baseline the compiler does not optimise: its `flags` have no `-O`, and kpd adds none."""

    run: str
    flags: str


class CallUnseen(Kind, frozen=True):
    """A call to a model during which the daemon ended; it counts with `most_usd` dollars, None where unknown."""

    run: str
    iteration: int
    model: str
    most_usd: float | None


class InProduction(Kind, frozen=True):
    """A deployment that waits for a person, was cut off, or may have left its program changed."""

    card: DeploymentCard


class Unguarded(Kind, frozen=True):
    """A change of a project's files that nobody on its host would have restored, until kpd looked; see `purpose`."""

    project: str
    host: str
    purpose: str


class NotDeployed(Kind, frozen=True):
    """A run whose winner could not be brought into `project`: nothing was begun. `error` says why."""

    run: str
    project: str
    error: str


# ── idle and stalled ──────────────────────────────────────────────────────────────────────────────────────────────


class QueueIsHeld(Kind, frozen=True):
    hold: Hold


class NotBegun(Kind, frozen=True):
    run: str


class HasDevice(Kind, frozen=True):
    """A run that has the device and itself waits for something."""

    run: str
    wait: Wait


class HostDown(Kind, frozen=True):
    """A host that is down, in the words of its card."""

    error: str


IdleReason = QueueIsHeld | NotBegun | HasDevice | HostDown | Wait | Pause


class Idle(Kind, frozen=True):
    """A device on which nothing has been measured for `seconds`, although `runs` could (see `DeviceIdle`)."""

    host: str
    device: str
    seconds: float
    runs: tuple[str, ...]
    keeps: IdleReason


class Stalled(Kind, frozen=True):
    """A step that takes far longer than usual (see `StepStalled`)."""

    run: str
    iteration: int
    step: str
    seconds: float
    usual_s: float | None = None


Subject = (
    Said
    | SettingsRead
    | SettingsRefused
    | Finishing
    | EditsUnseen
    | NotifyFailed
    | ProtectedChanged
    | OwnBaseline
    | EditUnreadable
    | BuiltAgain
    | NotMeasuredAgain
    | NotWritten
    | BaselineCost
    | CasesUnread
    | NotOptimised
    | CallUnseen
    | DoesNotHold
    | Unsound
    | Unlooked
    | NewBaseline
    | NoSanitizer
    | InProduction
    | Unguarded
    | NotDeployed
    | Idle
    | Stalled
    | Told
)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should read, since the Unix time `at`."""

    at: float
    level: Level
    about: Subject
