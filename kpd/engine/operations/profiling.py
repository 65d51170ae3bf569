"""Implements the full profile of an ended iteration; it is kept beside the run's own results."""

from typing import Any

from kpd.engine import edits
from kpd.engine.engine import Engine
from kpd.engine.turns import DeviceClaim
from kpd.hosts.job import device_claim
from kpd.measure.catalogue import prepare
from kpd.measure.compiling import BuildError
from kpd.model.codec import encode
from kpd.model.detail import detail
from kpd.operations.iterations import ProfileInFull
from kpd.operations.operation import Refused, RunIteration
from kpd.profile.catalogue import profiler_of
from kpd.workspace.run_files import IterationFolder

METRICS = "metrics_full.json"


async def profile(engine: Engine, op: ProfileInFull, target: RunIteration, by: str) -> dict[str, Any]:
    """Profile an ended iteration in full, and write the result to its folder.

    Returns the metrics, the findings and the names of the files. It waits for its turn while a run measures on the
    device. It changes nothing that the run has found or concluded. Raises Refused, TaskError, HostError, OSError.
    """
    run, it = target
    name = target.ref
    timed = detail(engine.journal.events(run.id, it.number)).timed
    if timed is None:
        raise Refused(f"{name} was never timed: it did not build, or its results are wrong")
    host, device = engine.pool.hosts.get(run.host), engine.pool.device_of(run)
    if host is None or device is None:
        raise Refused(f"{run.id} was measured on {run.device} of host {run.host}, which is not available now")
    profiler = profiler_of(device.kind)
    if profiler.in_full is None:
        raise Refused(
            f"{name} was measured on a {device.kind.upper()}: its profile is all there is", f"kpd show {name}"
        )
    task = edits.snapshot_of(engine.workspace, run)
    if edits.hashes(edits.present(task.folder, task.protected)) != run.pinned:
        raise Refused(f"{run.id}'s own copy of the task was changed", "queue a new run")
    folder = IterationFolder(engine.workspace.iteration_folder(run.task, run.id, it.number))
    files = folder.read_candidate()

    def say(text: str) -> None:
        engine.journal.live("job", run.id, it.number, text)

    job = f"{name}-full"
    claim = DeviceClaim(engine.scheduler.turns, job, lambda reason: None)
    before = device_claim.set(claim)
    try:
        bench = await prepare(host, task, device, say)
        built = await bench.build(await bench.stage(files), files, say)
        async with claim.turn(host.name, device.id):
            found = await profiler.in_full(bench, built.job, timed, job, say)
        await bench.forget(job)
    except BuildError as err:
        raise Refused(f"{name} does not build any more: {err}") from err
    finally:
        device_claim.reset(before)
    if found.trouble:
        raise Refused(f"no profile of {name}: {found.trouble}")
    known = {"metrics": found.metrics, "missing": found.missing, "advice": found.advice}
    for file, content in {**found.files, METRICS: encode(known)}.items():
        folder.write(file, content)
    return {
        **known,
        "run": run.id,
        "iteration": it.number,
        "folder": str(folder.folder),
        "files": [*found.files, METRICS],
        "findings": profiler.findings(found.metrics),
        "bottleneck": profiler.bottleneck(found.metrics),
    }
