"""Renders why something does not continue: waits, pauses, a held queue, an idle device."""

from kpd.model import notices as n, waits as s
from kpd.model.exhaustion import AgentSays, ExhaustionReason, Overspent
from kpd.model.kinds import Told
from kpd.text.numbers import moment


def wait(found: s.Wait | None) -> str:
    """Say what a run waits for; empty where it waits for nothing."""
    match found:
        case None:
            return ""
        case s.DeviceBusy():
            return f"{trouble(found.trouble)}; measured again in {found.again_s:g} s"
        case s.ForIncumbent():
            tried = f"{found.run}.{found.incumbent}, the incumbent, is tried in the candidate's place"
            return f"{tried}, as its {found.step} met trouble: {found.trouble.message}"
        case s.ForLease():
            return found.said
        case s.ForTurn():
            return f"{found.host}: {found.who} measures on it"
        case s.ForDevice():
            return "; ".join(_at_host(found.run, one) for one in found.hosts) or "there is no host"
        case s.ForTask(paused=True):
            return f"{found.run}, which is paused, has {found.task}: kpd resume {found.run}, or kpd stop {found.run}"
        case s.ForTask():
            return f"{found.run} works on {found.task}"
        case s.ForApproval():
            return approval(found.run, found.iteration)
        case s.ForPermission():
            name = f"{found.run}.{found.iteration}"
            numbered = f"{name} --question {found.request}"
            return f"{permission(found)}: kpd allow {numbered}, or kpd deny {numbered}"
        case s.ForReply():
            refused = f"; the last one cannot be used: {found.refused}" if found.refused else ""
            return f"for {found.path}, the answer to {found.prompt} beside it{refused}"
        case s.ForService():
            return f"{found.said}; asked again in {found.again_s:.0f} s"
        case s.Silent():
            return f"no part of the answer has come for {found.seconds:g} s: the model thinks, or the connection hangs"
        case s.ForSanitizer():
            return f"{found.run}.{found.iteration} has its last checks, before the run ends"
        case s.ForEdit():
            return "for an edit of the task folder"
        case s.ForAllocation():
            return _allocation(found)
        case s.HostTrouble():
            return trouble(found)
        case AgentSays() | Told():
            return found.text


def conflict(found: s.EditedDuring | Told | None) -> str:
    """Say which iteration was under way when the operator edited the kernel; empty without such an edit."""
    match found:
        case None:
            return ""
        case s.EditedDuring():
            return f"edited while iteration {found.iteration} was under way: measured next"
        case Told():
            return found.text


def pause(found: s.Pause | None) -> str:
    """Say why a run is paused; empty where it is not."""
    match found:
        case None:
            return ""
        case s.PausedBy():
            return f"paused by {found.by}"
        case s.HostTrouble():
            return f"infrastructure: {trouble(found)}"
        case s.IncumbentToo():
            whose = f"{found.run}.{found.incumbent}, the incumbent, has trouble too in the candidate's place"
            return f"infrastructure: {trouble(found.trouble)}; {whose}: {found.said}"
        case s.DiskTrouble():
            return f"infrastructure: {found.message}"
        case s.ServiceTrouble():
            return f"{found.message}; {found.remedy}"
        case Overspent():
            return overspent(found)
        case Told():
            return found.text


def hold(found: s.Hold | None) -> str:
    """Say why the queue is held, and what helps; empty where it is not held."""
    match found:
        case None:
            return ""
        case s.Unfinished():
            how = "was shut down" if found.ended == "cut" else "crashed or was killed"
            where = " and ".join(map(_left_at, found.runs))
            return f"the daemon {how} {where}: once resumed it goes on from there"
        case s.LogTrouble():
            return f"{found.message}; then resume"
        case s.OwnError(run=""):
            return f"kpd's own error: {found.error}; see the daemon's log, then resume"
        case s.OwnError():
            return f"kpd's own error in {found.run}: {found.error}; see the daemon's log, then resume or stop"
        case Told():
            return found.text


def idle_reason(found: n.IdleReason) -> str:
    """Say what keeps a device idle."""
    match found:
        case n.QueueIsHeld():
            return f"the queue is held: {hold(found.hold)}"
        case n.NotBegun():
            return f"{found.run} has not begun"
        case n.HasDevice():
            return f"{found.run} has it, and waits {wait(found.wait)}"
        case n.HostDown():
            return found.error
        case s.PausedBy() | s.IncumbentToo() | s.DiskTrouble() | s.ServiceTrouble() | Overspent():
            return pause(found)
        case _:
            return wait(found)


def approval(run: str, number: int) -> str:
    """Say that an iteration's candidate waits for a person, and how to let it go on."""
    name = f"{run}.{number}"
    return f"{name} needs your approval: kpd diff {name}, then kpd approve {name} or kpd decline {name}"


def permission(found: s.ForPermission) -> str:
    """Say what an agent asks an operator for, and what keeps the rules from allowing it."""
    return f"the agent of {found.run}.{found.iteration} asks to {found.tool}: {found.what} ({found.why})"


def trouble(found: s.HostTrouble) -> str:
    return f"{found.message}; {found.remedy}" if found.remedy else found.message


def _allocation(found: s.ForAllocation) -> str:
    reason = f" ({found.reason})" if found.reason else ""
    begins = "" if found.begins is None else f", which is expected to begin {moment(found.begins)}"
    after = f"; the last one ended: {found.after}" if found.after else ""
    return f"for job {found.job} of {found.host}{reason}{begins}{after}"


def exhausted(found: ExhaustionReason) -> str:
    """Say why an agent proposes no more."""
    return overspent(found) if isinstance(found, Overspent) else found.text


def overspent(found: Overspent) -> str:
    whose = "the run" if found.scope == "run" else "today"
    text = (
        f"${found.spent_usd:.2f} of the ${found.limit_usd:.2f} for {whose} are spent on models, "
        f"and the next call could cost ${found.next_usd:.2f}"
    )
    return text if found.scope == "run" else f"{text}; resume after midnight (UTC), or once max_usd_per_day is higher"


def _at_host(run: str, found: s.AtHost) -> str:
    match found.why:
        case "gone":
            said = "not in config.toml any more"
        case "down":
            said = found.said or "not connected yet"
        case "unfit":
            said = f"no {found.said}"
        case "taken":
            said = "busy with another run"
        case "moved":
            now = ", ".join(found.devices) or "no device"
            said = f"{run} began on {found.said}, and now there is {now}; stop it and queue it again"
    return f"{found.host}: {said}"


def _left_at(found: s.LeftAt) -> str:
    if found.queued:
        return f"before {found.run} began"
    if found.iteration is None:
        return f"in the phase {found.step} of {found.run}" if found.step else f"at the beginning of {found.run}"
    name = f"{found.run}.{found.iteration}"
    if found.behind:
        return f"after {name}"
    return f"in the step {found.step} of {name}" if found.step else f"before the first step of {name}"
