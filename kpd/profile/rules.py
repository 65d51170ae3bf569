"""A rule is one entry of a list: what it looks at, when it fires, what it has found and what to do about it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kpd.model.nouns import Finding, Severity

ORDER: dict[Severity, int] = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True, slots=True)
class Rule:
    """`when` sees the metrics named in `needs`, all of them finite; they are also the evidence.

    `finding` is a format string over them. `id` names the skill file, `skills/<id>.md`.
    """

    id: str
    severity: Severity
    needs: tuple[str, ...]
    when: Callable[[Mapping[str, float]], bool]
    finding: str
    action: str

    def fire(self, metrics: Mapping[str, float]) -> Finding | None:
        """The finding, or None: also when a metric that the rule needs is missing, infinite or not a number."""
        evidence = {name: metrics[name] for name in self.needs if math.isfinite(metrics.get(name, math.nan))}
        if len(evidence) < len(self.needs) or not self.when(evidence):
            return None
        return Finding(self.id, self.severity, self.finding.format(**evidence), self.action, evidence)


def apply(rules: Iterable[Rule], metrics: Mapping[str, float]) -> tuple[Finding, ...]:
    """What fires, the severest first, otherwise in the order of the rules."""
    fired = [found for rule in rules if (found := rule.fire(metrics)) is not None]
    return tuple(sorted(fired, key=lambda finding: ORDER[finding.severity]))
