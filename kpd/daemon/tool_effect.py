"""Compares the attempts that had a built tool with those on the same task that had not."""

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from kpd.model.run import Run

LEAST = 5
SURE = 0.05
DRAWS = 5000
"""Attempts on each side before anything is concluded, the most that chance may explain, and draws to find that out."""
WORST = float("-inf")
"""The gain of an attempt without one, because its candidate failed: worse than any."""


@dataclass(frozen=True, slots=True)
class AttemptGains:
    """Attempts in brief: how many there were, were accepted and measured, and the median gain in percent of those."""

    attempts: int
    accepted: int
    measured: int
    median_pct: float | None


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """The attempts with a tool and without it. They were no experiment: runs, baselines and kernels differ.

    `worse` is the share of chance at which those with it would rank so low, None where there are too few. `retire`: it
    is so small that the tool is suggested for retirement.
    """

    having: AttemptGains
    lacking: AttemptGains
    worse: float | None
    retire: bool


Place = tuple[str, int]
"""An iteration: its run and its number."""


def effect(runs: Iterable[Run], task: str, having: Collection[Place], any_version: Collection[Place]) -> ToolEffect:
    """Compare the attempts of sessions `having` a version with those without `any_version` of its tool."""
    sessions = [
        ((run.id, it.number), it.verdict.gain.pct if it.verdict is not None else WORST, it.outcome == "accepted")
        for run in runs
        if run.task == task
        for it in run.iterations
        if it.session is not None and it.outcome in ("accepted", "rejected", "failed")
    ]
    one = [(gain, good) for place, gain, good in sessions if place in having]
    other = [(gain, good) for place, gain, good in sessions if place not in any_version]
    gains, others = [gain for gain, _ in one], [gain for gain, _ in other]
    chance = ranks_lower(gains, others) if min(len(gains), len(others)) >= LEAST else None
    return ToolEffect(_brief(one), _brief(other), chance, chance is not None and chance < SURE)


def ranks_lower(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the chance that a random split of all values ranks the first part as low as `one` ranks, or lower.

    Equal values share their rank. The draws are the same for the same values.
    """
    whole = [*one, *other]
    below = {value: sum(each < value for each in whole) for value in set(whole)}
    ranks = [below[value] + whole.count(value) / 2 for value in whole]
    seen, draw = sum(ranks[: len(one)]), random.Random(len(whole))
    low = sum(sum(draw.sample(ranks, len(one))) <= seen for _ in range(DRAWS))
    return (low + 1) / (DRAWS + 1)


def _brief(found: Sequence[tuple[float, bool]]) -> AttemptGains:
    gains = [gain for gain, _ in found if gain != WORST]
    return AttemptGains(len(found), sum(good for _, good in found), len(gains), median(gains) if gains else None)
