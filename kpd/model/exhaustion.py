"""Defines why an agent has nothing more to propose."""

from typing import Literal

from kpd.model.kinds import Kind, Told


class AgentSays(Kind, frozen=True):
    """A reason in the agent's own words."""

    text: str


class Overspent(Kind, frozen=True):
    """A call to a model that could cost more than may still be spent; all amounts in US dollars."""

    scope: Literal["run", "day"]
    limit_usd: float
    spent_usd: float
    next_usd: float


ExhaustionReason = AgentSays | Overspent | Told
