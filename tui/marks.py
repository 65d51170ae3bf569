"""A glyph, a word and a style for everything that has an outcome: colour never stands alone."""

from dataclasses import dataclass
from typing import Literal

from kpd.model.nouns import HostCard, Iteration, Run, Severity
from tui.numbers import change


@dataclass(frozen=True, slots=True)
class Mark:
    glyph: str
    word: str
    style: str = ""


RUNNING = Mark("…", "running", ".accent")
PAUSED = Mark("‖", "paused", ".warn")
HELD = Mark("‖", "held", ".warn")
DONE = Mark("✓", "done", ".good")
FAILED = Mark("✗", "failed", ".bad")
NOT_YET = Mark("·", "not yet", ".muted")

_OUTCOMES = {
    "baseline": Mark("◆", "baseline", ".strong"),
    "accepted": Mark("▲", "accepted", ".good"),
    "failed": FAILED,
    "skipped": Mark("»", "skipped", ".muted"),
    "interrupted": Mark("■", "interrupted", ".warn"),
    "infra": Mark("!", "host trouble", ".warn"),
}
_VERDICTS = {
    "faster": Mark("△", "not enough", ".warn"),
    "slower": Mark("▼", "slower", ".bad"),
    "same": Mark("≈", "same", ".muted"),
    "inconclusive": Mark("?", "inconclusive", ".warn"),
}
_SEVERITIES: dict[Severity, Mark] = {
    "high": Mark("‼", "high", ".bad"),
    "medium": Mark("!", "medium", ".warn"),
    "low": Mark("·", "low", ".muted"),
}

LEGEND: tuple[tuple[Mark, str], ...] = (
    (_OUTCOMES["accepted"], "faster beyond doubt, and by enough: the new incumbent"),
    (_VERDICTS["faster"], "faster, but by less than min_gain_pct or not confirmed"),
    (_VERDICTS["same"], "no difference that matters"),
    (_VERDICTS["slower"], "slower beyond doubt"),
    (_VERDICTS["inconclusive"], "the samples do not say, even after more of them"),
    (Mark("✗", "incorrect", ".bad"), "wrong results, or it did not build or run"),
    (_OUTCOMES["baseline"], "the task as it came; everything is compared with it"),
    (RUNNING, "under way"),
    (PAUSED, "waits for you"),
    (_OUTCOMES["skipped"], "you skipped it"),
    (_OUTCOMES["interrupted"], "stopped before its end"),
    (_OUTCOMES["infra"], "the host failed; never the candidate's fault"),
)


def of_iteration(iteration: Iteration, run: Run, held: bool = False) -> Mark:
    """What became of an iteration, or what it is doing."""
    if iteration.outcome is None:
        if held:
            return HELD
        return PAUSED if run.status == "paused" else RUNNING
    if iteration.override:
        return Mark("▲", "by hand", ".good")
    if iteration.outcome != "rejected":
        return _OUTCOMES[iteration.outcome]
    if iteration.verdict is None:
        word = "incorrect" if iteration.reason.startswith("incorrect") else "rejected"
        return Mark("✗", word, ".bad")
    return _VERDICTS[iteration.verdict.word]


def gain_of(iteration: Iteration) -> str:
    """`+3.1 %` when the iteration was judged against another one, else nothing."""
    if iteration.verdict is None or iteration.outcome == "baseline":
        return ""
    return change(iteration.verdict.gain.pct)


def of_run(run: Run, held: bool = False) -> Mark:
    if run.status == "ended":
        match run.outcome:
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
    if held:
        return HELD
    match run.status:
        case "running":
            return RUNNING
        case "paused":
            return PAUSED
        case _:
            return Mark("○", "queued", ".muted")


def of_host(host: HostCard) -> Mark:
    return Mark("●", "up", ".good") if host.link == "up" else Mark("○", "down", ".bad")


def of_notice(level: Literal["info", "warning", "error"]) -> Mark:
    return {"info": Mark("·", "info", ".muted"), "warning": Mark("!", "warning", ".warn"), "error": FAILED}[level]


def of_severity(severity: Severity) -> Mark:
    return _SEVERITIES[severity]
