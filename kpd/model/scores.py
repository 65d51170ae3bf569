"""Interprets a task's scores: their unit, and how much better one is than another."""

from typing import Literal

Direction = Literal["lower", "higher"]
"""Which scores are better."""


def unit(score: str = "us") -> str:
    """Return the unit of a task's scores; `score` is the name on its card."""
    return "µs" if score == "us" else score


def reached(score: float, stop: float, direction: Direction) -> bool:
    """Return whether `score` is as good as `stop`, or better."""
    return score <= stop if direction == "lower" else score >= stop


def speedup(old: float | None, new: float | None, direction: Direction = "lower") -> float | None:
    """Compute how many times as good `new` is as `old`: above 1 is better. None where a score is missing or 0."""
    if not old or not new:
        return None
    return new / old if direction == "higher" else old / new
