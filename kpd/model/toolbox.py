"""Defines a version of a tool that an agent has built, as a frozen value."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

SHOWN_DIGITS = 12
"""Digits of a version's 64 that are shown."""
ToolState = Literal["built", "qualified", "quarantined", "retired"]
"""`built`: not checked yet. Only a `qualified` version is given to agents."""
ToolCheckName = Literal["files", "manifest", "skill", "self_test", "tests", "start", "inventory", "sample", "writes"]
OF_EVERY: frozenset[ToolCheckName] = frozenset({"files", "manifest", "writes"})
OF_SERVERS: frozenset[ToolCheckName] = frozenset({"self_test", "tests", "start", "inventory", "sample"})
"""The checks that every tool has to pass, and those of a tool with a server."""


@dataclass(frozen=True, slots=True)
class ToolCheck:
    """What one check found: `of` is what was checked, such as a tool of the server; `said` the error, or output."""

    name: ToolCheckName
    ok: bool
    seconds: float = 0.0
    of: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class ToolVersion:
    """A version of a tool: `built` at a Unix time for runs of `task`, in an iteration of `run` (empty: by a person).

    `checks` are the last ones, `inventory` the tools of its server. `stopped` is a person's decision, and `why` the
    reason; it holds whatever checks say, until the version is restored. `points` are the names that its words point
    at, of which some may be other tools.
    """

    tool: str
    version: str
    task: str
    built: float
    summary: str = ""
    server: bool = False
    skill: bool = False
    run: str = ""
    iteration: int = 0
    checks: tuple[ToolCheck, ...] = ()
    inventory: tuple[str, ...] = ()
    checked: float = 0.0
    stopped: Literal["", "quarantined", "retired"] = ""
    why: str = ""
    points: tuple[str, ...] = ()

    @property
    def state(self) -> ToolState:
        if self.stopped:
            return self.stopped
        if not self.checks:
            return "built"
        return "qualified" if self.passes(self.checks, self.inventory) else "quarantined"

    @property
    def ref(self) -> str:
        return f"{self.tool}@{self.version}"

    @property
    def shown(self) -> str:
        """The name of the version as people see it and may give it."""
        return self.ref[: len(self.tool) + 1 + SHOWN_DIGITS]

    def passes(self, checks: Iterable[ToolCheck], inventory: Iterable[str]) -> bool:
        """Return whether these are all the checks that the tool needs, and none has failed. No checks are no pass."""
        found = tuple(checks)
        needed = OF_EVERY | (OF_SERVERS if self.server else set()) | ({"skill"} if self.skill else set())
        whole = needed <= {one.name for one in found} and (not self.server or any(inventory))
        return (self.server or self.skill) and whole and all(one.ok for one in found)
