"""Compares outputs with the truth by the rule of [check]: how many tolerances off is each element?"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kpd.measure.python.host.arrays import GREATEST, PRECISION, Layout
from kpd.measure.python.host.nonfinite import VALUES
from kpd.measure.python.host.rules import CompareRule, Errors

HOPELESS = 1e99
NATIVE = 8.0  # times the error of the task's own kernel
CAP = 16.0  # times its share of a norm that one element may be off
BLOCK = 1 << 16  # elements that are compared at once: what comes in between stays in a CPU's cache
SPREAD, WORST, VANISHED = 4.0, 1e-3, 2.0**-100  # as in native/bounds.c


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
    tolerance, of = _tolerance(rule, layout, at, spread), want if scale is None else scale
    if not len(got):
        return Comparison(0.0, 0, 0.0, 0.0, 0, 0)
    rule = rule._replace(kept=rule.kept and at[1] in VALUES and layout.is_float)
    ways = _by_blocks if "numpy" in sys.modules else _one_by_one
    worst, index, wrong = ways(rule, layout, got, want, tolerance, of)
    return Comparison(worst, index, float(got[index]), float(want[index]), wrong, len(got))


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


def _by_blocks(
    rule: CompareRule, layout: Layout, got: Any, want: Any, tolerated: tuple[float, float], of: Any
) -> tuple[float, int, int]:
    """Return the error of the worst element in tolerances, its index, and how many are wrong."""
    numpy = sys.modules["numpy"]
    worst, index, wrong = -1.0, 0, 0
    with numpy.errstate(all="ignore"):
        norms = _norms(layout, got, want) if rule.kind == "norm" and tolerated[0] else (0.0, 0.0)
        for start, part in _parts(len(got)):
            truth = want[part]
            share_of = truth if of is want else of[part]
            multiples = _vector(rule, layout, got[part], truth, tolerated, share_of, norms)
            at = int(multiples.argmax())
            highest = float(multiples[at])
            if highest > worst:
                worst, index = highest, start + at
            if not highest <= 1.0:
                wrong += int((~(multiples <= 1.0)).sum())
    return worst, index, wrong


def _parts(count: int) -> Iterator[tuple[int, slice]]:
    """Yield where each block of so many elements begins, and which they are."""
    return ((start, slice(start, start + BLOCK)) for start in range(0, count, BLOCK))


def _norms(layout: Layout, got: Any, want: Any) -> tuple[float, float]:
    """Return the roots of the mean squares of the truth and of the error, over what is known."""
    numpy = sys.modules["numpy"]
    truths, errors, known_of, sound_of = 0.0, 0.0, 0, 0
    for _, part in _parts(len(got)):
        known = numpy.isfinite(want[part]) & (abs(want[part]) <= GREATEST.get(layout.dtype, math.inf))
        sound = known & numpy.isfinite(got[part])
        truths += float((want[part][known] ** 2).sum())
        errors += float(((got[part] - want[part])[sound] ** 2).sum())
        known_of, sound_of = known_of + int(known.sum()), sound_of + int(sound.sum())
    return math.sqrt(truths / max(known_of, 1)), math.sqrt(errors / max(sound_of, 1))


def _vector(
    rule: CompareRule, layout: Layout, got: Any, want: Any, tolerated: tuple[float, float], of: Any,
    norms: tuple[float, float],
) -> Any:  # fmt: skip
    numpy = sys.modules["numpy"]
    share, least = tolerated
    greatest = GREATEST.get(layout.dtype, math.inf)
    error, size = abs(got - want), abs(want)
    if rule.kind in ("elementwise", "scaled") and size.max() <= greatest:
        tolerance = (size if of is want else abs(of)) * share
        tolerance += least
        numpy.divide(error, tolerance, out=tolerance)
        if tolerance.max() <= HOPELESS:  # no NaN, and no tolerance is 0
            return tolerance
    known = numpy.isfinite(want) & (size <= greatest)
    if rule.kind == "norm" and share:
        norm, whole = norms
        each, whole_of = CAP * (least + share * (size + norm)), least + share * norm
        off = numpy.maximum(error / (each + 1e-300), whole / (whole_of + 1e-300))
    elif rule.kind == "ulp":
        off = error / (rule.steps * numpy.maximum(size, 2.0**-1000) * 2.0 * PRECISION.get(layout.dtype, 0.5))
    else:
        tolerance = least + share * abs(of)
        off = numpy.where(
            error == 0.0, 0.0, numpy.where(tolerance > 0.0, error / numpy.maximum(tolerance, 1e-320), HOPELESS)
        )
    off = numpy.where(numpy.isfinite(got) & (off <= HOPELESS), off, HOPELESS)  # NaN is as wrong as can be
    if not known.all():
        beyond = numpy.isfinite(want) & (got == numpy.copysign(math.inf, want))
        same = (numpy.isnan(got) & numpy.isnan(want)) | (got == want) | beyond
        off = numpy.where(known, off, numpy.where(same | (not rule.propagates), 0.0, HOPELESS))
    if rule.kept:
        sound = numpy.isfinite(got)
        off = numpy.where(sound & numpy.isfinite(want), off, numpy.where(sound, HOPELESS, 0.0))
    return off


def _one_by_one(
    rule: CompareRule, layout: Layout, got: Sequence[float], want: Sequence[float], tolerated: tuple[float, float],
    of: Sequence[float],
) -> tuple[float, int, int]:  # fmt: skip
    """Return what `_by_blocks` does, without NumPy."""
    multiples = _usual(rule, layout, got, want, tolerated, of) or _listed(rule, layout, got, want, tolerated, of)
    index = max(range(len(multiples)), key=multiples.__getitem__)
    return multiples[index], index, sum(not one <= 1.0 for one in multiples)


def _usual(
    rule: CompareRule, layout: Layout, got: Sequence[float], want: Sequence[float], tolerated: tuple[float, float],
    of: Sequence[float],
) -> list[float]:  # fmt: skip
    """Return the errors in tolerances where all is finite and has a tolerance, in a quarter of the time; else none."""
    share, least = tolerated
    if rule.kind not in ("elementwise", "scaled") or not least > 0.0:
        return []
    found = [abs(a - b) / (least + share * abs(c)) for a, b, c in zip(got, want, of, strict=True)]
    usual = math.isfinite(sum(found)) and max(found) <= HOPELESS
    return found if usual and max(map(abs, want)) <= GREATEST.get(layout.dtype, math.inf) else []


def _listed(
    rule: CompareRule, layout: Layout, got: Sequence[float], want: Sequence[float], tolerated: tuple[float, float],
    of: Sequence[float],
) -> list[float]:  # fmt: skip
    share, least = tolerated
    greatest = GREATEST.get(layout.dtype, math.inf)

    def known(b: float) -> bool:
        return math.isfinite(b) and abs(b) <= greatest

    norm = whole = 0.0
    if rule.kind == "norm" and share:
        norm = _root([b for b in want if known(b)])
        whole = _root([a - b for a, b in zip(got, want, strict=False) if known(b) and math.isfinite(a)])

    def off(a: float, b: float, share_of: float) -> float:
        if rule.kept and not (math.isfinite(a) and math.isfinite(b)):
            return HOPELESS if math.isfinite(a) else 0.0
        if not known(b):
            beyond = math.isfinite(b) and a == math.copysign(math.inf, b)
            return 0.0 if a == b or (a != a and b != b) or beyond or not rule.propagates else HOPELESS
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
    squares, truths, count = _sums(got, want)
    norm = math.sqrt(squares / truths) if truths > 0.0 else 0.0
    relative = min(max(SPREAD * norm, least), WORST)
    beyond, share = _greatest(got, want, scale, relative)
    level = math.sqrt(truths / count) if count else 0.0
    beyond = max(beyond, VANISHED * math.sqrt(truths))
    absolute = min(beyond, WORST * level) if level > 0.0 else beyond
    scaled = min(max(least, share), WORST) if share >= 0.0 else 0.0
    return relative, absolute, min(max(norm, least), WORST), scaled


def _sums(got: Any, want: Any) -> tuple[float, float, int]:
    """Return the sums of the squares of errors and truths, and their number, where both sides are finite."""
    if "numpy" not in sys.modules:
        pairs = [(a - b, b) for a, b in zip(got, want, strict=False) if math.isfinite(a) and math.isfinite(b)]
        return sum(e * e for e, _ in pairs), sum(b * b for _, b in pairs), len(pairs)
    numpy, squares, truths, count = sys.modules["numpy"], 0.0, 0.0, 0
    with numpy.errstate(all="ignore"):
        for off, of, _ in _finite(got, want, None):
            squares, truths, count = (
                squares + float((off * off).sum()),
                truths + float((of * of).sum()),
                count + len(of),
            )
    return squares, truths, count


def _greatest(got: Any, want: Any, scale: Any, relative: float) -> tuple[float, float]:
    """Return the greatest error beyond a share of its truth, and as a share of its scale: -1 where none has one."""
    beyond, share = 0.0, -1.0
    if "numpy" not in sys.modules:
        of = want if scale is None else scale
        for a, b, s in zip(got, want, of, strict=False):
            if math.isfinite(a) and math.isfinite(b):
                beyond = max(beyond, abs(a - b) - relative * abs(b))
                if scale is not None and s:
                    share = max(share, abs(a - b) / abs(s))
        return beyond, share
    numpy = sys.modules["numpy"]
    with numpy.errstate(all="ignore"):
        for off, of, scales in _finite(got, want, scale):
            if scales is not None:
                share = float((off / scales)[scales > 0.0].max(initial=share))
            beyond = float((off - relative * of).max(initial=beyond))
    return beyond, share


def _finite(got: Any, want: Any, scale: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield errors, truths and scales without their signs by blocks, of what is finite on both sides."""
    numpy = sys.modules["numpy"]
    for _, part in _parts(len(got)):
        off, of = abs(got[part] - want[part]), abs(want[part])
        scales = None if scale is None else abs(scale[part])
        known = numpy.isfinite(got[part]) & numpy.isfinite(want[part])
        if not known.all():
            off, of, scales = off[known], of[known], None if scales is None else scales[known]
        yield off, of, scales


def widest(one: Errors, other: Errors) -> Errors:
    return max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])
