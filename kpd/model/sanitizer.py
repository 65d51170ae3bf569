"""Defines what compute-sanitizer and a call at a very large size say of an accepted candidate."""

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

Tool = Literal["memcheck", "overflow", "initcheck", "racecheck"]
"""Tools of compute-sanitizer: accesses out of bounds, reads of unwritten global memory, races in shared memory.

overflow is kpd's own: calls at sizes near the cases, which are timed, and at one at which a buffer has more elements
than a number of 32 bits counts.
"""
TOOLS: tuple[Tool, ...] = get_args(Tool)
NEEDED: tuple[Tool, ...] = ("memcheck",)
"""These have to see every case, and trouble with them counts. Of the others only the errors that they find count."""


class ToolReport(msgspec.Struct, frozen=True):
    """What one tool saw in `seconds`: `cases` of the `of` checked cases came to their end under it.

    `errors` is the number that it reports, `said` the first of them in the tool's words. `trouble` says why it did not
    see every case, in the words of who failed; empty where it only ran out of time. Where it could not run, `of` is 0.
    `baseline`: the baseline has errors or trouble under this tool, too, or could not be looked at as far, so that
    nothing is held against the candidate.
    """

    tool: Tool
    cases: int
    of: int
    seconds: float
    errors: int = 0
    said: str = ""
    trouble: str = ""
    baseline: bool = False


def passed(reports: Iterable[ToolReport]) -> bool:
    """Return whether each tool that is needed came to its end with every case."""
    whole = {one.tool for one in reports if one.of and one.cases == one.of and not one.trouble}
    return whole.issuperset(NEEDED)
