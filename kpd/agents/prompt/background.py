"""Holds the background of a prompt: what is known apart from the run, and which rules agents are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kpd.knowledge.efficacy import Efficacy
from kpd.knowledge.skills import Skills
from kpd.model.run import Run


@dataclass(frozen=True, slots=True)
class Background:
    """What a prompt tells beside the run. `format` says what a reply looks like.

    `past` are earlier runs from memory, `avoid` and `wanted` the notes that people wrote there. `patterns` are those
    that match the findings, `hints` are about the incumbent's code. `efficacy` is by rule. An agent that `works` in a
    session runs programs.
    """

    format: str
    skills: Skills = field(default_factory=lambda: Skills({}))
    past: str = ""
    avoid: str = ""
    wanted: str = ""
    patterns: str = ""
    efficacy: Mapping[str, Efficacy] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    works: bool = False


def is_shown(run: Run, rule: str) -> bool:
    """Return whether the run's agents are told of a rule, in findings, in the catalogue and by its skill."""
    return run.stands.get(rule) != "banned"


def pinned(run: Run) -> tuple[str, ...]:
    """Return the rules that agents are told of first, in the order in which they were pinned."""
    return tuple(rule for rule, stand in run.stands.items() if stand == "pinned")
