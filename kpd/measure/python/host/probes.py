"""Tells whether a candidate answers before a GPU is done, or others use that, from how long it was waited for."""

from collections.abc import Mapping, Sequence
from math import sqrt

LATE_NS = 40_000  # of a probe after an answer: a fiftieth of a batch
OFTEN, FEWEST = 0.5, 8  # of the probes after answers, and how many tell something
SURE = 2.5  # standard deviations by which more of the candidate's are late, at the most that these can be


def tell(probes: Mapping[str, Sequence[int]], usual_ns: int) -> str:
    """Return `early`, `busy`, or nothing: of the probes after answers of sides a and b, in nanoseconds.

    After most of the candidate's answers the device was not done, and surely after more of them than the incumbent's;
    or not surely: then others use it.
    """
    a, b = probes["a"], probes["b"]
    if len(b) < FEWEST or _late(b, usual_ns) <= OFTEN:
        return ""
    if not a or _late(b, usual_ns) - _late(a, usual_ns) <= SURE * sqrt((1 / len(a) + 1 / len(b)) / 4):
        return "busy"
    return "early"


def _late(probes: Sequence[int], usual_ns: int) -> float:
    return sum(ns > usual_ns + LATE_NS for ns in probes) / len(probes)
