"""The agents by name. A new one is one module and one line here."""

from collections.abc import Callable

from kpd.agents.agent import Agent
from kpd.agents.operator import AsTheyAre
from kpd.agents.sweep import Sweep

AGENTS: dict[str, Callable[[], Agent]] = {
    "sweep": Sweep,
    "operator": AsTheyAre,
    "baseline": AsTheyAre,
}
CHOICES = ("sweep", "operator")
"""What a run may name. `operator` proposes nothing by itself: the run waits for edits of the task folder."""
