"""Compares the samples of a contest with the driver's own clock: pure."""

from collections.abc import Iterable
from statistics import fmean
from typing import NamedTuple

from kpd.measure.samples import CaseSample, DriverClock, ProcessSample
from kpd.model.faults import ClockForged

CLOCK_SHARE = 0.05
"""The share of the time by which the driver's clock and the sum of the samples may differ."""
FEWEST = 2
"""The processes whose clocks must differ, at least: one may be an accident."""
SHORT_SHARE = 3
"""Where other work can be the cause, one in so many must: a gain that fewer show is never accepted."""
BETWEEN_NS = 10_000
"""The most time that passes from one batch to the next, beside that share: counters are read there."""
COLD_NS = 1_000_000
"""What a process may take besides: with cold caches it was 16 to 25 µs a batch on a loaded machine of two CPUs."""
MOST_WAITED_NS = 10_000_000
"""The most that others may have had the CPU between the batches of a process: some time slices of 3 to 4 ms."""
LITTLE = 20
"""A batch that lost more than one in so many parts of its time is taken again (native/batches.c)."""


def refuse_clock(samples: Iterable[ProcessSample]) -> ClockForged | None:
    """Return the fault of a candidate whose samples the driver's own clock does not bear out; None where it does.

    The kept batches of a case cannot take longer than its timing did. Nor can the timing of all cases, from when the
    process is awake, take longer than all batches that were taken, but for what is between them: a batch lasts as long
    when other work has the CPU meanwhile. That work can get it between two batches, too, though seldom: so what the
    process has waited for its CPU is allowed, up to some time slices, and a third of the processes must show more.
    """
    kept = [sample for sample in samples if not sample.taint and has_clock(sample)]
    longer = [clocks for clocks in map(_longest, kept) if clocks.beyond_ns > 0]
    shorter = [clocks for clocks in map(_shorter, kept) if clocks.beyond_ns > 0]
    for forged, fewest in ((longer, FEWEST), (shorter, max(FEWEST, -(-len(kept) // SHORT_SHARE)))):
        if len(forged) >= fewest:
            worst = max(forged, key=lambda clocks: clocks.beyond_ns)
            return ClockForged(worst.summed_ns / 1e6, worst.wall_ns / 1e6, len(forged), len(kept))
    return None


class _Clocks(NamedTuple):
    """The nanoseconds by which two clocks differ beyond what they may, and what they say."""

    beyond_ns: float
    summed_ns: float
    wall_ns: float


def has_clock(sample: ProcessSample) -> bool:
    """Return whether the driver's clock is known, which older samples lack."""
    return bool(sample.cases) and all(case.clock is not None for case in sample.cases.values())


def lengthening(case: CaseSample) -> float:
    """Return how many times as long the timing of a case took by the driver's clock as its batches say, at least 1.

    What it lost to others is in neither, where the system tells: on a busy machine that can be most of both.
    """
    clock = case.clock
    if clock is None or not clock.spent_ns:
        return 1.0
    if clock.forced is None:
        return max(1.0, _timed(clock) / clock.spent_ns)
    lost = _lost(clock)
    return max(1.0, (_timed(clock) - lost) / max(_spent(case, clock) - lost, _summed(case)))


def _spent(case: CaseSample, clock: DriverClock) -> float:
    """Return how long all batches took, as far as the system bears out what the process says.

    Those that were not kept are the first three of the quad that is begun anew, and those that are taken again, as
    others had their CPU. What they lost in that way the system has counted. What they took beside it is that of a
    batch each, of which there are no more than times that the CPU was taken, and, but for one in which the driver says
    that it wants to look, at most 19 times what others had. Where nobody took the CPU (an interrupt, the hypervisor) no
    more than one batch in 32 is taken again, which is less than CLOCK_SHARE.
    """
    if clock.forced is None:
        return clock.spent_ns
    a, b = fmean(case.a_ns), fmean(case.b_ns)
    beside = min(clock.forced * max(a, b), max(a, b) + (LITTLE - 1) * clock.others_ns)
    return min(clock.spent_ns, _summed(case) + a + 2 * b + _lost(clock) + beside)


def _lost(clock: DriverClock) -> int:
    """Return how long others had the CPU of the process, or the hypervisor: it gains nothing by losing more."""
    return max(clock.others_ns, _timed(clock) - clock.busy_ns)


def _timed(clock: DriverClock) -> int:
    """Return how long the process was awake, by the driver's clock."""
    return max(clock.wall_ns - clock.late_ns, min(clock.busy_ns, clock.wall_ns))


def _longest(sample: ProcessSample) -> _Clocks:
    """Compare the clocks of the case whose batches are the longest for its timing."""
    pairs = [(_summed(case), case.clock.wall_ns) for case in sample.cases.values() if case.clock is not None]
    return max(_Clocks(summed - (1 + CLOCK_SHARE) * wall, summed, wall) for summed, wall in pairs)


def _shorter(sample: ProcessSample) -> _Clocks:
    """Compare the clocks of all cases together; on a GPU, whose own clock times the batches, nothing is."""
    beyond, spent, wall, waited = 0.0, 0.0, 0.0, 0
    for case in sample.cases.values():
        clock = case.clock
        if clock is None or not clock.spent_ns:
            continue
        spent_ns, timed = _spent(case, clock), _timed(clock)
        batches = (len(case.a_ns) + len(case.b_ns)) * max(1.0, spent_ns / _summed(case))
        beyond += (1 - CLOCK_SHARE) * timed - spent_ns - BETWEEN_NS * batches
        spent, wall, waited = spent + spent_ns, wall + timed, waited + clock.waited_ns
    return _Clocks(beyond - COLD_NS - min(waited, MOST_WAITED_NS), spent, wall)


def _summed(case: CaseSample) -> float:
    return float(sum(case.a_ns) + sum(case.b_ns))
