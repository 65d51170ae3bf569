"""Defines a session of a coding agent, as a frozen value."""

from dataclasses import dataclass
from typing import Literal

TurnEnd = Literal["done", "time", "money", "cut", "crash", "flood", "disk", "processes", "lost", "refused"]
"""How a turn ended: by itself (`done`, `refused`: the agent declined), at a limit of time, money, disk, processes or
output, because it was cut off (`cut`), because its process failed, or unseen (`lost`): the daemon ended
meanwhile."""


@dataclass(frozen=True, slots=True)
class AgentSession:
    """A session in brief, as its iteration has it: how its last turn ended, and all seconds so far.

    `refused` counts the wishes that were refused.
    """

    id: str
    own: str = ""
    agent: str = ""
    turns: int = 0
    end: TurnEnd | None = None
    seconds: float = 0.0
    claimed_us: float | None = None
    foreign: tuple[str, ...] = ()
    refused: int = 0
