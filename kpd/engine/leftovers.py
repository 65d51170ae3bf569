"""Ends jobs on a host that no run needs any more, left by a crash or a lost link, and removes what is old there."""

import logging
import re
import time

from kpd.engine.attempt import IN_PLACE
from kpd.engine.journal import Journal
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host

CLEAN_EVERY_S = 86_400.0
KEPT_S = 7 * 86_400.0  # how long a host keeps finished jobs and content that nobody has used
KEPT_BYTES = 10 << 30  # and how much of them
OF_A_STEP = re.compile(r"(r\d+)\.(\d+)\.\d+-")
"""The ids that `Attempt.job` makes. All other jobs are named by their content, and end by themselves."""
log = logging.getLogger(__name__)


class Housekeeper:
    """Ends jobs of hosts that no run needs, and removes old ones and old content from each host once a day."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._cleaned: dict[str, float] = {}  # when each was, by the monotonic clock

    async def tidy(self, host: Host) -> None:
        """Tidy a host up. An error is only logged: runs can go on without this."""
        try:
            await self._end_leftovers(host)
            await self._clean(host)
        except HostError as err:
            log.warning("host %s could not be cleaned up: %s", host.name, err)

    async def _end_leftovers(self, host: Host) -> None:
        """End the jobs of iterations that are over, unless they are its last checks; others go on.

        What measures the incumbent in a candidate's place is ended, too: it is begun anew under another name.
        """
        for job in await host.running():
            found = OF_A_STEP.match(job)
            if found is not None and (IN_PLACE in job or not self._wanted(found[1], int(found[2]))):
                await host.kill(job)

    def _wanted(self, run_id: str, number: int) -> bool:
        run = self._journal.state.runs.get(run_id)
        if run is None or not run.begun:
            return False
        return number in {it.number for it in (*run.unsanitized, *run.open)}

    async def _clean(self, host: Host) -> None:
        """Remove what is old, or too much, unless that was done within the last day."""
        if time.monotonic() - self._cleaned.get(host.name, -CLEAN_EVERY_S) >= CLEAN_EVERY_S:
            self._cleaned[host.name] = time.monotonic()
            await host.clean(KEPT_S, KEPT_BYTES)
