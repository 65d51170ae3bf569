"""Defines a session of a coding agent, as a frozen value."""

from dataclasses import dataclass
from typing import Literal

TurnEnd = Literal[
    "done", "time", "money", "stopped", "cut", "crash", "flood", "disk", "memory", "processes", "lost", "refused"
]
"""How a turn ended: by itself (`done`, `refused`: the agent declined), at a limit of time, money, disk, memory,
processes or output, because an operator cut it (`stopped`), with its step (`cut`), because its process failed, or
unseen (`lost`): the daemon ended meanwhile."""

AGENT, THOUGHT, TOOL, TOOL_DONE, TOOL_FAILED, EDIT = "agent", "thinks", "tool", "✓", "✗", "edit"
KPD, OPERATOR = "kpd", "you"
"""The channels of a session's conversation: who speaks, or what a line is about."""
COST = "cost"
"""Stands in the log in place of a channel, where an entry says how many dollars more the agent has cost."""


@dataclass(frozen=True, slots=True)
class Question:
    """A wish of an agent that no rule answers, until an operator does; it is refused at the Unix time `until`.

    `tool` is the kind of action, `what` describes it, `paths` are the files that it names, and `why` says what keeps
    the rules from allowing it.
    """

    request: int
    tool: str
    what: str
    paths: tuple[str, ...]
    why: str
    until: float

    @property
    def about(self) -> str:
        return self.what or ", ".join(self.paths)


@dataclass(frozen=True, slots=True)
class AgentSession:
    """A session in brief, as its iteration has it: how its last turn ended, and all seconds so far.

    `refused` counts the wishes that were refused, `asks` are those that wait for an operator. `cutting`: an operator
    has cut the turn under way. `builds`: the turn under way is one on a tool, after the iteration; `toolsmith`: that
    work has begun, and has not ended. `online`: it shares this machine's network; else `unreached` are the addresses
    outside of its hosts that it wanted to reach. `judges` are files that judge the candidate, and that it asked to
    change: it was refused.
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
    asks: tuple[Question, ...] = ()
    cutting: bool = False
    builds: bool = False
    toolsmith: bool = False
    online: bool = False
    unreached: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()

    @property
    def at_work(self) -> bool:
        """Whether a prompt was sent whose turn has not ended."""
        return self.turns > 0 and self.end is None
