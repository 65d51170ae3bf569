"""Candidate against incumbent in as many fresh processes as the verdict needs."""

from collections.abc import Callable

from kpd.hosts.errors import HostError
from kpd.measure.bench import Bench, Say
from kpd.measure.judge import BadSamples, decide
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
    jobs: list[str] = []
    try:
        while more := decide(samples, min_gain_pct):
            jobs.append(job(f"time{len(jobs)}"))
            samples += await bench.time(incumbent, candidate, jobs[-1], len(samples), more, say)
            keep(samples)
            _refuse_disturbed(samples)
    except (HostError, BadSamples) as err:
        for name in jobs:  # what is asked for again is to be measured again, not read again
            await bench.forget(name)
        if isinstance(err, BadSamples):
            raise HostError("host", str(err), "resume to measure again") from err
        raise
    return samples


def _refuse_disturbed(samples: tuple[ProcessSample, ...]) -> None:
    tainted = [sample.taint for sample in samples if sample.taint]
    if len(tainted) > MOST_TAINTED:
        disturbed = f"{len(tainted)} of {len(samples)} processes were disturbed ({tainted[-1]})"
        raise HostError("host", f"too busy to measure: {disturbed}", "end other work on it, then resume")
