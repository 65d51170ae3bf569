"""Defines the place of a run in a comparison."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["plain", "tools"]
"""Whether the sessions of a run get no built tools, or those that are compared."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """The place of a run in comparison `of`: the `number` in its order, counted from 1, and what its sessions get."""

    of: str
    number: int
    side: Side
    tools: tuple[str, ...] = ()


def in_blocks(trials: int) -> tuple[tuple[Side, ...], ...]:
    """Return the orders with all runs of a side before those of the other, which no comparison may have."""
    plain: list[Side] = ["plain"] * trials
    tools: list[Side] = ["tools"] * trials
    return (*plain, *tools), (*tools, *plain)
