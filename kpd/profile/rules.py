"""Defines rules: when a rule fires, what it finds, and what to do about it."""

import math
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from kpd.model.profiles import Finding, Severity
from kpd.profile.conditions import Condition

ORDER: dict[Severity, int] = {"high": 0, "medium": 1, "low": 2}
MOST_NAMED = 3  # cases named in a message
ID = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. `condition` is what the metrics must satisfy, as people write it (see `conditions`).

    `finding` is a format string over metrics. `id` names the skill file, `skills/<id>.md`.
    """

    id: str
    severity: Severity
    condition: str
    finding: str
    action: str

    @property
    def needs(self) -> tuple[str, ...]:
        """The metrics of the condition and of the finding; they are also the evidence. Raises ValueError."""
        return _needs(self.condition, self.finding)

    @property
    def words(self) -> str:
        """The finding with "…" in place of each number."""
        return re.sub(r"\{\w+(:[^}]*)?\}", "…", self.finding)

    def fire(self, metrics: Mapping[str, float]) -> Finding | None:
        """Return the finding, or None: also when a metric that the rule needs is missing, infinite or not a number."""
        evidence = {name: metrics[name] for name in self.needs if math.isfinite(metrics.get(name, math.nan))}
        if len(evidence) < len(self.needs) or not Condition.of(self.condition).holds(evidence):
            return None
        return Finding(self.id, self.severity, self.finding.format(**evidence), self.action, evidence)


@cache
def _needs(condition: str, finding: str) -> tuple[str, ...]:
    told = [name for _, name, _, _ in string.Formatter().parse(finding) if name]
    return tuple(dict.fromkeys([*Condition.of(condition).names, *told]))


@dataclass(frozen=True, slots=True)
class RuleList:
    """The rules for one kind of device; equally severe findings are shown in their order.

    An entry point of the group `kpd.rules` refers to one. `skills` is the folder with their skill files.
    """

    device: Literal["cpu", "gpu"]
    rules: tuple[Rule, ...]
    skills: Path

    @classmethod
    def read(cls, device: Literal["cpu", "gpu"], file: Path, skills: Path) -> "RuleList":
        """Read rules from a TOML file, one table [[rule]] each. Raises ValueError and OSError."""
        return cls(device, msgspec.toml.decode(file.read_bytes(), type=dict[str, tuple[Rule, ...]])["rule"], skills)

    def check(self) -> None:
        """Raise ValueError for a rule that is malformed, or has no skill."""
        if self.device not in ("cpu", "gpu"):
            raise ValueError(f"its device is {self.device!r} instead of 'cpu' or 'gpu'")
        for rule in self.rules:
            if not ID.fullmatch(rule.id) or rule.severity not in ORDER:
                raise ValueError(f"{rule.id!r} ({rule.severity}): an id is like low_ipc, a severity {', '.join(ORDER)}")
            try:
                ones = dict.fromkeys(rule.needs, 1.0)
                Condition.of(rule.condition).holds(ones)
                rule.finding.format(**ones)
            except (LookupError, TypeError, ValueError) as err:
                raise ValueError(f"the rule {rule.id} cannot be told: {err}") from err
            if not (skill := self.skills / f"{rule.id}.md").is_file():
                raise ValueError(f"the rule {rule.id} has no skill: there is no {skill}")


def apply(rules: Iterable[Rule], metrics: Mapping[str, float]) -> tuple[Finding, ...]:
    """Return the findings of the rules that fire: the severest first, otherwise in the order of the rules."""
    fired = [found for rule in rules if (found := rule.fire(metrics)) is not None]
    return tuple(sorted(fired, key=lambda finding: ORDER[finding.severity]))


def apply_cases(
    rules: Iterable[Rule], cases: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> tuple[Finding, ...]:
    """Return the findings of the rules that fire in any case, each rule once, in the order of `apply`.

    The evidence is that of the case with the greatest weight among those where it fires; `weights` are the cases'
    times. If it does not fire in all cases, the message says in which. A metric that is the same for all cases belongs
    to each one's.
    """
    kept = []
    for rule in rules:
        fired = {case: found for case, metrics in cases.items() if (found := rule.fire(metrics)) is not None}
        if fired:
            found = fired[max(fired, key=lambda case: weights.get(case, 0.0))]
            kept.append(replace(found, message=_where(list(fired), len(cases)) + found.message))
    return tuple(sorted(kept, key=lambda finding: ORDER[finding.severity]))


def _where(fired: list[str], of: int) -> str:
    if len(fired) == of:
        return ""
    more = f" and {len(fired) - MOST_NAMED} more" if len(fired) > MOST_NAMED else ""
    return f"in {len(fired)} of {of} cases ({', '.join(fired[:MOST_NAMED])}{more}): "
