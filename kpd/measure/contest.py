"""Times candidate against incumbent in as many fresh processes as the verdict needs."""

from collections.abc import Callable
from contextlib import aclosing

from kpd.hosts.errors import HostError
from kpd.measure.bench import Bench, Say
from kpd.measure.judge import LOOKS, QUICK, BadSamples, decide
from kpd.measure.samples import ProcessSample

MOST_TAINTED = 15
"""More disturbed processes than this in one contest mean that the machine is busy with other work."""
MOST = QUICK + LOOKS[-1] + MOST_TAINTED
RUNS = 2 * LOOKS[-1]
"""The most runs of a task's own benchmark in a contest without disturbed ones: each process is a pair of them."""


async def contest(
    bench: Bench,
    incumbent: str,
    candidate: str,
    job: Callable[[str], str],
    min_gain_pct: float,
    say: Say,
    keep: Callable[[tuple[ProcessSample, ...]], None],
    thorough: bool = False,
    quick: int = QUICK,
    audited: Callable[[tuple[ProcessSample, ...]], bool] = lambda samples: False,
) -> tuple[ProcessSample, ...]:
    """Time both objects until the verdict is settled; return all samples, disturbed ones too.

    `keep` is called with all samples after each new one. `job` makes the id of a job on the host from a short name.
    When it is settled, `audited` says whether the candidate is audited next.
    With `thorough`, processes run up to the last look, however clear the verdict is before, and none is quick. Else
    those with numbers below `quick` may be.

    One job could run all processes that a verdict can need; it is ended as soon as the verdict is settled. It has the
    same id after a restart, so what it reported is read, not measured again. If it was ended before the verdict was
    settled, another job goes on. Raises CheckFailed when an output is wrong while timed, and HostError (busy) when too
    many processes are disturbed.
    """
    samples: tuple[ProcessSample, ...] = ()
    jobs: list[str] = []
    allowed = 0 if thorough else quick

    def leave() -> bool:
        return not decide(samples, min_gain_pct, thorough) and audited(samples)

    try:
        while decide(samples, min_gain_pct, thorough):
            jobs.append(job(f"time{len(jobs)}"))
            first, processes = len(samples), MOST - len(samples)
            taking = bench.time(incumbent, candidate, jobs[-1], first, processes, say, allowed, leave)
            async with aclosing(taking) as taken:
                async for sample in taken:
                    samples += (sample,)
                    keep(samples)
                    _refuse_disturbed(samples)
                    if not decide(samples, min_gain_pct, thorough):
                        break
    except (HostError, BadSamples) as err:
        for name in jobs:  # a retry has to measure again, not to read the old results
            await bench.forget(name)
        if isinstance(err, BadSamples):
            raise HostError("host", str(err), "resume to measure again") from err
        raise
    return samples


def _refuse_disturbed(samples: tuple[ProcessSample, ...]) -> None:
    tainted = [sample.taint for sample in samples if sample.taint]
    if len(tainted) > MOST_TAINTED:
        disturbed = f"{len(tainted)} of {len(samples)} processes were disturbed ({tainted[-1]})"
        raise HostError("busy", f"too busy to measure: {disturbed}")
