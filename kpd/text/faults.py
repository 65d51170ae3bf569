"""Renders what is wrong with a candidate."""

import json
import signal

from kpd.model import defects as d, faults as f
from kpd.model.kinds import Told
from kpd.text.numbers import counted
from kpd.text.waits import exhausted, trouble

CANCELS = (
    "this looks like cancellation, as the other elements are much larger: compare = "
    '"scaled" or "norm" in [check] measures errors against them'
)
SAY_RIGHT = 'let it print "ok": true once it has compared its results'


def fault(found: f.CandidateFault) -> str:
    """Describe a fault on one line, with its kind in front."""
    match found:
        case f.NotMended(fault=f.UnusableReply() as reply, why=why):
            return f"{fault(reply)}; not asked again: {exhausted(why)}"
        case f.NotMended():
            return f"{fault(found.fault)}; not mended: {exhausted(found.why)}"
        case f.NotBuilt(limit_s=None):
            return f"does not build: {found.error}"
        case f.NotBuilt():
            return f"does not build: the compiler did not finish within {found.limit_s:g} s"
        case f.Incorrect():
            return f"incorrect: {wrong(found.wrong)}"
        case f.IncorrectTimed():
            return f"incorrect while timed: {wrong(found.wrong)}"
        case f.IncorrectHeldOut():
            return f"incorrect on the held-out cases: {wrong(found.wrong)}"
        case f.Impossible():
            doubt = "; or [roofline] in task.toml asks for too much" if found.of_baseline else ""
            return f"impossible: {impossible(found)}{doubt}"
        case f.Implausible():
            found_out = f"{found.times:.0f} times as good in one step, and nothing compares its results"
            return f"implausible: {found_out}; more than {found.most:.0f} times is not believed without a check"
        case f.GainNotHeld():
            return f"not held: {not_held(found)}"
        case f.GainUnconfirmed():
            return f"not confirmed: {unconfirmed(found)}; in the cockpit, `try again` measures it once more"
        case f.ClockForged():
            clocks = f"its samples take {found.summed_ms:.3g} ms, and {found.wall_ms:.3g} ms by kpd's own clock"
            return f"clock: {clocks} (in {found.processes} of {found.of} processes)"
        case f.BreaksMeasurement():
            other = "there is no incumbent to try" if found.alone else "not with the incumbent"
            return (
                f"breaks its measurement: the step `{found.step}` failed again and again with this candidate, and "
                f"{other}: {trouble(found.trouble)}; in the cockpit, `try again` measures it once more"
            )
        case f.ProtectedFiles():
            return f"protected file: {', '.join(found.files)}"
        case f.ProtectedLines():
            return f"protected section: {found.error}"
        case f.DeclinedBy():
            return f"declined by {found.by}: {found.why}" if found.why else f"declined by {found.by}"
        case f.UnusableReply():
            return f"unusable reply: {found.error}"
        case Told():
            return found.text


def impossible(found: f.Impossible) -> str:
    """Say which case is too fast, and the time it needs at the least."""
    needs = (
        f"{found.bytes / 1e6:.4g} MB" if found.bytes else "",
        f"{found.flops / 1e6:.4g} million operations" if found.flops else "",
    )
    return (
        f"{found.case} in {found.us:.3g} us is faster than this machine can be: "
        f"it needs at least {found.least_us:.3g} us for {' and '.join(filter(None, needs))}"
    )


def not_held(found: f.GainNotHeld) -> str:
    """Say which audit did not find the gain, and what it found."""
    if found.audit == "kept":
        told = f"{found.pct:.1f} % of time (at least {found.high_pct:.1f} %)"
        return f"of the gain of at least {found.claimed_pct:+.1f} %, {told} is there only while inputs hardly change"
    if found.audit == "average":
        most = f"the gain of {found.claimed_pct:+.1f} % is that of most calls"
        return f"{most}; some take so much longer that all together gain at most {found.pct:+.1f} %"
    told = f"{found.pct:+.1f} % (at most {found.high_pct:+.1f} %)"
    return f"the gain of {found.claimed_pct:+.1f} % is not there {_WHERE[found.audit]}: {told}"


