"""Defines a comparison: runs of a task with built tools and without, in a random order, as a frozen value."""

from dataclasses import dataclass
from typing import Literal

from kpd.model.budget import Budget
from kpd.model.side import Side

ComparisonStop = Literal["operator", "settings", "agent", "tools"]
"""Why a comparison ended early: a person; settings of the agent, or of the review gate, were changed; the agent's
program is another version; a tool may not be given any more."""


@dataclass(frozen=True, slots=True)
class ToolComparison:
    """What its runs have in common, and their `order`, which was drawn with `seed` before the first of them began.

    `tools` (`name@version`) are what sessions of the side "tools" get; those of "plain" get none. `files` (path →
    sha256) are all files of the task that each run starts from, `settings` a digest of the agent's settings, and
    `host` the host that it was queued for. `stopped` says why it ended early; empty where it has not.
    """

    id: str
    task: str
    agent: str
    host: str
    budget: Budget
    order: tuple[Side, ...]
    tools: tuple[str, ...]
    seed: int
    queued: float
    files: dict[str, str]
    settings: str = ""
    stopped: ComparisonStop | Literal[""] = ""

    @property
    def trials(self) -> int:
        """The number of runs on each side."""
        return len(self.order) // 2
