"""Tries a task on this machine: builds what it holds and checks it once, and says how far it is from being refused."""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.preflight.cards import devices
from kpd.measure.bench import Bench, BuiltObject, CheckFailed, CheckPassed
from kpd.measure.c.build import lacks_optimisation
from kpd.measure.catalogue import device_of, prepare
from kpd.measure.command.bench import CommandBench
from kpd.measure.compiling import BuildError
from kpd.measure.contest import RUNS
from kpd.measure.driver.bench import DriverBench
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
ENOUGH = 1 << 24
"""The elements of each case, with each kind of inputs, after which more seeds tell no more of the worst one."""
MOST_MARGIN = 0.5
"""The share of the tolerance that the task's own kernel may use; above it, a correct candidate may be refused."""
LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class TaskTrial:
    """What a trial found: `problems` refuse the task, `warnings` do not, `notes` say what kpd understood.

    Was it `untried`, the one problem is this machine's, and tells nothing of the kernel. `margin` is the largest error
    of the task's own kernel as a share of the tolerance; None where nothing was compared.
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    margin: float | None = None
    untried: bool = False


def trial(task: Task, config: HostConfig) -> TaskTrial:
    """Build the task's own kernel on this machine, and check it, or run its commands once. Raises OSError."""
    with TrialPlace(task, config) as place:
        return place.own()


class TrialPlace:
    """A folder of this machine in which a task is tried: what one trial builds and measures, the next ones use."""

    def __init__(self, task: Task, config: HostConfig) -> None:
        self._task, self._config = task, config
        self._stack = ExitStack()
        self._tried = 0

    def __enter__(self) -> "TrialPlace":
        scratch = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="kpd-task-check-"))
        self.folder = Path(scratch)
        self._loop = self._stack.enter_context(asyncio.Runner())
        self._host = Host("local", PurePosixPath(scratch), Local(), leases=self._config.leases)
        self._stack.callback(lambda: self._loop.run(self._host.close()))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def own(self) -> TaskTrial:
        """Try the task's own kernel with as many seeds as are needed, or run its commands once. Raises OSError."""
        return self._loop.run(self._trial({}))

    def changed(self, candidates: Sequence[Mapping[str, bytes]]) -> Iterator[TaskTrial]:
        """Try candidates with these files, with one seed each. Raises OSError.

        A trial begins when it is asked for. Those by kpd's runner for Python share a job, which imports libraries once.
        """
        told = self._loop.run(self._together(candidates)) if len(candidates) > 1 else ()
        yield from told or (self._loop.run(self._trial(files)) for files in candidates)

    async def _bench(self, seeds: int) -> Bench | None:
        """Return the task on this machine, with so many seeds in a check; None without its device."""
        await self._host.connect()
        kind = device_of(self._task.language, self._task.need)
        fitting = (one for one in devices(await self._host.probe(), self._config) if one.kind == kind)
        if (device := next(fitting, None)) is None:
            return None
        return await prepare(self._host, _seeded(self._task, seeds), device, lambda text: None)

    async def _built(self, bench: Bench, changed: Mapping[str, bytes]) -> BuiltObject:
        files = {**read_files(self._task.folder, self._task.editable), **changed}
        return await bench.build(await bench.stage(files), files, lambda text: None)

    async def _together(self, candidates: Sequence[Mapping[str, bytes]]) -> Sequence[TaskTrial]:
        """Try candidates in one job. Return nothing where that cannot be, or one of them does not come to an end."""
        self._tried += 1
        try:
            bench = await self._bench(1)
            if not isinstance(bench, DriverBench) or not bench.harness.chains:
                return ()
            built = [(await self._built(bench, files)).job for files in candidates]
            found = await bench.check_each(built, f"each-{self._tried}", lambda text: None)
        except (BuildError, TaskError, CheckFailed, HostError):
            return ()
        return [TaskTrial(problems=(str(one),) if isinstance(one, CheckFailed) else ()) for one in found]

    async def _trial(self, changed: Mapping[str, bytes]) -> TaskTrial:
        task, host = self._task, self._host
        self._tried += 1
        try:
            if (bench := await self._bench(1)) is None:
                return TaskTrial(notes=("not built and not run: this machine has no GPU", *await _lacking(host, task)))
            built = await self._built(bench, changed)
            if isinstance(bench, CommandBench):
                return await _commanded(bench, built.job, task, self._tried)
            begun = time.monotonic()
            passed = await bench.check(built.job, f"one-{self._tried}", lambda text: None)
            spent, seeds = time.monotonic() - begun, 1
            if not changed and (more := seeds_for(spent, passed.fewest) - 1):
                bench, begun = await self._bench(more) or bench, time.monotonic()
                passed = _joined(passed, await bench.check(built.job, f"more-{self._tried}", lambda text: None))
                spent, seeds = (time.monotonic() - begun) / more, 1 + more
            return _judged(bench, passed, task, built.flags, seeds, spent)
        except (BuildError, TaskError, CheckFailed, HostError) as err:
            return TaskTrial(problems=(str(err),), untried=isinstance(err, HostError))


def seeds_for(spent_s: float, compared: int) -> int:
    """Return with how many seeds the task's own kernel is tried, by what a check of one took and compared.

    `compared` are the elements of the case that has the fewest, 0 where that is not known.
    """
    needed = -(-ENOUGH // compared) if compared else SEEDS
    return max(FEWEST_SEEDS, min(SEEDS, needed, int(CHECK_S / spent_s)))


def _joined(one: CheckPassed, other: CheckPassed) -> CheckPassed:
    """Return what two checks of the same kernel tell together."""
    return replace(
        max(one, other, key=lambda passed: passed.worst), comparisons=one.comparisons + other.comparisons,
        drawn=one.drawn + other.drawn, unchecked=one.unchecked + other.unchecked,
    )  # fmt: skip


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


def _judged(bench: Bench, passed: CheckPassed, task: Task, flags: str, seeds: int, seed_s: float) -> TaskTrial:
    """Say what a check tells that the kernel has passed; `seed_s` are the seconds of a seed."""
    about = seed_s * task.check.seeds
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


async def _commanded(bench: CommandBench, built: str, task: Task, number: int) -> TaskTrial:
    await bench.check(built, f"check-{number}", lambda text: None)
    found, seconds = await bench.result(built, f"result-{number}", lambda text: None)
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
