"""Represents runs, iterations and facts as JSON for scripts: the data, and its sentence beside it."""

from dataclasses import replace
from typing import Any

from kpd.model import codec, events as e
from kpd.model.deployments import DeploymentCard
from kpd.model.detail import Detail
from kpd.model.flags import Flag
from kpd.model.headline import Headline, headline
from kpd.model.iteration import Iteration
from kpd.model.notices import Notice
from kpd.model.run import Run
from kpd.model.status import Done, Ended, Paused, Stepping
from kpd.model.verdicts import Verdict
from kpd.text import comparisons, preparing, signs
from kpd.text.audits import summary as audited
from kpd.text.changes import change
from kpd.text.checks import sizes
from kpd.text.deployments import headline as in_production
from kpd.text.endings import iteration_ended, of_iteration, of_run, override, run_ended
from kpd.text.faults import fault
from kpd.text.flags import flag
from kpd.text.headlines import base, headline as told_headline, unconfirmed
from kpd.text.notices import notice, told
from kpd.text.sanitizer import provisional, reports
from kpd.text.trials import tried
from kpd.text.verdicts import verdict
from kpd.text.waits import conflict, hold, idle_reason, pause, wait

Json = dict[str, Any]
_LEFT_OUT = {"iterations", "files", "folder", "pending_edit"}


def run(found: Run) -> Json:
    """Return a run in brief, with its current, best and baseline iteration, and the `open` ones, the oldest first.

    `count` is the number of its iterations, `counted` of those that use up its budget. `headline` is how many times as
    fast the best iteration is as the baseline. `reason` says why it ended or is paused, `waits` what it waits for,
    `edited` which iteration was under way when the operator edited the kernel, `prepares` which phase before its first
    iteration it is at, `prepared` what these have come to so far: all in words. `held` are the winners
    that wait for a person. `name` is its place in a comparison, in words. The files of its folders are left out.
    """
    body = codec.jsonable(replace(found, iterations=()))
    kept = {name: value for name, value in body.items() if name not in _LEFT_OUT}
    named = {"current": found.current, "best": found.best, "baseline": found.baseline}
    its = {name: None if it is None else iteration(it) for name, it in named.items()}
    kept |= _status(found)
    kept |= {"headline": headlined(headline(found)), "sign": codec.jsonable(signs.of_run(found))}
    kept |= {"open": [iteration(it) for it in found.open]}
    kept |= {"name": "" if found.compared is None else comparisons.name(found.compared)}
    words: Json = {"reason": of_run(found), "waits": wait(found.waiting), "edited": conflict(found.conflict)}
    words |= {"prepares": preparing.now(found), "prepared": list(preparing.lines(found))}
    kept |= {"held": [iteration(it) for it in found.held]}
    return {**kept, **words, "count": len(found.iterations), "counted": len(found.counted), **its}


def _status(found: Run) -> Json:
    """Return the status as a word, and the data of every status beside it.

    `pause` and `cause` say why the run is paused or ended. A field that its status does not have is None or False.
    """
    body: Json = dict.fromkeys(("pause", "outcome", "cause", "ended")) | {"infra": False}
    match found.status:
        case Paused(cause=cause, infra=infra):
            body |= {"pause": codec.jsonable(cause), "infra": infra}
        case Ended(outcome=outcome, cause=cause, at=at):
            body |= {"outcome": outcome, "cause": codec.jsonable(cause), "ended": at}
    return {**body, "status": found.status.name, "waiting": codec.jsonable(found.waiting)}


def iteration(found: Iteration) -> Json:
    """Return an iteration with `reason`, why it ended, in words, and its `sign`; an `override` has its `text`, too.

    `sanitizer` says what the last checks saw of it, or why it is provisional, in words.
    """
    body = codec.jsonable(found) | _stands(found)
    body["sign"] = codec.jsonable(signs.of_iteration(found))
    body["flags"] = _flags(found.flags)
    body["sanitizer"] = provisional(found) or reports(found.sanitized)
    if found.override is not None:
        body["override"]["text"] = override(found.override)
    if found.verdict is not None:
        body["verdict"] = judged(found.verdict)
    return {**body, "reason": of_iteration(found)}


def headlined(found: Headline | None) -> Json | None:
    """Return a headline with its `text`, `over` what it is; `how` and `cause` say where it comes from."""
    if found is None:
        return None
    return {**codec.jsonable(found), "text": told_headline(found), "over": base(found), "reason": unconfirmed(found)}


