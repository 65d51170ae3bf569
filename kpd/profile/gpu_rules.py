"""Reads the rules for kernels on a GPU: `gpu_rules.toml`."""

from pathlib import Path

from kpd.profile.rules import RuleList
from kpd.workspace.shipped import shipped

RULES = RuleList.read("gpu", Path(__file__).with_suffix(".toml"), shipped("skills"))
GPU_RULES = RULES.rules
