"""Whether a GPU ran at its usual clock while something was timed, from what NVML said meanwhile."""

from kpd.measure.samples import ClockReadings
from kpd.model import clocks

MOVED_SHARE = 0.1
"""So much may the clock move within a case; more, and some quads were timed on another machine than the others."""


def taint(case: str, seen: ClockReadings) -> str:
    """Why the times of the case should not be believed, in words; empty when they should."""
    if slowed := lowered(case, seen):
        return slowed
    if seen.reasons & clocks.IDLE:  # it was read while nothing ran, which says nothing
        return ""
    least, greatest = sorted(seen.sm_mhz)
    if greatest - least > MOVED_SHARE * greatest:
        return f"the GPU's clock ran at {least:g} to {greatest:g} MHz during {case}"
    return ""


def lowered(case: str, seen: ClockReadings) -> str:
    """Why the GPU lowered its clock during the case, when that is trouble; in words, empty when it did not."""
    reasons = clocks.words(seen.reasons & clocks.TROUBLE)
    if reasons:
        return (
            f"the GPU's clock was lowered during {case}: {reasons[0]} ({seen.temp_c[1]:g} C, {seen.power_w[1]:.0f} W)"
        )
    return ""


def both(one: ClockReadings | None, other: ClockReadings | None) -> ClockReadings | None:
    """The spread of two, as far as they are known."""
    if one is None or other is None:
        return one or other
    return ClockReadings(
        _spread(one.sm_mhz, other.sm_mhz), _spread(one.mem_mhz, other.mem_mhz), _spread(one.power_w, other.power_w),
        _spread(one.temp_c, other.temp_c), one.reasons | other.reasons,
    )  # fmt: skip


def _spread(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(*one, *other), max(*one, *other)
