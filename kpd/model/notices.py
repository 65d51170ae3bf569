"""Defines what a person should look at, one class per kind."""

from dataclasses import dataclass
from typing import Literal

from kpd.model.kinds import Kind, Told
from kpd.model.waits import Hold, Pause, Wait

Level = Literal["info", "warning", "error"]


class Said(Kind, frozen=True):
    """A line of the daemon's log, or an error that brings its own words."""

    text: str


class SettingsRead(Kind, frozen=True):
    """config.toml was read again."""

    changed: bool


class SettingsRefused(Kind, frozen=True):
    """config.toml cannot be used; the former settings stay in force."""

    error: str


class Finishing(Kind, frozen=True):
    """The daemon ends once these are done."""

    left: tuple[str, ...]


class EditsUnseen(Kind, frozen=True):
    """Files that people edit are not watched any more."""

    error: str


class NotifyFailed(Kind, frozen=True):
    """The operator's command for notifications: not begun (`error`), ended after `limit_s`, or with `code`."""

    command: str
    error: str = ""
    limit_s: float | None = None
    code: int | None = None


class ProtectedChanged(Kind, frozen=True):
    """Protected files of the task are not those that the run goes on with."""

    run: str
    task: str
    files: tuple[str, ...]


class OwnBaseline(Kind, frozen=True):
    """The run begins with files that are not those of `before`, with which the last one ended."""

    run: str
    before: str
    files: tuple[str, ...]


class EditUnreadable(Kind, frozen=True):
    task: str
    error: str


class NotWritten(Kind, frozen=True):
    """The incumbent, or without an iteration what the run came to, cannot be written."""

    run: str
    error: str
    iteration: int | None = None


class CallUnseen(Kind, frozen=True):
    """The daemon ended while the iteration asked a model; it counts with `most_usd` dollars, None where unknown."""

    run: str
    iteration: int
    model: str
    most_usd: float | None


# ── what stands still ─────────────────────────────────────────────────────────────────────────────────────────────


class QueueIsHeld(Kind, frozen=True):
    hold: Hold


class NotBegun(Kind, frozen=True):
    run: str


class HasDevice(Kind, frozen=True):
    """The run that has the device waits for something itself."""

    run: str
    wait: Wait


class HostDown(Kind, frozen=True):
    """What the host's card says."""

    error: str


IdleReason = QueueIsHeld | NotBegun | HasDevice | HostDown | Wait | Pause


class Idle(Kind, frozen=True):
    """A device on which nothing has been measured for so long, although `runs` could (see `DeviceIdle`)."""

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
    | NotWritten
    | CallUnseen
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
