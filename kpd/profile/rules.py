"""A rule is one entry of a list: what it looks at, when it fires, what it has found and what to do about it."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kpd.model.profiles import Finding, Severity

ORDER: dict[Severity, int] = {"high": 0, "medium": 1, "low": 2}
MOST_NAMED = 3  # cases named in a message
ID = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Rule:
    """`when` sees the metrics named in `needs`, all of them finite; they are also the evidence.

    `finding` is a format string over them. `id` names the skill file, `skills/<id>.md`. `condition` tells people what
    `when` asks: comparisons that must all hold, with commas between them.
    """

    id: str
    severity: Severity
    needs: tuple[str, ...]
    when: Callable[[Mapping[str, float]], bool]
    finding: str
    action: str
    condition: str = ""

    @property
    def words(self) -> str:
        """The finding as it reads before there are numbers, each of which is "…"."""
        return re.sub(r"\{\w+(:[^}]*)?\}", "…", self.finding)

    def fire(self, metrics: Mapping[str, float]) -> Finding | None:
        """The finding, or None: also when a metric that the rule needs is missing, infinite or not a number."""
        evidence = {name: metrics[name] for name in self.needs if math.isfinite(metrics.get(name, math.nan))}
        if len(evidence) < len(self.needs) or not self.when(evidence):
            return None
        return Finding(self.id, self.severity, self.finding.format(**evidence), self.action, evidence)


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules for one kind of device, in the order in which equally severe findings are told.

    An entry point of the group `kpd.rules` leads to one. `skills` is the folder with their skill files.
    """

    device: Literal["cpu", "gpu"]
    rules: tuple[Rule, ...]
    skills: Path

    def check(self) -> None:
        """Raises ValueError for a rule that could not be told, or has no skill."""
        if self.device not in ("cpu", "gpu"):
            raise ValueError(f"its device is {self.device!r} instead of 'cpu' or 'gpu'")
        for rule in self.rules:
            if not ID.fullmatch(rule.id) or rule.severity not in ORDER:
                raise ValueError(f"{rule.id!r} ({rule.severity}): an id is like low_ipc, a severity {', '.join(ORDER)}")
            try:
                rule.finding.format(**dict.fromkeys(rule.needs, 1.0))
            except (LookupError, ValueError) as err:
                raise ValueError(f"the finding of {rule.id} is no format of {', '.join(rule.needs)}: {err!r}") from err
            if not (skill := self.skills / f"{rule.id}.md").is_file():
                raise ValueError(f"the rule {rule.id} has no skill: there is no {skill}")


def apply(rules: Iterable[Rule], metrics: Mapping[str, float]) -> tuple[Finding, ...]:
    """What fires, the severest first, otherwise in the order of the rules."""
    fired = [found for rule in rules if (found := rule.fire(metrics)) is not None]
    return tuple(sorted(fired, key=lambda finding: ORDER[finding.severity]))


def apply_cases(
    rules: Iterable[Rule], cases: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> tuple[Finding, ...]:
    """What fires in any case, each rule once, in the order of `apply`.

    The evidence is of the weightiest case among those where it fires; `weights` are the cases' times. Where it does not
    fire in all, the message says in which. A metric that is the same for all cases belongs to each one's.
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
