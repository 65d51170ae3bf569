"""Ends jobs on a host that no run needs any more, left by a crash or a lost link, and removes what is old there."""

import re
import time

from kpd.engine.attempt import IN_PLACE
from kpd.engine.journal import Journal
from kpd.hosts.host import Host

CLEAN_EVERY_S = 86_400.0
KEPT_S = 7 * 86_400.0  # how long a host keeps finished jobs and content that nobody has used
KEPT_BYTES = 10 << 30  # and how much of them
OF_A_STEP = re.compile(r"(r\d+)\.(\d+)\.\d+-")
"""The ids that `Attempt.job` makes. All other jobs are named by their content, and end by themselves."""


async def end_leftovers(journal: Journal, host: Host) -> None:
    """End the jobs of iterations that are over, unless compute-sanitizer looks at them; others go on. Raises HostError.

    What measures the incumbent in a candidate's place is ended, too: it is begun anew under another name.
    """
    for job in await host.running():
        found = OF_A_STEP.match(job)
        if found is not None and (IN_PLACE in job or not _wanted(journal, found[1], int(found[2]))):
            await host.kill(job)


def _wanted(journal: Journal, run_id: str, number: int) -> bool:
    run = journal.state.runs.get(run_id)
    if run is None or not run.begun:
        return False
    return number in {it.number for it in (*run.unsanitized, *run.open)}


class DailyCleaner:
    """Removes finished jobs and content from hosts, from each of them once a day."""

    def __init__(self) -> None:
        self._cleaned: dict[str, float] = {}  # when each was, by the monotonic clock

    async def clean(self, host: Host) -> None:
        """Remove what is old, or too much, unless that was done within the last day. Raises HostError."""
        if time.monotonic() - self._cleaned.get(host.name, -CLEAN_EVERY_S) >= CLEAN_EVERY_S:
            self._cleaned[host.name] = time.monotonic()
            await host.clean(KEPT_S, KEPT_BYTES)
