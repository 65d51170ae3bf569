"""Defines what agents are to their run, as a fact, so that a reader of the log needs no plug-ins."""

from dataclasses import dataclass

BASELINE, EDIT, AGAIN = "baseline", "operator", "again"
"""Who proposes the iterations that a run begins without its agents: the task as it came, a person's edit, an iteration
to be measured once more."""


@dataclass(frozen=True, slots=True)
class AgentTraits:
    """`models`: it asks a model, which costs money. `explores`: beside others it has no turns of its own, but searches
    the parameters that they were unsure of. `operators`: what it proposes is a person's or kpd's own. `waits`: it
    proposes nothing, its run measures a person's edits.
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
"""Those that no fact tells: of the iterations above, and of kpd's own agents in logs from before facts told any."""
NONE = AgentTraits()
