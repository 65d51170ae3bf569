"""Sums the kernel's own time in a run of the old program and of the new one, and says why a gain is none there."""

from kpd.hosts.errors import HostError
from kpd.model.deployments import LaunchSum, NoGainReason
from kpd.production.deploy.trial import ProgramTrial
from kpd.production.device import is_cuda
from kpd.production.observe.errors import ObserveError
from kpd.production.observe.step import ObservedProgram, observe


async def launch_sums(trial: ProgramTrial) -> tuple[LaunchSum, LaunchSum] | None:
    """Observe the old program and the new one, once each; None on a CPU, and where they cannot be observed.

    Raises PlaceError.
    """
    place = trial.change.place
    project = place.project
    if not is_cuda(project):
        return None
    cwd = f"{project.root}/{project.cwd}".rstrip("/")
    lease = await place.lease()
    program = ObservedProgram(project.run, cwd, project.kernel, project.limit_run_s, project.env, lease=lease)
    sums = []
    for side in (trial.old, trial.new):
        try:
            for path, sha in side.items():
                await trial.change.put_kept(path, sha)
            seen = await observe(place.host, program)
        except (ObserveError, HostError):
            return None
        times = [one.duration_us for one in seen.launches]
        if any(time is None for time in times):
            return None
        sums.append(LaunchSum(seen.coverage.counted, sum(time or 0.0 for time in times)))
    return sums[0], sums[1]


def no_gain_reason(
    sums: tuple[LaunchSum, LaunchSum], wall_us: float, min_gain_pct: float, most_pct: float
) -> NoGainReason:
    """Say why what is faster alone makes its program no faster. Pure.

    `wall_us` is one run of the old program; of its time the new one saves `most_pct` at most, by its measurement.
    """
    old, new = sums
    least = min_gain_pct / 100
    if old.count != new.count or not old.us:
        return "launches"
    if new.us > old.us * (1 - least):
        return "cache"
    saved = old.us - new.us
    if saved < wall_us * least:
        return "share"
    return "noise" if 100 * saved < wall_us * most_pct else "overlap"
