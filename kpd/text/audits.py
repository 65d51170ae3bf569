"""Renders what the audits before an acceptance found."""

from kpd.model.audits import AuditedGain, AuditSummary
from kpd.text.numbers import counted


def summary(found: AuditSummary) -> str:
    """Say on one line what the gain was in each audit, on how many calls, and what that took."""
    calls = f"{counted(found.calls, 'call')} of each kernel on fresh inputs, {found.compared} compared"
    kept = "" if found.kept is None else f" ({_gain(found.kept)} more while inputs hardly change)"
    clock = "" if found.driver is None else f" ({_gain(found.driver)} by the driver's clock)"
    alone = f"{_gain(found.alone)} one kernel at a time{clock}"
    seen = "" if found.clocked is None else f" ({_gain(found.clocked)} by the driver's clock)"
    told = f"{_gain(found.fresh)} over {calls}{kept}{seen}; {alone}; {_spent(found)}"
    if not found.unread:
        return told
    unread = f"{found.unread} of {counted(found.processes, 'process')}"
    return f"{told}; code in memory not compared in {unread}: it could not be read"


def _spent(found: AuditSummary) -> str:
    """Say how many audits there were, where that is known, and what they took by themselves and with all else."""
    many = "" if found.times is None else f"{counted(found.times, 'audit')}, "
    whole = "" if found.whole is None else f" of {found.whole:.1f} s from the end of the contest"
    return f"{many}{found.seconds:.1f} s{whole}"


def _gain(found: AuditedGain) -> str:
    return f"{found.pct:+.1f} % [{found.low:+.1f}, {found.high:+.1f}]"
