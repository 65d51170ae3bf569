"""A profile in full of an iteration that has ended: asked for by a person, kept beside what the run itself found."""

from typing import Any

from kpd.engine import edits, taskfolder
from kpd.engine.engine import Engine
from kpd.engine.refused import Refused
from kpd.measure.catalogue import BENCHES
from kpd.measure.compiling import BuildError
from kpd.model.codec import encode
from kpd.model.detail import detail
from kpd.model.nouns import Iteration, Run
from kpd.profile.catalogue import PROFILERS
from kpd.workspace.runfolder import IterationFolder

METRICS = "metrics_full.json"


async def in_full(engine: Engine, run: Run, it: Iteration) -> dict[str, Any]:
    """What the profiler's whole report comes to, and the names of the files it left in the iteration's folder.

    Waits for the device while a run measures on it. Nothing that the run has found or concluded changes. Raises
    Refused, TaskError, HostError, OSError.
    """
    name = f"{run.id}.{it.number}"
    timed = detail(engine.journal.events(run.id, it.number)).timed
    if it.outcome is None:
        raise Refused(f"{name} is still under way")
    if timed is None:
        raise Refused(f"{name} was never timed: it did not build, or its results are wrong")
    host, device = engine.fleet.hosts.get(run.host), engine.fleet.device_of(run)
    if host is None or device is None:
        raise Refused(f"{run.id} was measured on {run.device} of host {run.host}, which is not there now")
    profiler = PROFILERS[device.kind]
    if profiler.in_full is None:
        raise Refused(
            f"{name} was measured on a {device.kind.upper()}: its profile is all there is", f"kpd show {name}"
        )
    task = edits.snapshot_of(engine.workspace, run)
    if taskfolder.hashes(taskfolder.present(task.folder, task.protected)) != run.pinned:
        raise Refused(f"{run.id}'s own copy of the task was changed", "queue a new run")
    folder = IterationFolder(engine.workspace.iteration_folder(run.task, run.id, it.number))
    files = folder.read_candidate(task.editable)

    def say(text: str) -> None:
        engine.journal.live("job", run.id, it.number, text)

    job = f"{name}-full"
    try:
        bench = await BENCHES[task.language].prepare(host, task, device, say)
        built = await bench.build(await bench.stage(files), files, say)
    except BuildError as err:
        raise Refused(f"{name} does not build any more: {err}") from err
    found = await profiler.in_full(bench, built.job, timed, job, say)
    await bench.forget(job)
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
