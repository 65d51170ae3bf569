"""Decides how many more audits of a kernel on a CPU there is time for, and what becomes of it when there is none.

What takes long in audits only, by whatever means, makes them fewer. So nothing is accepted then that is not settled.
"""

from typing import NamedTuple

from msgspec import structs

from kpd.measure.audits import (
    SMALL_PCT,
    AuditSamples,
    at_first,
    refuse_gain,
    times_alone,
    until_next_look,
    wants_more,
)
from kpd.model.audits import AuditSummary
from kpd.model.faults import GainUnconfirmed
from kpd.model.verdicts import Gain

AIM_S = 3.0
"""Seconds from the contest's end in which audits and repeats are to be over; those that leave doubt by then, as beside
other work, go on for …"""
MOST_S = 15.0
"""… so long at the most: no job is begun that would end later."""
FIRST_LONGER_S = 0.43
"""So much more time than any later one the first audit has, where it is the only one of its job."""
ALONE_LONGER = 1.25
"""So many times as long as beside repeats it takes to time each kernel alone in a later job."""
MOST_ALONE = 6
"""Processes that time one kernel only, each time that kernels are timed alone, at the most."""


class NextJob(NamedTuple):
    """So many more audits, and how often each kernel is timed alone beside them; none where they are over.

    `late`: there is no time for what was wanted, and nothing is accepted. More can only refuse what seems to be missing
    beyond doubt so far.
    """

    times: int
    alone: int
    late: bool


def next_job(found: AuditSamples, told: AuditSummary, claimed: Gain, passed_s: float) -> NextJob:
    """Return the job that takes more audits of a gain which is not settled, so long after the contest.

    Of a small gain that is in doubt only where each kernel is timed alone no more are taken than end by AIM_S: on fresh
    inputs, too, either had a process of its own, and after the last audit that doubt refuses nobody either.
    """
    most = until_next_look(told)
    only_alone = not wants_more(structs.replace(told, alone=told.fresh, driver=None), claimed)
    left_s = (AIM_S if only_alone and claimed.pct < SMALL_PCT else MOST_S) - passed_s
    for times in range(most, 0, -1):
        wanted = times_alone(told, claimed, times)
        for alone in (wanted,) if only_alone else (wanted, 0):
            if told.clocked is None or _seconds(found, claimed, times, alone) <= left_s:
                return NextJob(times, alone, late=False)
    if refuse_gain(told, claimed) is None:
        return NextJob(0, 0, late=not only_alone or claimed.pct >= SMALL_PCT)
    return NextJob(most, times_alone(told, claimed, most), late=True)


def cut_short(told: AuditSummary, claimed: Gain) -> GainUnconfirmed:
    """Return the fault of a candidate whose audits ended in doubt, as their time was over."""
    fresh, clocked = told.fresh, told.clocked
    if clocked is not None and clocked.low < fresh.low:
        return GainUnconfirmed("clocked", claimed.pct, clocked.pct, clocked.low, clocked.high, told.times, MOST_S)
    return GainUnconfirmed("fresh", claimed.pct, fresh.pct, fresh.low, fresh.high, told.times, MOST_S)


def _seconds(found: AuditSamples, claimed: Gain, times: int, alone: int) -> float:
    """Estimate how long such a job takes, from what the audits so far took."""
    longer = FIRST_LONGER_S if at_first(claimed) == 1 else 0.0
    each = max(found.fresh_s - longer, 0.0) / found.times
    each_alone = MOST_ALONE * found.alone_s / max(len(found.alone), 1)
    single = FIRST_LONGER_S if times == 1 and alone else 0.0  # such a job is made as a first one is
    return times * each + single + ALONE_LONGER * alone * each_alone
