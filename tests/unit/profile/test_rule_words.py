"""How a rule reads before it has fired."""

import pytest

from kpd.profile.cpu_rules import CPU_RULES
from kpd.profile.gpu_rules import GPU_RULES
from kpd.profile.rules import Rule


@pytest.mark.parametrize("rule", [*CPU_RULES, *GPU_RULES], ids=lambda rule: rule.id)
def test_a_rule_is_told_without_format_strings(rule: Rule) -> None:
    assert "{" not in rule.words
    assert "}" not in rule.words
