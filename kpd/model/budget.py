"""Defines what a run may spend."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend. `patience` counts iterations in a row without an accepted one.

    `usd` is dollars for calls to models, `hours` the time since the run began, also while it waits, `gpu_hours` its
    share of the allocations that schedulers lend; 0 is no limit.
    """

    iterations: int = 6
    patience: int = 4
    min_gain_pct: float = 1.0
    stop_score: float | None = None
    fix_attempts: int = 8
    usd: float = 0.0
    hours: float = 0.0
    gpu_hours: float = 0.0
