"""Runs whose candidates are fast in different cases."""

from dataclasses import replace

from kpd.model import events as e
from kpd.model.profiles import CaseTime
from tests.support.tui import logs

NAMES = (
    "rows=64 cols=4096", "rows=1 cols=262144", "rows=512 cols=512", "rows=2048 cols=128", "rows=16 cols=16384",
    "rows=7 cols=1003",
)  # fmt: skip
GAINS = {
    0: (0.0,) * 6,
    1: (31.0, 12.0, 62.0, 4.0, 28.0, -9.0),
    3: (-6.0, 58.0, -20.0, -3.0, 18.0, -30.0),
    4: (14.0, -4.0, 22.0, 9.0, 20.0, 6.0),
    5: (0.3, 1.0, -0.2, 0.4, -8.0, 41.0),
}
"""The gain of each case over the incumbent of then, in percent, for the iterations of `logs.some` that were timed."""
WEIGHTS = (4.0, 1.0, 1.0, 0.5, 2.0, 1.0)


def by_case(gains: dict[int, tuple[float, ...]] = GAINS, names: tuple[str, ...] = NAMES) -> logs.Log:
    """The run of `logs.some`, with these gains of its cases; every interval is 1 % either way."""
    log = logs.some()
    log.events[:] = [
        replace(event, fact=_of_cases(event.fact, gains, names)) if isinstance(event.fact, e.Timed) else event
        for event in log.events
    ]
    return log


def _of_cases(timed: e.Timed, gains: dict[int, tuple[float, ...]], names: tuple[str, ...]) -> e.Timed:
    cases = (
        CaseTime(name, 100 - gain, 100.0, gain, low_pct=gain - 1, high_pct=gain + 1, weight=WEIGHTS[at % len(WEIGHTS)])
        for at, (name, gain) in enumerate(zip(names, gains[timed.iteration], strict=True))
    )
    return replace(timed, cases=tuple(cases))
