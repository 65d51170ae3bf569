"""What is known apart from the run itself, as its prompts take it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kpd.knowledge.efficacy import Efficacy
from kpd.knowledge.skills import Skills


@dataclass(frozen=True, slots=True)
class Known:
    """`format` says what a reply looks like. `past` are earlier runs as memory has them, `avoid` and `wanted` what
    people wrote into it by hand. `patterns` are those that match the findings, `hints` are of the incumbent's code.
    `efficacy` is by rule.
    """

    format: str
    skills: Skills = field(default_factory=lambda: Skills({}))
    past: str = ""
    avoid: str = ""
    wanted: str = ""
    patterns: str = ""
    efficacy: Mapping[str, Efficacy] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
