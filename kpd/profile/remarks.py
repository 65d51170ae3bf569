"""Parses the vectoriser's remarks: gcc's `-fopt-info-vec-all` and clang's `-Rpass…=loop-vectorize`.

Neither compiler promises a fixed wording. A reason that kpd does not recognise counts as "other".
"""

import re
from collections import Counter
from dataclasses import dataclass, field

REASONS: dict[str, str] = {
    "missed_reduction": r"reorder floating-point|reduction|associat",
    "missed_call": r"call|clobbers memory|function",
    "missed_alias": r"alias|dependen|memory operations|may overlap|versioning|array bounds",
    "missed_control": r"control flow|number of (loop )?iterations|multiple exits|early exit|induction|latch|switch",
    "missed_access": r"strid|gather|scatter|grouped|data ref|non-consecutive|interleav|access|unsupported use",
    "missed_other": r"",
}
"""The pattern of a compiler's reason for each metric; the first match counts."""

NAMES = ("loops_vectorised", "loops_missed", *REASONS)

_LINE = re.compile(r"^(?P<place>\S[^:\n]*:\d+:\d+): (?P<kind>remark|missed|optimized|note): (?P<text>.+)$")
_OUTER = re.compile(r"loop nest|outer.?loop|multiple nested|nested loops")


@dataclass(slots=True)
class VectorisationRemarks:
    """Loops by place (`kernel.c:12:5`): those vectorised, and those not, with the compiler's reason."""

    vectorised: set[str] = field(default_factory=set)
    missed: dict[str, str] = field(default_factory=dict)


def read(text: str) -> tuple[dict[str, float], dict[str, str]]:
    """Count the loops, and return the reason for each count that is missing."""
    found = parse(text)
    if not found.vectorised and not found.missed:
        return {}, dict.fromkeys(NAMES, "the compiler said nothing about vectorising loops")
    reasons = Counter(classify(reason) for reason in found.missed.values())
    counts = {"loops_vectorised": len(found.vectorised), "loops_missed": len(found.missed)}
    return {name: float(counts.get(name, reasons[name])) for name in NAMES}, {}


def classify(reason: str) -> str:
    """Return the metric that counts this reason of a compiler."""
    return next(name for name, pattern in REASONS.items() if re.search(pattern, reason, re.IGNORECASE))


def parse(text: str) -> VectorisationRemarks:
    """Parse the remarks of either compiler. A loop that was vectorised in one way does not count as missed in another.

    A loop that holds others is left out: it is normal that it is not vectorised itself.
    """
    found = VectorisationRemarks()
    place, reason = "", ""
    for line in text.splitlines():
        if (remark := _LINE.match(line)) is None:
            continue
        where, kind, said = remark["place"], remark["kind"], _plain(remark["text"])
        if said.startswith(("loop vectorized", "vectorized loop", "outer loop vectorized")):
            found.vectorised.add(where)
            reason = ""
        elif kind == "missed" and said.startswith("couldn't vectorize loop"):
            place = where
            found.missed.setdefault(place, "")
        elif kind == "missed" and place and not found.missed[place]:
            found.missed[place] = said.removeprefix("not vectorized: ")
        elif kind == "remark" and said.startswith("loop not vectorized: "):
            reason = reason or said.removeprefix("loop not vectorized: ")
        elif kind == "remark" and said == "loop not vectorized":
            found.missed[where] = reason
            reason = ""
    found.missed = {
        where: why for where, why in found.missed.items() if where not in found.vectorised and not _OUTER.search(why)
    }
    return found


def _plain(text: str) -> str:
    """Remove the option that asked for the remark, which clang appends."""
    return re.sub(r"\s*\[-R[^\]]*\]$", "", text.strip())
