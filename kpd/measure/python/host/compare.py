"""Compares outputs with the truth by the rule of [check]: how many tolerances off is each element?"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from kpd.measure.python.host.arrays import GREATEST, PRECISION, Layout

HOPELESS = 1e99
NATIVE = 8.0  # times the error of the task's own kernel
CAP = 16.0  # times its share of a norm that one element may be off
SPREAD, WORST, VANISHED = 4.0, 1e-3, 2.0**-100  # as in native/bounds.c


Errors = tuple[float, float, float, float]
"""How far a kernel is off: relative, absolute, of the norm, and of the harness's scale (0: it gives none)."""


class CompareRule(NamedTuple):
    """The rule of comparison: `kind` is elementwise, scaled, norm, exact or ulp.

    `bounds` are errors of the task's own kernel, by case, kind of inputs and output.
    """

    kind: str
    rtol: float
    atol: float
    steps: int
    propagates: bool
    bounds: dict[str, dict[str, dict[str, Errors]]]


class Comparison(NamedTuple):
    """The worst element: its index, what it is and should be, its error in tolerances; and how many are wrong."""

    worst: float
    element: int
    got: float
    want: float
    wrong: int
    compared: int


def compare(
    rule: CompareRule, layout: Layout, got: Sequence[float], want: Sequence[float], at: tuple[str, str, str],
    scale: Sequence[float] | None = None, spread: float = 0.0,
) -> Comparison:  # fmt: skip
    """Compare an output; `at` is the case, the kind of inputs and the output's name.

    `scale` says for each element what an error is a share of; else it is the element itself. `spread` is tolerated
    besides.
    """
    ways = _vector if "numpy" in sys.modules else _listed
    tolerance = _tolerance(rule, layout, at, spread)
    multiples: Any = ways(rule, layout, got, want, tolerance, want if scale is None else scale)
    if not len(multiples):
        return Comparison(0.0, 0, 0.0, 0.0, 0, 0)
    if "numpy" in sys.modules:
        index = int(sys.modules["numpy"].argmax(multiples))
        wrong = int((~(multiples <= 1.0)).sum())
    else:
        index = max(range(len(multiples)), key=multiples.__getitem__)
        wrong = sum(not one <= 1.0 for one in multiples)
    return Comparison(float(multiples[index]), index, float(got[index]), float(want[index]), wrong, len(multiples))


def _tolerance(rule: CompareRule, layout: Layout, at: tuple[str, str, str], spread: float) -> tuple[float, float]:
    """Return the share of the element that is tolerated, and what is beside it."""
    if rule.kind in ("exact", "ulp") or not layout.is_float:
        return 0.0, 0.0
    if rule.bounds:
        case, kind, output = at
        relative, absolute, norm, scaled = rule.bounds[case][kind][output]
        if rule.kind == "scaled":
            return NATIVE * scaled, 0.0
        return (NATIVE * norm, 0.0) if rule.kind == "norm" else (NATIVE * relative, NATIVE * absolute)
    return rule.rtol, rule.atol + spread


def _vector(rule: CompareRule, layout: Layout, got: Any, want: Any, tolerated: tuple[float, float], of: Any) -> Any:
    numpy = sys.modules["numpy"]
    share, least = tolerated
    with numpy.errstate(all="ignore"):
        greatest = GREATEST.get(layout.dtype, math.inf)
        if rule.kind in ("elementwise", "scaled") and abs(want).max(initial=0.0) <= greatest:
            usual = abs(got - want) / (least + share * abs(of))
            if numpy.isfinite(usual).all() and usual.max(initial=0.0) <= HOPELESS:  # no NaN, and no tolerance is 0
                return usual
        known = numpy.isfinite(want) & (abs(want) <= greatest)
        error = abs(got - want)
        if rule.kind == "norm" and share:
            norm = math.sqrt(float((want[known] ** 2).mean())) if known.any() else 0.0
            sound = known & numpy.isfinite(got)
            whole = math.sqrt(float((error[sound] ** 2).mean())) if sound.any() else 0.0
            each, whole_of = CAP * (least + share * (abs(want) + norm)), least + share * norm
            off = numpy.maximum(error / (each + 1e-300), whole / (whole_of + 1e-300))
        elif rule.kind == "ulp":
            off = error / (rule.steps * numpy.maximum(abs(want), 2.0**-1000) * 2.0 * PRECISION.get(layout.dtype, 0.5))
        else:
            tolerance = least + share * abs(of)
            off = numpy.where(
                error == 0.0, 0.0, numpy.where(tolerance > 0.0, error / numpy.maximum(tolerance, 1e-320), HOPELESS)
            )
        off = numpy.where(numpy.isfinite(got) & (off <= HOPELESS), off, HOPELESS)  # NaN is as wrong as can be
        same = (numpy.isnan(got) & numpy.isnan(want)) | (got == want)
        return numpy.where(known, off, numpy.where(same | (not rule.propagates), 0.0, HOPELESS))


