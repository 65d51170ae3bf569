"""Defines why something does not continue: what a run waits for, why it is paused, why the queue is held."""

from typing import Literal

import msgspec

from kpd.model.exhaustion import AgentSays, Overspent
from kpd.model.kinds import Kind, Told

# ── waits ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class HostTrouble(Kind, frozen=True):
    """An error of a host: `trouble` is its kind (see `hosts.errors`), the other fields are that error's own words."""

    trouble: str
    message: str
    remedy: str = ""


class ForAllocation(Kind, frozen=True):
    """An allocation of a cluster's scheduler, by its id: `reason` and the Unix time `begins` are the scheduler's own.

    `after` says how the last one ended, in the scheduler's word; empty where there was none.
    """

    host: str
    job: str
    reason: str = ""
    begins: float | None = None
    after: str = ""


class DeviceBusy(Kind, frozen=True):
    """A device that others use too much to measure on it; kpd tries again after `again_s` seconds."""

    trouble: HostTrouble
    again_s: float


class ForIncumbent(Kind, frozen=True):
    """A try of `step` with the incumbent in the candidate's place, after `trouble` that the candidate may provoke."""

    run: str
    incumbent: int
    step: str
    trouble: HostTrouble


class ForLease(Kind, frozen=True):
    """A device whose lease another kpd has, in the words of the host and of the lock."""

    said: str


class ForTurn(Kind, frozen=True):
    """A device on which another run, or a person's job, is measuring."""

    host: str
    who: str


class AtHost(msgspec.Struct, frozen=True):
    """Why a run cannot begin on a host. `said` is the error on the host's card, or the device that is wanted.

    `moved`: the device that the run began on is `said`, and those there now are `devices`. `stuck`: the host is down,
    and time alone will hardly mend it.
    """

    host: str
    why: Literal["gone", "down", "unfit", "taken", "moved"]
    said: str = ""
    devices: tuple[str, ...] = ()
    stuck: bool = False


class ForDevice(Kind, frozen=True):
    """A device: no host has one for the run now. Without `hosts`, there is no host at all."""

    run: str
    hosts: tuple[AtHost, ...] = ()

    @property
    def in_vain(self) -> bool:
        """Whether no host will ever take the run, unless a person changes something."""
        return all(one.stuck or one.why in ("gone", "unfit", "moved") for one in self.hosts)


class ForTask(Kind, frozen=True):
    """A task that another run works on, or has kept while it is `paused`."""

    run: str
    task: str
    paused: bool = False


class ForApproval(Kind, frozen=True):
    run: str
    iteration: int


class ForPermission(Kind, frozen=True):
    """An operator's answer to what a coding agent asks for; see `session.Question`."""

    run: str
    iteration: int
    tool: str
    what: str
    why: str
    request: int = 0


class ForReply(Kind, frozen=True):
    """The file `path`, which somebody is to write: the answer to `prompt` beside it.

    `refused` says why the last answer cannot be used.
    """

    path: str
    prompt: str
    refused: str = ""


class ForService(Kind, frozen=True):
    """A model service: `said` is its answer, or that it could not be reached. It is asked again in `again_s` s."""

    said: str
    again_s: float


class Silent(Kind, frozen=True):
    """An answer of which nothing has come for `seconds`."""

    seconds: float


class ForSanitizer(Kind, frozen=True):
    """The last checks of an accepted iteration, before the run may end."""

    run: str
    iteration: int


class ForEdit(Kind, frozen=True):
    """An edit of the task folder by the run's operator."""


Wait = (
    HostTrouble
    | ForAllocation
    | DeviceBusy
    | ForIncumbent
    | ForLease
    | ForTurn
    | ForDevice
    | ForTask
    | ForApproval
    | ForPermission
    | ForReply
    | ForService
    | Silent
    | ForSanitizer
    | ForEdit
    | AgentSays
    | Told
)


class EditedDuring(Kind, frozen=True):
    """An edit of the kernel while an iteration was under way: the edit is measured next."""

    iteration: int


# ── pauses ────────────────────────────────────────────────────────────────────────────────────────────────────────


class PausedBy(Kind, frozen=True):
    by: str


class IncumbentToo(Kind, frozen=True):
    """Trouble in a step that came with the incumbent in the candidate's place, too; `said` is what it met there."""

    trouble: HostTrouble
    run: str
    incumbent: int
    said: str


class DiskTrouble(Kind, frozen=True):
    """An error with a file, in the words of the system."""

    message: str


class ServiceTrouble(Kind, frozen=True):
    """A model service that will not answer until a person does something."""

    message: str
    remedy: str


Pause = PausedBy | HostTrouble | IncumbentToo | DiskTrouble | ServiceTrouble | Overspent | Told

# ── a held queue ──────────────────────────────────────────────────────────────────────────────────────────────────


class LeftAt(msgspec.Struct, frozen=True):
    """The place where a daemon left a run.

    `behind`: between that iteration and the next. Without an iteration: before the first, or in the phase `step`.
    """

    run: str
    queued: bool = False
    iteration: int | None = None
    step: str | None = None
    behind: bool = False


class Unfinished(Kind, frozen=True):
    """The runs in the middle of which the previous daemon ended."""

    ended: Literal["crashed", "cut"]
    runs: tuple[LeftAt, ...]


class LogTrouble(Kind, frozen=True):
    """An event log that cannot be written; the message is the store's."""

    message: str


class OwnError(Kind, frozen=True):
    """An error of kpd's own, in a run or (empty) outside all runs."""

    error: str
    run: str = ""


Hold = Unfinished | LogTrouble | OwnError | Told
