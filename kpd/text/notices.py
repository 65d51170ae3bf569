"""What a person should read, as a sentence."""

from kpd.model import events as e
from kpd.model.nouns import Notice
from kpd.model.standing import Idle, Stalled
from kpd.text.standing import keeps


def notice(found: Notice) -> str:
    match found.about:
        case Idle() as idle:
            return _idle(idle)
        case Stalled() as stalled:
            return _stalled(stalled)
    return found.text


def watched(fact: e.DeviceIdle | e.StepStalled) -> str:
    """What does not go on although it could."""
    return _idle(fact) if isinstance(fact, e.DeviceIdle) else _stalled(fact)


def _idle(found: Idle | e.DeviceIdle) -> str:
    where = f"{found.device} of {found.host}" if found.device else found.host
    lasted = f"for {_minutes(found.seconds)}, although {', '.join(found.runs)} could"
    return f"nothing has been measured on {where} {lasted}: {keeps(found.keeps)}"


def _stalled(found: Stalled | e.StepStalled) -> str:
    name = f"{found.run}.{found.iteration}"
    usual = "" if found.usual_s is None else f" (usually {_seconds(found.usual_s)})"
    return f"{name} has been at {found.step} for {_minutes(found.seconds)}{usual}; kpd skip gives it up"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _seconds(seconds: float) -> str:
    return _minutes(seconds) if seconds >= 90 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