def _listed(
    rule: CompareRule, layout: Layout, got: Sequence[float], want: Sequence[float], tolerated: tuple[float, float],
    of: Sequence[float],
) -> list[float]:  # fmt: skip
    share, least = tolerated
    greatest = GREATEST.get(layout.dtype, math.inf)

    def known(b: float) -> bool:
        return math.isfinite(b) and abs(b) <= greatest

    norm = _root([b for b in want if known(b)])
    whole = _root([a - b for a, b in zip(got, want, strict=False) if known(b) and math.isfinite(a)])

    def off(a: float, b: float, share_of: float) -> float:
        if not known(b):
            return 0.0 if a == b or (a != a and b != b) or not rule.propagates else HOPELESS
        if not math.isfinite(a):
            return HOPELESS
        error = abs(a - b)
        if error == 0.0:
            return 0.0
        if rule.kind == "norm" and share:
            each, whole_of = CAP * (least + share * (abs(b) + norm)), least + share * norm
            return capped(max(error / (each + 1e-300), whole / (whole_of + 1e-300)))
        if rule.kind == "ulp":
            return capped(error / (rule.steps * max(abs(b), 2.0**-1000) * 2.0 * PRECISION.get(layout.dtype, 0.5)))
        tolerance = least + share * abs(share_of)
        return capped(error / tolerance) if tolerance > 0.0 else HOPELESS

    def capped(multiple: float) -> float:
        return multiple if multiple <= HOPELESS else HOPELESS

    return [off(a, b, share_of) for a, b, share_of in zip(got, want, of, strict=False)]


def _root(numbers: Sequence[float]) -> float:
    """Return the root of the mean square."""
    return math.hypot(*numbers) / math.sqrt(len(numbers)) if numbers else 0.0


def errors(layout: Layout, got: Any, want: Any, scale: Any = None) -> Errors:
    """Return how far the task's own kernel is off, for `CompareRule.bounds`."""
    least = PRECISION.get(layout.dtype, 2.0**-24)
    if "numpy" in sys.modules:
        numpy = sys.modules["numpy"]
        with numpy.errstate(all="ignore"):
            known = numpy.isfinite(got) & numpy.isfinite(want)
            off, of = abs(got - want)[known], abs(want)[known]
            shares = [] if scale is None else (off / abs(scale)[known])[abs(scale)[known] > 0.0]
            squares, truths, count = float((off**2).sum()), float((of**2).sum()), len(of)
            norm = math.sqrt(squares / truths) if truths > 0.0 else 0.0
            relative = min(max(SPREAD * norm, least), WORST)
            beyond = float((off - relative * of).max(initial=0.0))
    else:
        pairs = [(abs(a - b), abs(b)) for a, b in zip(got, want, strict=False) if math.isfinite(a) and math.isfinite(b)]
        scales = [] if scale is None else zip(got, want, scale, strict=False)
        shares = [abs(a - b) / abs(s) for a, b, s in scales if s and math.isfinite(a) and math.isfinite(b)]
        squares, truths, count = sum(e * e for e, _ in pairs), sum(b * b for _, b in pairs), len(pairs)
        norm = math.sqrt(squares / truths) if truths > 0.0 else 0.0
        relative = min(max(SPREAD * norm, least), WORST)
        beyond = max([0.0, *(e - relative * b for e, b in pairs)])
    level = math.sqrt(truths / count) if count else 0.0
    beyond = max(beyond, VANISHED * math.sqrt(truths))
    absolute = min(beyond, WORST * level) if level > 0.0 else beyond
    scaled = min(max(least, *shares), WORST) if len(shares) else 0.0
    return relative, absolute, min(max(norm, least), WORST), float(scaled)


def widest(one: Errors, other: Errors) -> Errors:
    return max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])
