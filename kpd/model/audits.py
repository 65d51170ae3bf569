"""Defines what is told of the audits that a candidate passes before it is accepted."""

import msgspec


class AuditedGain(msgspec.Struct, frozen=True):
    """A gain in percent of time as an audit found it, and the ends of its interval."""

    pct: float
    low: float
    high: float


class AuditSummary(msgspec.Struct, frozen=True):
    """The gain on fresh inputs, the gain between processes that time one kernel only, and what that cost.

    `calls` is the number of calls of either kernel on inputs of their own. Of the candidate's batches of such calls
    `compared` were compared with the truth. In `unread` of `processes` the code in memory could not be read, so it was
    not compared with what was loaded. `kept` is the part of the gain that is there only while inputs hardly change from
    call to call; None where that was not measured. `cold` is the share of its gain in the contest that a candidate has
    on fresh inputs if cold caches cost it as much time as they cost the incumbent. `driver` is the gain alone by the
    driver's own clock; None where that does not time processes, and in older audits. `clocked` is the gain on fresh
    inputs by that clock; None in the same cases, and on a GPU. `steady` is the most that the error of the contest's own
    gain counts, after the last audit only: what of it is more than the incumbent's times tell may be the candidate's
    doing. The audits were taken `times`; None in older audits. `apart`: on fresh inputs each kernel had a process of
    its own, and there is no clock but the driver's; where there are both, `clocked` tells. `by_turns`: alone, either
    kernel had a process of its own, and both were called by turns. `longer`: by so much the candidate's calls on fresh
    inputs took longer on average than its median one, in percent of that, without as many nanoseconds as the
    incumbent's did; None where both shared a process. `rows` is the gain on fresh inputs where calls follow one
    another; None where it was not asked for, or cannot be. `whole` are the seconds from the contest's end to
    that of the last audit, repeats and all; None in older audits.
    """

    fresh: AuditedGain
    alone: AuditedGain
    calls: int
    compared: int
    seconds: float
    unread: int = 0
    processes: int = 0
    kept: AuditedGain | None = None
    cold: float = 1.0
    driver: AuditedGain | None = None
    clocked: AuditedGain | None = None
    steady: float | None = None
    times: int | None = None
    apart: bool = False
    by_turns: bool = False
    longer: float | None = None
    rows: AuditedGain | None = None
    whole: float | None = None
