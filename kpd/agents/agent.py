"""What the engine asks of an agent, and what it gets back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kpd.model.nouns import Expectation, Finding, Run, Steering
from kpd.workspace.task import Task


class Exhausted(Exception):
    """The agent has nothing left to propose; the run ends, and the message says why."""


class BadReply(Exception):
    """What the agent said cannot be used; it is asked once more, with this message as the reason."""


@dataclass(frozen=True, slots=True)
class Context:
    """All an agent may know. `incumbent` holds the editable files to start from; `failure` is set when its previous
    answer in this iteration could not be used, did not build or gave wrong results. `say` shows live output; `keep`
    puts an artefact (prompt.md, reply.md) into the iteration's folder."""

    task: Task
    run: Run
    number: int
    incumbent: dict[str, bytes]
    folder: Path
    say: Callable[[str], None]
    keep: Callable[[str, str | bytes], None]
    findings: tuple[Finding, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    memory: str = ""
    steering: tuple[Steering, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Candidate files by path, a line on why, and what the agent expects to see measured.

    Only editable files; what is left out stays the incumbent's.
    """

    files: dict[str, bytes]
    memo: str
    expected: Expectation | None = None
    point: dict[str, str] = field(default_factory=dict)


class Agent(Protocol):
    """`repairs` says whether a failed build or check is worth sending back to it."""

    repairs: bool

    async def propose(self, context: Context) -> Proposal:
        """The next candidate. Raises Exhausted or BadReply."""

    async def close(self) -> None:
        """Let go of whatever the agent holds (processes, connections)."""
