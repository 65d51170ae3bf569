"""Defines a glyph, a word and a style for everything that has an outcome: never colour alone."""

from dataclasses import dataclass, replace
from typing import Literal

from kpd.model.faults import IsIncorrect, NotMended
from kpd.model.hosts import Check, HostCard
from kpd.model.iteration import Iteration
from kpd.model.profiles import Severity
from kpd.model.run import Run
from kpd.model.status import Ended, Queued
from tui.format.numbers import change


@dataclass(frozen=True, slots=True)
class Mark:
    glyph: str
    word: str
    style: str = ""


RUNNING = Mark("…", "running", ".accent")
WAITING = Mark("◔", "waiting", ".warn")
REVIEW = Mark("◔", "your review", ".warn")
PAUSED = Mark("‖", "paused", ".warn")
HELD = Mark("‖", "held", ".warn")
DONE = Mark("✓", "done", ".good")
FAILED = Mark("✗", "failed", ".bad")
NOT_YET = Mark("·", "not yet", ".muted")
QUEUED = Mark("○", "queued", ".muted")
UP = Mark("●", "up", ".good")
DOWN = Mark("○", "down", ".bad")
OFFERED = Mark("!", "new key", ".warn")
FREE = Mark("·", "free", ".muted")
TAKEN = Mark("■", "taken", ".warn")
FOREIGN = Mark("✗", "in use", ".bad")

_OUTCOMES = {
    "baseline": Mark("◆", "baseline", ".strong"),
    "accepted": Mark("▲", "accepted", ".good"),
    "failed": FAILED,
    "skipped": Mark("»", "skipped", ".muted"),
    "interrupted": Mark("■", "interrupted", ".warn"),
    "infra": Mark("!", "host trouble", ".warn"),
}
_NEAR_MISS = Mark("△", "near miss", ".warn")
_VERDICTS = {
    "faster": Mark("△", "not enough", ".warn"),
    "slower": Mark("▼", "slower", ".bad"),
    "same": Mark("≈", "same", ".muted"),
    "no_gain": Mark("≈", "no gain", ".muted"),
    "undecided": Mark("?", "undecided", ".warn"),
}
_SEVERITIES: dict[Severity, Mark] = {
    "high": Mark("‼", "high", ".bad"),
    "medium": Mark("!", "medium", ".warn"),
    "low": Mark("·", "low", ".muted"),
}
_CHECKS = {
    "ok": Mark("✓", "ok", ".good"),
    "bad": Mark("✗", "bad", ".bad"),
    "off": Mark("–", "off", ".muted"),
}

LEGEND: tuple[tuple[Mark, str], ...] = (
    (_OUTCOMES["accepted"], "significantly faster, and by enough: the new incumbent"),
    (_NEAR_MISS, "faster beyond doubt, but by less than min_gain_pct"),
    (_VERDICTS["faster"], "faster, but not confirmed, or slower in a case that counts"),
    (_VERDICTS["same"], "no difference that matters"),
    (_VERDICTS["slower"], "significantly slower"),
    (_VERDICTS["no_gain"], "a gain is ruled out, a loss is not"),
    (_VERDICTS["undecided"], "processes differ by more than the gain: layout and luck hide it"),
    (Mark("✗", "incorrect", ".bad"), "wrong results, or it did not build or run"),
    (_OUTCOMES["baseline"], "the task as it came; everything is compared with it"),
    (RUNNING, "under way"),
    (WAITING, "for a device, a host, the model service or a reply"),
    (REVIEW, "the candidate is built once you approve it"),
    (PAUSED, "waits for you"),
    (_OUTCOMES["skipped"], "you skipped it"),
    (_OUTCOMES["interrupted"], "stopped before its end"),
    (_OUTCOMES["infra"], "the host failed; never the candidate's fault"),
    (UP, "there is a link to the host"),
    (DOWN, "no link to the host; Hosts says why, and what to do"),
    (OFFERED, "the host shows a key that nobody has trusted yet"),
    (TAKEN, "a device whose lease another kpd has"),
    (FOREIGN, "a GPU that a process of somebody else's computes on"),
    (_CHECKS["off"], "absent on the host, and nothing there needs it"),
)


def of_iteration(iteration: Iteration, run: Run, held: bool = False) -> Mark:
    """Return the mark for an iteration's outcome, or for what it is doing."""
    if iteration.outcome is None:
        if held:
            return HELD
        return of_run(run)
    if iteration.override:
        return Mark("▲", "by hand", ".good")
    if iteration.outcome != "rejected":
        return _OUTCOMES[iteration.outcome]
    if iteration.verdict is None:
        word = "incorrect" if _is_incorrect(iteration) else "rejected"
        return Mark("✗", word, ".bad")
    return _NEAR_MISS if iteration.verdict.near_miss else _VERDICTS[iteration.verdict.word]


def _is_incorrect(iteration: Iteration) -> bool:
    cause = iteration.cause
    return isinstance(cause.fault if isinstance(cause, NotMended) else cause, IsIncorrect)


def gain_of(iteration: Iteration) -> str:
    """Return `+3.1 %` when the iteration was judged against another one, else an empty text."""
    if iteration.verdict is None or iteration.outcome == "baseline":
        return ""
    return change(iteration.verdict.gain.pct)


def of_run(run: Run, held: bool = False) -> Mark:
    """Return the mark for a run's outcome, or for what it is doing; one that has begun is `held` while the queue is."""
    if isinstance(run.status, Ended):
        match run.status.outcome:
            case "improved":
                return Mark("▲", "improved", ".good")
            case "no_gain":
                return Mark("≈", "no gain", ".muted")
            case "stopped":
                return Mark("■", "stopped", ".warn")
            case "infra":
                return Mark("!", "host trouble", ".warn")
            case _:
                return Mark("✗", "failed", ".bad")
    if isinstance(run.status, Queued):
        # In a queue it is normal to wait.
        return replace(WAITING, style=QUEUED.style) if run.waiting else QUEUED
    if held:
        return HELD
    if run.paused:
        return PAUSED
    if run.current is not None and run.current.review == "waits":
        return REVIEW
    return WAITING if run.waiting else RUNNING


def of_host(host: HostCard) -> Mark:
    return UP if host.link == "up" else DOWN


def of_check(check: Check) -> Mark:
    return _CHECKS[check.state]


def of_notice(level: Literal["info", "warning", "error"]) -> Mark:
    return {"info": Mark("·", "info", ".muted"), "warning": Mark("!", "warning", ".warn"), "error": FAILED}[level]


def of_severity(severity: Severity) -> Mark:
    return _SEVERITIES[severity]
