"""Reads the rule of [check] by which outputs are compared with the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

Errors = tuple[float, float, float, float]
"""How far a kernel is off: relative, absolute, of the norm, and of the harness's scale (0: it gives none)."""


class CompareRule(NamedTuple):
    """The rule of comparison: `kind` is elementwise, scaled, norm, exact or ulp.

    `bounds` are errors of the task's own kernel, by case, kind of inputs and output. What is not finite in the truth is
    so in an output, too, if it `propagates`; where inputs were given such values it may be another one of them, and
    make others so, if it is `kept`.
    """

    kind: str
    rtol: float
    atol: float
    steps: int
    propagates: bool
    bounds: dict[str, dict[str, dict[str, Errors]]]
    kept: bool = False

    @property
    def plants(self) -> bool:
        """Whether inputs are given values that are not finite."""
        return self.propagates or self.kept


def rule_of(settings: Mapping[str, str]) -> CompareRule:
    """Return the rule that a command's settings give."""
    kind, _, steps = settings.get("compare", "elementwise").partition(":")
    bounds = json.loads(Path(settings["bounds"]).read_text()) if "bounds" in settings else {}
    rtol, atol = (float(settings.get(name, "0")) for name in ("rtol", "atol"))
    nonfinite = settings.get("nonfinite")
    return CompareRule(kind, rtol, atol, int(steps or 0), nonfinite == "propagate", bounds, nonfinite == "kept")
