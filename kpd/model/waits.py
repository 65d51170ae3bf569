"""Defines why something does not continue: what a run waits for, why it is paused, why the queue is held."""

from typing import Literal

import msgspec

from kpd.model.exhaustion import AgentSays, Overspent
from kpd.model.kinds import Kind, Told

# ── waits ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class HostTrouble(Kind, frozen=True):
    """A host's error: `trouble` is its kind (see `hosts.errors`), the rest is in that error's words."""

    trouble: str
    message: str
    remedy: str = ""


class DeviceBusy(Kind, frozen=True):
    """Others use the device too much to measure on it, which is tried again in so many seconds."""

    trouble: HostTrouble
    again_s: float


class ForLease(Kind, frozen=True):
    """Another kpd has the device, in the words of its host and of its lock."""

    said: str


class ForTurn(Kind, frozen=True):
    """Another run, or a person's job, measures on the device of the host."""

    host: str
    who: str


class AtHost(msgspec.Struct, frozen=True):
    """Why a run cannot begin on a host. `said` is what the host's card says, or the device that is wanted.

    `moved`: the device that the run began on is `said`, and those there now are `devices`.
    """

    host: str
    why: Literal["gone", "down", "unfit", "taken", "moved"]
    said: str = ""
    devices: tuple[str, ...] = ()


class ForDevice(Kind, frozen=True):
    """No host has a device for the run now; no `hosts`: there is none at all."""

    run: str
    hosts: tuple[AtHost, ...] = ()


class ForTask(Kind, frozen=True):
    """Another run works on the task."""

    run: str
    task: str


class ForApproval(Kind, frozen=True):
    run: str
    iteration: int


class ForReply(Kind, frozen=True):
    """Somebody is to write the file `path`, the answer to `prompt` beside it; `refused` says why the last is no use."""

    path: str
    prompt: str
    refused: str = ""


class ForService(Kind, frozen=True):
    """What the model service said, or that nothing could be reached; asked again in so many seconds."""

    said: str
    again_s: float


class Silent(Kind, frozen=True):
    """Nothing of an answer has come for so many seconds."""

    seconds: float


class ForEdit(Kind, frozen=True):
    """The run's operator is to edit the task folder."""


Wait = (
    HostTrouble
    | DeviceBusy
    | ForLease
    | ForTurn
    | ForDevice
    | ForTask
    | ForApproval
    | ForReply
    | ForService
    | Silent
    | ForEdit
    | AgentSays
    | Told
)


class EditedDuring(Kind, frozen=True):
    """The operator edited the kernel while that iteration was under way: the edit is measured next."""

    iteration: int


# ── pauses ────────────────────────────────────────────────────────────────────────────────────────────────────────


class PausedBy(Kind, frozen=True):
    by: str


class DiskTrouble(Kind, frozen=True):
    """What the system said of a file."""

    message: str


class ServiceTrouble(Kind, frozen=True):
    """The model service will not answer until a person does something."""

    message: str
    remedy: str


Pause = PausedBy | HostTrouble | DiskTrouble | ServiceTrouble | Overspent | Told

# ── a held queue ──────────────────────────────────────────────────────────────────────────────────────────────────


class LeftAt(msgspec.Struct, frozen=True):
    """Where a daemon left a run. `behind`: between that iteration and the next; no iteration: before the first."""

    run: str
    queued: bool = False
    iteration: int | None = None
    step: str | None = None
    behind: bool = False


class Unfinished(Kind, frozen=True):
    """The daemon before this one ended in the middle of these runs."""

    ended: Literal["crashed", "cut"]
    runs: tuple[LeftAt, ...]


class LogTrouble(Kind, frozen=True):
    """The event log cannot be written; the message is the store's."""

    message: str


class OwnError(Kind, frozen=True):
    """An error of kpd's own, in a run or outside of all (empty)."""

    error: str
    run: str = ""


Hold = Unfinished | LogTrouble | OwnError | Told
