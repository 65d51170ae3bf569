"""Reads the rules for C kernels on a CPU: `cpu_rules.toml`."""

from pathlib import Path

from kpd.profile.rules import RuleList
from kpd.workspace.shipped import shipped

RULES = RuleList.read("cpu", Path(__file__).with_suffix(".toml"), shipped("skills"))
CPU_RULES = RULES.rules