def unconfirmed(found: f.GainUnconfirmed) -> str:
    """Say which audit cannot tell whether the gain is there."""
    told = f"{found.pct:+.1f} % [{found.low_pct:+.1f}, {found.high_pct:+.1f}]"
    doubt = f"whether the gain of {found.claimed_pct:+.1f} % is there {_WHERE[found.audit]}"
    if found.taken is not None:
        taken = counted(found.taken, "audit")
        return f"{doubt} could not be told in {found.seconds:g} s, in which there was time for {taken}: {told}"
    return f"{doubt} cannot be told on this machine now: {told}"


_WHERE = {
    "fresh": "when every call has new inputs",
    "alone": "when each kernel is timed in processes without the other",
    "driver": "by the driver's own clock, when each kernel is timed in processes without the other",
    "clocked": "by the driver's own clock, when every call has new inputs",
}
"""Where the audits look for a gain."""


def wrong(found: d.WrongResult) -> str:
    """Say what a kernel did wrong, in which case, and the worst element where values are wrong."""
    where = ", ".join(part for part in (found.case, found.distribution) if part)
    whose = "the incumbent, sharing a process with the candidate, " if found.by_incumbent else ""
    moment = f" ({found.moment})" if found.moment else ""
    tried = found.combinations
    others = f"; wrong in {len(tried)} of the combinations tried: {', '.join(tried[:6])}" if len(tried) > 1 else ""
    return f"{where}{': ' if where else ''}{_misdeed(found.what, whose)}{moment}{others}"


def _misdeed(what: d.Defect, whose: str) -> str:
    match what:
        case d.WrongValue():
            far = "" if what.multiple is None else f", {what.multiple:.3g} times the tolerance"
            element = f"{what.output}[{what.index}] is {what.got}, should be {what.want}"
            hint = f"; {CANCELS}" if what.cancels else ""
            return f"{whose}{element}{far} ({what.wrong} of {what.compared} elements wrong){hint}"
        case d.Crashed():
            return f"{whose}crashed with {_signal(what.signal)}{f' ({what.said})' if what.said else ''}"
        case d.NoReturn():
            return f"{whose}did not return in time{f' ({what.said})' if what.said else ''}"
        case d.LeftProcess():
            return f"{whose}ended the process instead of returning{f' ({what.said})' if what.said else ''}"
        case d.NotLoaded():
            return f"the object cannot be loaded: {what.said}"
        case d.TookTooLong():
            return f"the {what.job} did not finish within {what.limit_s:g} s"
        case d.TookTooMuch():
            return f"the {what.job} took more than {what.limit}"
        case d.LeftThreads():
            return f"left {counted(what.count, 'thread')} running after its calls"
        case d.OtherCases():
            return f"candidate and incumbent were timed on different cases: {', '.join(what.cases)}"
        case d.BadAccess():
            tool = "another size" if what.tool == "overflow" else f"compute-sanitizer{what.tool and f' ({what.tool})'}"
            return f"{tool}: {what.said} ({what.errors} error{'s' * (what.errors > 1)})"
        case d.ChangedCode():
            return f"{whose}{what.said}"
        case d.Complaint():
            return f"{whose}{what.text}"
        case d.UnknownWord():
            said = json.dumps(what.said, ensure_ascii=False)
            unknown = f'its result says "{what.place}": {said}, and kpd does not know whether that is good'
            return f"{whose}{unknown}; if it is, write good = [{said}] in [check] of task.toml"
        case d.Unjudged():
            unknown = f"the result of `{what.command}` does not say whether it is right"
            remedy = (
                f"{SAY_RIGHT}, or name a command in [check]; if nothing can be compared, write unchecked = true there"
            )
            return f"{whose}{unknown}; {remedy}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