def _stands(found: Iteration) -> Json:
    """Return the data of its status as fields of the iteration, empty where its status has none."""
    body: Json = {"step": None, "use": "", "attempt": 1, "step_started": 0.0}
    body |= {"outcome": None, "cause": None, "ended": None, "exhausted": False}
    match found.status:
        case Stepping(step=step, since=since, use=use, attempt=attempt):
            body |= {"step": step, "step_started": since, "use": use, "attempt": attempt}
        case Done(outcome=outcome, cause=cause, at=at, exhausted=exhausted):
            body |= {"outcome": outcome, "cause": codec.jsonable(cause), "ended": at, "exhausted": exhausted}
    return body


def event(found: e.Event) -> Json:
    """Return an event as it is in the log; its `body` also has `reason`, or the `message` of a fault, in words."""
    return {"seq": found.seq, "at": found.at, "kind": found.fact.kind(), "body": _told(found.fact)}


def _told(fact: e.Fact) -> Json:
    body: Json = codec.jsonable(fact)
    match fact:
        case e.IterationEnded():
            return {**body, "reason": iteration_ended(fact.cause)}
        case e.RunEnded():
            return {**body, "reason": run_ended(fact.cause)}
        case e.RunPaused():
            return {**body, "reason": pause(fact.cause)}
        case e.RunWaits():
            return {**body, "reason": wait(fact.wait)}
        case e.QueueHeld():
            return {**body, "reason": hold(fact.hold)}
        case e.DeviceIdle():
            return {**body, "reason": idle_reason(fact.keeps)}
        case e.Faulted():
            return {**body, "message": fault(fact.fault)}
        case e.Tried():
            return {**body, "text": tried(fact)}
        case e.Screened():
            return {**body, "flags": _flags(fact.flags)}
        case e.Judged():
            return {**body, "verdict": judged(fact.verdict), "flags": _flags(fact.flags), **_audited(fact)}
        case e.Noticed():
            return {**body, "text": told(fact.about)}
        case e.DeploymentSeen():
            return {**body, "card": deployment(fact.card)}
        case e.PhaseEnded():
            return {**body, "text": preparing.came_to(fact.phase, fact.result)}
        case e.Sanitized():
            return {**body, "text": reports(fact.reports), "message": "" if fact.fault is None else fault(fact.fault)}
        case e.Explained():
            return {**body, "changes": _changes(fact)}
    return body


def found(steps: Detail) -> Json:
    """Return what an iteration's steps found. A fault has its `message` in words, a change and a trial their `text`."""
    body = codec.jsonable(steps)
    if steps.checked is not None:
        body["checked"]["sizes"] = sizes(steps.checked)
    if steps.judged is not None:
        body["judged"] |= _audited(steps.judged)
    if steps.explained is not None:
        body["explained"]["changes"] = _changes(steps.explained)
    faults = [{**told, "message": fault(one.fault)} for told, one in zip(body["faults"], steps.faults, strict=True)]
    trials = [{**told, "text": tried(one)} for told, one in zip(body["trials"], steps.trials, strict=True)]
    return {**body, "faults": faults, "trials": trials}


def _flags(found: tuple[Flag, ...]) -> list[Json]:
    return [{**codec.jsonable(one), "text": flag(one)} for one in found]


def _audited(fact: e.Judged) -> Json:
    """Return the audits of a gain with their `text`, if there were any."""
    return {} if fact.audited is None else {"audited": {**codec.jsonable(fact.audited), "text": audited(fact.audited)}}


def _changes(fact: e.Explained) -> list[Json]:
    return [{**codec.jsonable(one), "text": change(one)} for one in fact.changes]


def judged(found: Verdict) -> Json:
    """Return a verdict with `reason`: why the candidate was accepted or not, in words."""
    return {**codec.jsonable(found), "reason": verdict(found)}


def noticed(found: Notice) -> Json:
    """Return a notice with `text`: the same in words, never empty."""
    return {**codec.jsonable(found), "text": notice(found)}


def deployment(found: DeploymentCard) -> Json:
    """Return a deployment of a project with its `sign` and `text`: where it stands, in words; `waits`: for a person."""
    told = {"sign": codec.jsonable(signs.of_deployment(found)), "text": in_production(found)}
    return {**codec.jsonable(found), **told, "waits": found.waits}
