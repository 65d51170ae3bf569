"""Defines what the last checks, compute-sanitizer and calls at other sizes, say of an accepted candidate."""

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

Tool = Literal["memcheck", "overflow", "initcheck", "racecheck"]
"""Tools of compute-sanitizer: accesses out of bounds, reads of unwritten global memory, races in shared memory.

overflow is kpd's own. On a GPU: calls at sizes near the cases, which are timed, and at one at which a buffer has more
elements than a number of 32 bits counts. On a CPU: calls at sizes that are far larger than those of the cases.
"""
TOOLS: tuple[Tool, ...] = get_args(Tool)
"""All of them, in the order in which they look.

The first one that looks at a candidate decides: it has to see every case, and trouble with it counts. Of the others
only the errors that they find count.
"""


class ToolReport(msgspec.Struct, frozen=True):
    """What one tool saw in `seconds`: `cases` of the `of` checked cases, or sizes, came to their end under it.

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
    """Return whether the tool that decides came to its end with every case, or had none to look at."""
    first = next(iter(reports), None)
    return first is None or bool(first.of and first.cases == first.of and not first.trouble)
