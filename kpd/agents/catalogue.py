"""The agents by name. A new one is one module and one line here."""

from collections.abc import Callable

from kpd.agents.agent import Agent
from kpd.agents.operator import AsTheyAre
from kpd.agents.recorded import Recorded
from kpd.agents.sweep import Sweep
from kpd.workspace.config import Config

AGENTS: dict[str, Callable[[Config], Agent]] = {
    "sweep": lambda config: Sweep(),
    "operator": lambda config: AsTheyAre(),
    "recorded": Recorded,
    "baseline": lambda config: AsTheyAre(),
}
CHOICES = ("sweep", "operator", "recorded")
"""What a run may name. `operator` proposes nothing by itself: the run waits for edits of the task folder.

`recorded` proposes what the host's recording holds.
"""
