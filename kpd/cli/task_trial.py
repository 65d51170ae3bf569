"""Tries a task on this machine: builds what it holds and checks it once, and says how far it is from being refused."""

import asyncio
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.preflight.cards import devices
from kpd.measure.bench import Bench, CheckFailed
from kpd.measure.c.build import lacks_optimisation
from kpd.measure.catalogue import device_of, prepare
from kpd.measure.command.bench import CommandBench
from kpd.measure.compiling import BuildError
from kpd.measure.contest import RUNS
from kpd.measure.python.bench import interpreter
from kpd.text.checks import sizes
from kpd.text.notices import not_optimised
from kpd.text.numbers import counted
from kpd.text.verdicts import UNCHECKED
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.languages import LANGUAGES, PYTHON
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task, TaskError

SEEDS, FEWEST_SEEDS = 20, 3
CHECK_S = 120.0
"""A check with more than `FEWEST_SEEDS` takes about so long at most, by the time that one of one seed took."""
MOST_MARGIN = 0.5
"""The share of the tolerance that the task's own kernel may use; above it, a correct candidate may be refused."""
LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class TaskTrial:
    """What a trial found: `problems` refuse the task, `warnings` do not, `notes` say what kpd understood.

    `margin` is the largest error of the task's own kernel as a share of the tolerance; None where nothing was compared.
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    margin: float | None = None


def trial(task: Task, config: HostConfig, seeds: int = SEEDS, changed: Mapping[str, bytes] | None = None) -> TaskTrial:
    """Build the task's own kernel on this machine, and check it with so many seeds at most, or run its commands once.

    With `changed` files it is a candidate that is tried, in place of the task's own kernel. Raises OSError.
    """
    with tempfile.TemporaryDirectory(prefix="kpd-task-check-") as folder:
        return asyncio.run(_trial(task, config, Path(folder), seeds, changed or {}))


def has_device(kind: str, config: HostConfig) -> bool:
    """Return whether this machine has a device of this kind. Raises OSError."""

    async def found() -> bool:
        with tempfile.TemporaryDirectory(prefix="kpd-devices-") as folder:
            host = Host("local", PurePosixPath(folder), Local(), leases=config.leases)
            try:
                await host.connect()
                return any(device.kind == kind for device in devices(await host.probe(), config))
            finally:
                await host.close()

    return asyncio.run(found())


async def _trial(task: Task, config: HostConfig, folder: Path, seeds: int, changed: Mapping[str, bytes]) -> TaskTrial:
    host = Host("local", PurePosixPath(folder), Local(), leases=config.leases)
    try:
        await host.connect()
        kind = device_of(task.language, task.need)
        fitting = (device for device in devices(await host.probe(), config) if device.kind == kind)
        if (device := next(fitting, None)) is None:
            return TaskTrial(notes=("not built and not run: this machine has no GPU", *await _lacking(host, task)))
        bench = await prepare(host, _seeded(task, 1), device, lambda text: None)
        files = {**read_files(task.folder, task.editable), **changed}
        built = await bench.build(await bench.stage(files), files, lambda text: None)
        if isinstance(bench, CommandBench):
            return await _commanded(bench, built.job, task)
        begun = time.monotonic()
        if seeds > 1:
            await bench.check(built.job, "one", lambda text: None)
            seeds = min(seeds, max(FEWEST_SEEDS, int(CHECK_S / (time.monotonic() - begun))))
            bench = await prepare(host, _seeded(task, seeds), device, lambda text: None)
        return await _driven(bench, built.job, task, built.flags, seeds)
    except (BuildError, TaskError, CheckFailed, HostError) as err:
        return TaskTrial(problems=(str(err),))
    finally:
        await host.close()


def _seeded(task: Task, seeds: int) -> Task:
    """Return the task with so many seeds in a check; unchanged where its own command is the check."""
    if task.bench.command is not None:
        return task
    return replace(task, check=replace(task.check, seeds=seeds, limit_s=max(LIMIT_S, task.check.limit_s)))


async def _lacking(host: Host, task: Task) -> tuple[str, ...]:
    """Say what else this machine lacks that a task in Python for kpd's own runner needs."""
    language = LANGUAGES.get(task.language)
    if task.bench.command is not None or language is None or language.runner != PYTHON.runner:
        return ()
    try:
        await interpreter(host, task, await host.probe())
    except HostError as err:
        return (str(err),)
    return ()


async def _driven(bench: Bench, built: str, task: Task, flags: str, seeds: int) -> TaskTrial:
    begun = time.monotonic()
    passed = await bench.check(built, "check", lambda text: None)
    about = (time.monotonic() - begun) * task.check.seeds / seeds
    kinds = len(task.check.distributions)
    over = f"{counted(seeds, 'seed')} x {counted(kinds, 'kind')}"
    note = f"worst element at {passed.worst:.2g} of the tolerance ({passed.where}), over {over}"
    warnings = [found for found in (sizes(passed),) if found]
    if passed.worst > MOST_MARGIN:
        warnings.append(f"that is above {MOST_MARGIN:g}: a candidate that is as correct as this kernel may be refused")
    if about > task.check.limit_s:
        limit = f"limit_s in [check] is {task.check.limit_s:g}: raise it"
        warnings.append(f"in a run a check takes about {about:.1f} s here, and {limit}")
    if lacks_optimisation(task.language, flags):
        warnings.append(not_optimised(flags))
    notes = (note, "timed on one CPU") if bench.device.kind == "cpu" else (note,)
    return TaskTrial(warnings=tuple(warnings), notes=notes, margin=passed.worst)


async def _commanded(bench: CommandBench, built: str, task: Task) -> TaskTrial:
    await bench.check(built, "check", lambda text: None)
    found, seconds = await bench.result(built, "result", lambda text: None)
    cases = f"{counted(len(found.cases), 'case')} ({', '.join(list(found.cases)[:5])})" if found.cases else "no cases"
    said = ", ".join(f"{claim.place} = {claim.said}" for claim in found.claims[:5]) or "nothing"
    of = f"score {task.bench.score} = {found.score:g} ({task.bench.direction} is better)"
    notes = (
        f"{of if task.own_score else 'score: the mean time of the cases by their weights'}, {cases}",
        f"says about its correctness: {said}",
        f"one run takes {seconds:.1f} s; a baseline or candidate is timed in up to {RUNS} runs: {RUNS * seconds:.0f} s",
        "timed on one CPU" if task.need.cpus == 1 else f"timed on {task.need.cpus or 'all'} CPUs",
    )
    return TaskTrial(warnings=(UNCHECKED,) if task.check.unchecked else (), notes=notes)
