"""Ends jobs on a host that no run needs any more: left by a crash, or by a link that was down."""

import re

from kpd.engine.attempt import IN_PLACE
from kpd.engine.journal import Journal
from kpd.hosts.host import Host

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
