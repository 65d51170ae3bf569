"""Whether the same rules fire on an iteration's curated counters and on those of `kpd profile`, and if not, why.

    python benchmarks/same_rules.py FOLDER

FOLDER is an iteration's, with `metrics.json` and `metrics_full.json`. Two runs of ncu never count quite the same, so a
rule whose metric lies at its threshold may fire in one and not in the other: such a rule is told as `at_threshold`.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kpd.model.metrics import parted
from kpd.profile.catalogue import profiler_of
from kpd.profile.rules import Rule

NEAR = 0.03
"""The share of its value by which a metric differs from one run of ncu to the next, if it does."""
GPU = profiler_of("gpu")
RULES = {rule.id: rule for rule in GPU.rules}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    print(json.dumps(same_rules(parser.parse_args().folder), indent=2))


def same_rules(folder: Path) -> dict[str, Any]:
    """The rules that fire on either side; of each that fires on one alone, what both sides say of its metrics."""
    curated, full = (
        json.loads((folder / name).read_text())["metrics"] for name in ("metrics.json", "metrics_full.json")
    )
    by_curated, by_full = fired(curated), fired(full)
    differ = {
        id: {
            "curated": evidence(RULES[id], curated),
            "full": evidence(RULES[id], full),
            "at_threshold": nearly(RULES[id], full if id in by_curated else curated),
        }
        for id in sorted(by_curated ^ by_full)
    }
    return {"same": not differ, "curated": sorted(by_curated), "full": sorted(by_full), "differ": differ}


def fired(metrics: Mapping[str, float]) -> set[str]:
    return {finding.rule for finding in GPU.findings(metrics)}


def evidence(rule: Rule, metrics: Mapping[str, float]) -> dict[str, float]:
    """What the rule looks at, of all cases together and of each."""
    return {name: round(value, 3) for name, value in metrics.items() if parted(name)[0] in rule.needs}


def nearly(rule: Rule, metrics: Mapping[str, float]) -> bool:
    """Whether the rule would fire if one of its metrics were a little larger or smaller."""
    return any(
        rule.id in fired({name: value * (by if parted(name)[0] == need else 1) for name, value in metrics.items()})
        for need in rule.needs
        for by in (1 - NEAR, 1 + NEAR)
    )


if __name__ == "__main__":
    main()
