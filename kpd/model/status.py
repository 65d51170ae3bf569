"""Where a run stands: one class a status, each with the data that it alone has."""

from typing import Literal

from kpd.model.causes import RunCause
from kpd.model.kinds import Kind
from kpd.model.standing import Pause, Wait

RunOutcome = Literal["improved", "no_gain", "failed", "stopped", "infra"]


class Queued(Kind, frozen=True):
    """It is not bound to a device yet; `wait` says what none is free for."""

    wait: Wait | None = None


class Running(Kind, frozen=True):
    wait: Wait | None = None


class Paused(Kind, frozen=True):
    """`infra`: trouble that is nobody's fault has paused it. A step that a person lets end may wait meanwhile."""

    cause: Pause
    infra: bool = False
    wait: Wait | None = None


class Ended(Kind, frozen=True):
    """`at` is Unix time."""

    outcome: RunOutcome
    cause: RunCause
    at: float


RunStatus = Queued | Running | Paused | Ended
