"""Candidate against incumbent in as many fresh processes as the verdict needs."""

from collections.abc import Callable

from kpd.hosts.errors import HostError
from kpd.measure.bench import Bench, Say
from kpd.measure.judge import decide
from kpd.measure.samples import ProcessSample

MOST_TAINTED = 15
"""So many disturbed processes in one contest mean that the machine is busy with something else."""


async def contest(
    bench: Bench,
    incumbent: str,
    candidate: str,
    job: Callable[[str], str],
    min_gain_pct: float,
    say: Say,
    keep: Callable[[tuple[ProcessSample, ...]], None],
) -> tuple[ProcessSample, ...]:
    """All samples, disturbed ones too; `keep` is told after every batch. `job` names a batch's job on the host.

    Batches have the same names after a restart, so those that were finished are read, not measured again.
    Raises Incorrect when an output is wrong while timed, HostError when too many processes are disturbed.
    """
    samples: tuple[ProcessSample, ...] = ()
    batch = 0
    while more := decide(samples, min_gain_pct):
        samples += await bench.time(incumbent, candidate, job(f"time{batch}"), len(samples), more, say)
        keep(samples)
        batch += 1
        tainted = [sample.taint for sample in samples if sample.taint]
        if len(tainted) > MOST_TAINTED:
            disturbed = f"{len(tainted)} of {len(samples)} processes were disturbed ({tainted[-1]})"
            raise HostError("host", f"too busy to measure: {disturbed}", "end other work on it, then resume")
    return samples
