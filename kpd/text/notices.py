"""Renders notices."""

from kpd.model import events as e, notices as n
from kpd.model.kinds import Told
from kpd.text.deployments import headline
from kpd.text.devices import device_kind
from kpd.text.endings import run_ended
from kpd.text.faults import fault
from kpd.text.foreign import plain
from kpd.text.gains import speedup
from kpd.text.numbers import counted
from kpd.text.waits import idle_reason

MOST_NAMES = 3
"""The most names of cases that a notice lists."""


def notice(found: n.Notice) -> str:
    return told(found.about)


def told(found: n.Subject) -> str:
    """Say on one line what a notice is about; never empty."""
    match found:
        case n.Idle():
            return _idle(found)
        case n.Stalled():
            return _stalled(found)
        case n.SettingsRead(changed=True):
            return "config.toml was read again: for the next run, agents' next iteration, and hosts that no run is on"
        case n.SettingsRead():
            return "config.toml was read again: nothing in it has changed"
        case n.SettingsRefused():
            return f"{found.error}; the former settings stay in force"
        case n.Finishing():
            return f"the daemon ends after {' and '.join(found.left)}; kpd shutdown --now ends it at once"
        case n.EditsUnseen():
            return f"edits are not seen any more: {found.error}"
        case n.NotifyFailed():
            return f"[notify] command {found.command!r} {_failed(found)}"
        case n.ProtectedChanged():
            goes_on = f"{found.run} goes on as it began, a new run measures a new baseline"
            return f"{found.task}: {', '.join(found.files)} changed; {goes_on}"
        case n.OwnBaseline():
            other = f"{found.before}, with which the last run ended, has another {', '.join(found.files)}"
            return f"{found.run} takes your edit as its baseline: {other}; kpd rollback {found.before} brings it back"
        case n.EditUnreadable():
            return f"an edit of {found.task} cannot be read: {found.error}"
        case n.BuiltAgain():
            what = "what measures the candidates" if found.of is None else f"{found.run}.{found.of}"
            who = "find out who writes there: a candidate can where nothing confines jobs"
            return f"{found.host}: {found.path}, built for {what}, was changed, and is built again; {who}"
        case n.NotMeasuredAgain():
            return (
                f"{found.run} has ended as before, and could not measure what was asked for: {run_ended(found.cause)}"
            )
        case n.NotWritten(iteration=None):
            return f"the result of {found.run} cannot be written: {found.error}"
        case n.NotWritten():
            return f"{found.run}.{found.iteration} is the incumbent but not written: {found.error}"
        case n.BaselineCost():
            most = _seconds(found.runs * found.seconds)
            return f"{found.run}: the baseline takes up to {found.runs} runs of {found.seconds:.1f} s, {most} in all"
        case n.CasesUnread():
            more = ["…"] if len(found.cases) > MOST_NAMES else []
            names = ", ".join([*(plain(name, 40) for name in found.cases[:MOST_NAMES]), *more])
            keys = "[bench] cases in task.toml names the keys"
            cases = counted(len(found.cases), "case")
            return f"{found.run}: its result has {cases} without a name or a time ({names}); {keys}"
        case n.NotOptimised():
            return f"{found.run}: its speed-ups are over a baseline with {not_optimised(found.flags)}"
        case n.CallUnseen():
            usd = found.most_usd
            most = "" if usd is None else f", and counts with the most that it could cost, ${usd:.2f}"
            return f"{found.run}.{found.iteration} was asking {found.model} when the daemon ended{most}"
        case n.DoesNotHold():
            return _unheld(found)
        case n.Unsound():
            instead = "" if found.instead is None else f"; {found.run}.{found.instead} is the incumbent instead"
            return f"{found.run}.{found.iteration} was accepted, but does not hold: {fault(found.fault)}{instead}"
        case n.Unlooked():
            name = f"{found.run}.{found.iteration}"
            return f"the last checks of {name} could not run, and are tried again before the run ends: {found.error}"
        case n.NewBaseline():
            anew = f", and {found.run}.{found.incumbent} is measured against that"
            best = anew if found.incumbent is not None else ""
            changed = f"{found.run} goes on with {device_kind(found.now)}, no longer with {device_kind(found.before)}"
            return f"{changed}: it begins a new baseline{best}; times of the two are never compared"
        case n.NoSanitizer():
            missing = f"{found.run}: no compute-sanitizer answers on {found.host}, so nothing looks at its winners"
            return f"{missing}; install it beside nvcc, or write sanitizer = false into [check] of task.toml"
        case n.InProduction():
            return plain(headline(found.card), 400)
        case n.Unguarded():
            what = f"{found.host} was to restore {found.project}, and nothing there did any more, as after a restart"
            return f"{what} ({plain(found.purpose, 200)}); it does again: kpd project status {found.project}"
        case n.NotDeployed():
            again = f"kpd project deploy {found.project} {found.run} tries again"
            return f"{found.run} is not deployed: {plain(found.error, 300)}; {again}"
        case n.Said() | Told():
            return found.text


def not_optimised(flags: str) -> str:
    """Say that the compiler does not optimise with these flags, and how to make it."""
    given = f"kpd adds none to {flags!r}" if flags else "kpd adds none"
    remedy = 'write {"flags": "-O2"} into build.json, or flags into [build] of task.toml'
    return f"no -O flag: {given}, so the compiler does not optimise (-O0); {remedy}"


def _unheld(found: n.DoesNotHold) -> str:
    name = f"{found.run}.{found.iteration}"
    now = "does not hold" if found.measured is None else f"is {speedup(found.measured)}"
    before = "" if found.before is None else f", not {speedup(found.before)}"
    instead = "" if found.instead is None else f"; {found.run}.{found.instead} is the incumbent instead"
    return f"measured against the baseline once more, {name} {now}{before}{instead}"


def watchdog_notice(fact: e.DeviceIdle | e.StepStalled) -> str:
    """Say what does not go on although it could."""
    return _idle(fact) if isinstance(fact, e.DeviceIdle) else _stalled(fact)


def _idle(found: n.Idle | e.DeviceIdle) -> str:
    where = f"{found.device} of {found.host}" if found.device else found.host
    lasted = f"for {_minutes(found.seconds)}, although {', '.join(found.runs)} could"
    return f"nothing has been measured on {where} {lasted}: {idle_reason(found.keeps)}"


def _stalled(found: n.Stalled | e.StepStalled) -> str:
    name = f"{found.run}.{found.iteration}"
    usual = "" if found.usual_s is None else f" (usually {_seconds(found.usual_s)})"
    return f"{name} has been at {found.step} for {_minutes(found.seconds)}{usual}; kpd skip gives it up"


def _failed(found: n.NotifyFailed) -> str:
    if found.limit_s is not None:
        return f"took more than {found.limit_s:g} s and was ended"
    return f"cannot be run: {found.error}" if found.code is None else f"exited {found.code}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _seconds(seconds: float) -> str:
    return _minutes(seconds) if seconds >= 90 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
