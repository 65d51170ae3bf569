"""Defines the traits of agents. A fact records them, so that a reader of the log needs no plug-ins."""

from dataclasses import dataclass

BASELINE, EDIT, AGAIN = "baseline", "operator", "again"
"""Names of those who propose the iterations that no agent of the run proposes: the task as it came, a person's edit,
an iteration to be measured once more."""


@dataclass(frozen=True, slots=True)
class AgentTraits:
    """What kpd needs to know of an agent.

    `models`: it asks a model, which costs money. `explores`: in a run with other agents it takes no turns of its own,
    but searches the parameters that they were unsure of. `operators`: what it proposes comes from a person or from kpd
    itself. `waits`: it proposes nothing; its run measures a person's edits.
    """

    models: bool = False
    explores: bool = False
    operators: bool = False
    waits: bool = False


KNOWN = {
    BASELINE: AgentTraits(operators=True),
    EDIT: AgentTraits(operators=True, waits=True),
    AGAIN: AgentTraits(operators=True),
    "claude": AgentTraits(models=True),
    "sweep": AgentTraits(explores=True),
}
"""Traits that no fact records: of the names above, and of kpd's own agents in logs older than such facts."""
NONE = AgentTraits()
