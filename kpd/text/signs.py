"""Defines the sign, word and tone of each outcome: the same in the terminal UI and on the command line."""

from dataclasses import dataclass, replace
from typing import Literal

from kpd.model.causes import Flagged
from kpd.model.deployments import DeploymentCard, DeployState
from kpd.model.faults import BreaksMeasurement, IsIncorrect, NotMended
from kpd.model.iteration import Iteration
from kpd.model.lanes import wait_of
from kpd.model.run import Run
from kpd.model.status import Ended, Outcome, Queued, RunOutcome
from kpd.model.verdicts import VerdictWord

Tone = Literal["strong", "good", "warn", "bad", "accent", "muted"]


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign and its word; `tone` becomes a colour where there are colours."""

    glyph: str
    word: str
    tone: Tone


RUNNING = Sign("…", "running", "accent")
WAITING = Sign("◔", "waiting", "warn")
REVIEW = Sign("◔", "your review", "warn")
PAUSED = Sign("‖", "paused", "warn")
HELD = Sign("‖", "held", "warn")
QUEUED = Sign("○", "queued", "muted")
PREPARING = Sign("…", "preparing", "accent")
FAILED = Sign("✗", "failed", "bad")
INCORRECT = Sign("✗", "incorrect", "bad")
REJECTED = Sign("✗", "rejected", "bad")
NEAR_MISS = Sign("△", "near miss", "warn")
SLOW_CASE = Sign("▽", "slow case", "warn")
FLAGGED = Sign("✗", "flagged", "bad")
DECLINED = Sign("✗", "declined", "bad")
FLOOR = Sign("◇", "noise floor", "muted")
APPROVED = Sign("⚑", "approved", "muted")
BY_HAND = Sign("▲", "by hand", "good")
PROVISIONAL = Sign("▲", "provisional", "warn")

OUTCOMES: dict[Outcome, Sign] = {
    "baseline": Sign("◆", "baseline", "strong"),
    "accepted": Sign("▲", "accepted", "good"),
    "rejected": REJECTED,
    "failed": FAILED,
    "skipped": Sign("»", "skipped", "muted"),
    "interrupted": Sign("■", "interrupted", "warn"),
    "infra": Sign("!", "host trouble", "warn"),
    "measured": Sign("◇", "measured", "strong"),
    "held": Sign("⚑", "flagged", "warn"),
}
VERDICTS: dict[VerdictWord, Sign] = {
    "faster": Sign("△", "not enough", "warn"),
    "slower": Sign("▼", "slower", "bad"),
    "same": Sign("≈", "same", "muted"),
    "no_gain": Sign("≈", "no gain", "muted"),
    "undecided": Sign("?", "undecided", "warn"),
}
RUN_OUTCOMES: dict[RunOutcome, Sign] = {
    "improved": Sign("▲", "improved", "good"),
    "no_gain": Sign("≈", "no gain", "muted"),
    "failed": FAILED,
    "stopped": Sign("■", "stopped", "warn"),
    "infra": Sign("!", "host trouble", "warn"),
}

DEPLOYMENTS: dict[DeployState, Sign] = {
    "open": RUNNING,
    "deployed": Sign("▲", "deployed", "good"),
    "gated": VERDICTS["no_gain"],
    "refused": Sign("✗", "refused", "warn"),
    "rolled_back": Sign("■", "rolled back", "warn"),
    "failed": FAILED,
}
CUT = Sign("!", "cut off", "warn")


def of_deployment(card: DeploymentCard) -> Sign:
    """Return the sign of where a deployment stands."""
    if card.cut:
        return CUT
    if card.waits:
        return REVIEW
    return DEPLOYMENTS["rolled_back" if card.deployment.withdrawn else card.deployment.state]


def of_iteration(it: Iteration, run: Run | None = None, held: bool = False) -> Sign:
    """Return the sign of an iteration's outcome, or of what it is doing; `held`: the queue is."""
    if it.outcome is None:
        sign = HELD if held else RUNNING if run is None else of_run(run)
        if run is None or run.devices == 1 or sign not in (RUNNING, WAITING):
            return sign
        return WAITING if wait_of(run, it) else RUNNING
    if it.measures_floor and it.outcome == "measured":
        return FLOOR
    if it.override:
        return BY_HAND
    if it.outcome == "accepted" and it.provisional:
        return PROVISIONAL
    if it.outcome == "held":
        return {"declined": DECLINED, "approved": APPROVED}.get(it.hold, OUTCOMES["held"])
    if it.outcome == "rejected" and isinstance(it.cause, Flagged):
        return FLAGGED
    if it.outcome != "rejected":
        return OUTCOMES[it.outcome]
    if _is_incorrect(it):  # it may have a verdict: the last checks look at accepted ones
        return INCORRECT
    if it.verdict is None or isinstance(it.cause, BreaksMeasurement):
        return REJECTED
    if it.verdict.rule == "worst_case":
        return SLOW_CASE
    return NEAR_MISS if it.verdict.near_miss else VERDICTS[it.verdict.word]


def of_run(run: Run, held: bool = False) -> Sign:
    """Return the sign of a run's outcome, or of what it is doing; one that has begun is held while the queue is."""
    if isinstance(run.status, Ended):
        return RUN_OUTCOMES[run.status.outcome]
    if run.at_phase is not None:
        return PREPARING
    if isinstance(run.status, Queued):
        # In a queue it is normal to wait.
        return replace(WAITING, tone=QUEUED.tone) if run.waiting else QUEUED
    if held:
        return HELD
    if run.paused:
        return PAUSED
    if any(it.review == "waits" for it in run.open):
        return REVIEW
    return WAITING if run.waiting else RUNNING


def _is_incorrect(it: Iteration) -> bool:
    return isinstance(it.cause.fault if isinstance(it.cause, NotMended) else it.cause, IsIncorrect)
