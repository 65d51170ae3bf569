"""Defines a glyph, a word and a style for everything that has an outcome: never colour alone."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from kpd.model.deployments import DeploymentCard
from kpd.model.hosts import Check, HostCard
from kpd.model.iteration import Iteration
from kpd.model.preparation import Phase
from kpd.model.profiles import Severity
from kpd.model.run import Run
from kpd.text import signs
from kpd.text.gains import brief
from kpd.text.signs import Sign


@dataclass(frozen=True, slots=True)
class Mark:
    glyph: str
    word: str
    style: str = ""


@cache
def _mark(sign: Sign) -> Mark:
    return Mark(sign.glyph, sign.word, f".{sign.tone}")


RUNNING = _mark(signs.RUNNING)
WAITING = _mark(signs.WAITING)
REVIEW = _mark(signs.REVIEW)
PAUSED = _mark(signs.PAUSED)
HELD = _mark(signs.HELD)
QUEUED = _mark(signs.QUEUED)
PREPARING = _mark(signs.PREPARING)
FAILED = _mark(signs.FAILED)
DONE = Mark("✓", "done", ".good")
NOT_YET = Mark("·", "not yet", ".muted")
UP = Mark("●", "up", ".good")
DOWN = Mark("○", "down", ".bad")
ASKED = Mark("◌", "asked for", ".warn")
UNALLOCATED = Mark("◌", "not allocated", ".muted")
_HOSTS = {"up": UP, "down": DOWN, "pending": ASKED, "released": UNALLOCATED}
NO_LINK = Mark("○", "no link", ".muted")
OFFERED = Mark("!", "new key", ".warn")
FREE = Mark("·", "free", ".muted")
TAKEN = Mark("■", "taken", ".warn")
FOREIGN = Mark("✗", "in use", ".bad")

_NEAR_MISS = _mark(signs.NEAR_MISS)
_SLOW_CASE = _mark(signs.SLOW_CASE)
_OUTCOMES = {outcome: _mark(sign) for outcome, sign in signs.OUTCOMES.items()}
_VERDICTS = {word: _mark(sign) for word, sign in signs.VERDICTS.items()}
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
    (_VERDICTS["faster"], "faster, but not confirmed, or not on the held-out cases"),
    (_SLOW_CASE, "faster, but slower in one case than the task allows"),
    (_VERDICTS["same"], "no difference that matters"),
    (_VERDICTS["slower"], "significantly slower"),
    (_VERDICTS["no_gain"], "a gain is ruled out, a loss is not"),
    (_VERDICTS["undecided"], "processes differ by more than the gain: layout and luck hide it"),
    (_mark(signs.INCORRECT), "wrong results, or it did not build or run"),
    (_OUTCOMES["baseline"], "the task as it came; everything is compared with it"),
    (_OUTCOMES["measured"], "the best candidate, measured against the baseline once more"),
    (Mark("★", "incumbent", ".good"), "the one to beat: its files are in the task folder"),
    (RUNNING, "under way"),
    (PREPARING, "the task of a project's kernel is made: it is checked, observed, and gets a harness"),
    (WAITING, "for a device, a host, the model service or a reply"),
    (REVIEW, "the candidate is built once you approve it"),
    (_OUTCOMES["held"], "it won, but holds what no kernel needs: accept or decline it"),
    (_mark(signs.DECLINED), "you declined it, although it won"),
    (PAUSED, "waits for you"),
    (_OUTCOMES["skipped"], "you skipped it"),
    (_OUTCOMES["interrupted"], "stopped before its end"),
    (_OUTCOMES["infra"], "the host failed; never the candidate's fault"),
    (UP, "there is a link to the host"),
    (DOWN, "no link to the host; Hosts says why, and what to do"),
    (ASKED, "the cluster's scheduler will lend the host later"),
    (UNALLOCATED, "the host is lent when a run needs it"),
    (OFFERED, "the host shows a key that nobody has trusted yet"),
    (TAKEN, "a device whose lease another kpd has"),
    (FOREIGN, "a GPU that a process of somebody else's computes on"),
    (_CHECKS["off"], "absent on the host, and nothing there needs it"),
)
COLUMNS = (
    ("speed-up", "of an iteration over its incumbent, of a run over its baseline"),
    ("then", "a score of its own contest, as measured then: compare speed-ups instead"),
)
"""Heads of columns, and what they mean."""


def of_iteration(iteration: Iteration, run: Run, held: bool = False, out_of_touch: bool = False) -> Mark:
    """Return the mark for an iteration's outcome, or for what it is doing, which is not known while `out_of_touch`."""
    unknown = out_of_touch and run.begun and iteration.outcome is None
    return NO_LINK if unknown else _mark(signs.of_iteration(iteration, run, held))


def gain_of(iteration: Iteration) -> str:
    """Return `3.1 % less time` when the iteration was judged against another one, else an empty text."""
    if iteration.verdict is None or iteration.outcome == "baseline" or iteration.measures_floor:
        return ""
    return brief(iteration.verdict.gain.pct)


def of_run(run: Run, held: bool = False, out_of_touch: bool = False) -> Mark:
    """Return the mark for a run's outcome, or for what it is doing; one that has begun is `held` while the queue is.

    What is under way is not known while the screen is `out_of_touch` with the daemon.
    """
    return NO_LINK if out_of_touch and (run.begun or run.at_phase is not None) else _mark(signs.of_run(run, held))


def of_phase(run: Run, phase: Phase | None, out_of_touch: bool = False) -> Mark:
    """Return the mark for a phase before a run's first iteration: done, failed, under way, or (None) to come."""
    if phase is None or (phase.result is None and run.over):
        return NOT_YET
    if phase.result is None:
        return NO_LINK if out_of_touch else RUNNING
    return DONE if phase.done else FAILED


def of_deployment(card: DeploymentCard) -> Mark:
    return _mark(signs.of_deployment(card))


def of_host(host: HostCard) -> Mark:
    return _HOSTS[host.standing]


def of_trouble(host: HostCard) -> Mark:
    """Return the mark for what keeps a host from being used: a failure, or a scheduler that lends it later."""
    return FAILED if host.standing in ("up", "down") else of_host(host)


def of_check(check: Check) -> Mark:
    return _CHECKS[check.state]


def of_notice(level: Literal["info", "warning", "error"]) -> Mark:
    return {"info": Mark("·", "info", ".muted"), "warning": Mark("!", "warning", ".warn"), "error": FAILED}[level]


def of_severity(severity: Severity) -> Mark:
    return _SEVERITIES[severity]
