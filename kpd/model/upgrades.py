"""Upgrades facts of older logs: one function per kind, from the old JSON body to the new one.

Where an older kpd wrote a sentence, that sentence stays as a value of kind `told`, which is shown and never parsed;
the data beside it stays. An upgrade is called only for a body that today's fact does not accept.
"""

from collections.abc import Callable
from typing import Any

Body = dict[str, Any]


def _told(text: str) -> Body:
    return {"kind": "told", "text": text}


def _reason(body: Body, name: str) -> Body:
    """Move the sentence `reason` into the value `name`."""
    rest = {key: value for key, value in body.items() if key != "reason"}
    return rest if name in body else {**rest, name: _told(body["reason"])}


def _ended(body: Body) -> Body:
    found = _reason(body, "cause")
    cause = found["cause"]
    return {**found, "cause": {**cause, "verdict": _verdict(cause["verdict"])}} if "verdict" in cause else found


def _held(body: Body) -> Body:
    return _reason(body, "hold")


def _waits(body: Body) -> Body:
    return _reason(body, "wait") if body.get("reason", "") else {"run": body["run"], "wait": None}


def _idle(body: Body) -> Body:
    return _reason(body, "keeps")


def _noticed(body: Body) -> Body:
    return {"level": body["level"], "about": _told(body["text"])}


def _edited(body: Body) -> Body:
    said = body["conflict"]
    return {**body, "conflict": _told(said) if said else None}


def _faulted(body: Body) -> Body:
    rest = {key: value for key, value in body.items() if key != "message"}
    return {**rest, "fault": _told(body["message"])}


def _explained(body: Body) -> Body:
    return {**body, "changes": [_told(text) for text in body["changes"]]}


def _accepted(body: Body) -> Body:
    reason = body["override"]
    return {**body, "override": {"by": body["by"], "reason": reason} if reason else None}


def _judged(body: Body) -> Body:
    return {**body, "verdict": _verdict(body["verdict"])}


def _screened(body: Body) -> Body:
    return {**body, "flags": [_told(flag) for flag in body["flags"]]}


def _verdict(found: Body) -> Body:
    """Upgrade a verdict: a sentence in place of its rule, and words that have other names now."""
    known = {key: value for key, value in found.items() if key != "reason"}
    if "reason" in found:
        known |= {"rule": "told", "told": found["reason"]}
    if known["word"] == "inconclusive":
        known["word"] = "no_gain" if known["rule"] == "no_gain" else "undecided"
    return {**known, "rule": {"noisy": "undecided"}.get(known["rule"], known["rule"])}


UPGRADES: dict[str, Callable[[Body], Body]] = {
    "accepted": _accepted,
    "device_idle": _idle,
    "explained": _explained,
    "faulted": _faulted,
    "iteration_ended": _ended,
    "judged": _judged,
    "noticed": _noticed,
    "operator_edited": _edited,
    "queue_held": _held,
    "run_ended": _ended,
    "run_paused": _ended,
    "run_waits": _waits,
    "screened": _screened,
}
