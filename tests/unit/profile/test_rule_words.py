"""How a rule reads before it has fired."""

import pytest

from kpd.profile.conditions import Condition
from kpd.profile.cpu_rules import CPU_RULES
from kpd.profile.gpu_rules import GPU_RULES
from kpd.profile.rules import Rule


@pytest.mark.parametrize("rule", [*CPU_RULES, *GPU_RULES], ids=lambda rule: rule.id)
def test_a_rule_is_told_without_format_strings(rule: Rule) -> None:
    assert "{" not in rule.words
    assert "}" not in rule.words


@pytest.mark.parametrize(
    ("text", "metrics", "holds"),
    [
        ("0 < waves < 2, ipc ≥ 1", {"waves": 1, "ipc": 1}, True),
        ("0 < waves < 2, ipc ≥ 1", {"waves": 2, "ipc": 1}, False),
        ("waves ≤ 0.8 · ⌈waves⌉", {"waves": 2.4}, True),
        ("(ipc ≥ 1 or waves = 0), grid > 8", {"ipc": 0, "waves": 0, "grid": 9}, True),
        ("ipc / waves < 1", {"ipc": 0, "waves": 0}, False),
    ],
)
def test_a_condition_holds_as_it_reads(text: str, metrics: dict[str, float], holds: bool) -> None:
    assert Condition.of(text).holds(metrics) == holds
    assert Condition.of(text).names == tuple(metrics)


@pytest.mark.parametrize("text", ["", "ipc <", "ipc[0] < 1", "[ipc for ipc in (1, 2)]", "(lambda: 1)() < 2"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a condition"):
        Condition.of(text)
