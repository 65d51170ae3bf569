"""Computes confidence intervals of means over few processes: a cluster bootstrap, widened for few clusters.

Plain Python: numpy would cost the daemon more memory than everything else it holds.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from math import fsum, pi, sqrt, tan
from random import Random
from statistics import NormalDist, fmean, stdev

RESAMPLES = 4000
SEED = 20_150_423


def half_width(values: Sequence[float], confidence: float) -> float:
    """Compute half the width of the bootstrap interval around the mean of `values`, one value a cluster.

    Clusters are drawn with replacement, always from the same seed; the symmetric interval holds the `confidence` share
    of the resampled means. That is too narrow for few clusters, so it is stretched by sqrt(n / (n - 1)) * t / z
    (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015). Raises ValueError on fewer than two values.
    """
    if len(values) < 2:
        raise ValueError(f"an interval needs at least two processes, not {len(values)}")
    return _half_width(tuple(values), confidence)


@lru_cache(maxsize=64)  # what has decided whether one more process is needed is asked for again by the verdict
def _half_width(values: tuple[float, ...], confidence: float) -> float:
    n = len(values)
    middle = fmean(values)
    drawn = map([value - middle for value in values].__getitem__, _clusters(n))
    distances = sorted(map(abs, map(sum, zip(*[drawn] * n, strict=True))))
    inside = distances[min(RESAMPLES - 1, round(confidence * RESAMPLES))] / n
    tail = (1 + confidence) / 2
    return inside * sqrt(n / (n - 1)) * t_quantile(tail, n - 1) / NormalDist().inv_cdf(tail)


@lru_cache(maxsize=16)
def _clusters(n: int) -> Sequence[int]:
    """Draw the clusters of all resamples: the same ones for any values."""
    return array("H", Random(SEED).choices(range(n), k=n * RESAMPLES))


def t_half_width(values: Sequence[float], confidence: float) -> float:
    """Compute half the width of Student's interval around the mean of `values`, one value a cluster.

    It costs next to nothing, and holds for a confidence that a bootstrap would need too many resamples for. Raises
    ValueError on fewer than two values.
    """
    if len(values) < 2:
        raise ValueError(f"an interval needs at least two processes, not {len(values)}")
    return t_quantile((1 + confidence) / 2, len(values) - 1) * stdev(values) / sqrt(len(values))


def t_quantile(p: float, dof: int) -> float:
    """Compute the value of Student's t below which the share `p` lies, for `dof` degrees of freedom.

    One and two degrees have closed forms; from three up it is the expansion 26.7.5 of Abramowitz and Stegun, at p =
    0.995 less than 0.8 % below the truth, and at p = 0.99998 with eight degrees 0.4 %.
    """
    if dof == 1:
        return tan(pi * (p - 0.5))
    if dof == 2:
        return (2 * p - 1) / sqrt(2 * p * (1 - p))
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + fsum(term / float(dof) ** power for power, term in enumerate(terms, start=1))
