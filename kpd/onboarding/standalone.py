"""Runs a new task on a device: is its truth the kernel's, and does a case take as long as in production?"""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from uuid import uuid4

from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed, Say
from kpd.measure.catalogue import prepare
from kpd.measure.compiling import BuildError
from kpd.measure.score import case_times
from kpd.model.hosts import Device
from kpd.onboarding.compiled import said
from kpd.onboarding.facts import KernelFacts
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task, TaskError

SEEDS = 20
PROCESSES = 3
"""So many are started until one was disturbed by nothing."""
FAR = 3.0
"""A case whose time differs from production's by more than this factor stands for other work, or other conditions."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A configuration's time alone and in production, in microseconds."""

    name: str
    alone_us: float
    target_us: float

    @property
    def factor(self) -> float:
        """How many times the longer of the two is the shorter one."""
        return max(self.alone_us, self.target_us) / min(self.alone_us, self.target_us)

    @property
    def is_far(self) -> bool:
        return self.factor > FAR

    @property
    def told(self) -> str:
        """The gap in a line."""
        line = f"{self.name}: {self.alone_us:.4g} µs alone, {self.target_us:.4g} µs in production"
        return f"{line}: PROBLEM, a factor of {self.factor:.3g}" if self.is_far else f"{line} ({self.factor:.2f}×)"


@dataclass(frozen=True, slots=True)
class StandaloneTrial:
    """What running the task's own kernel found. `wrong` is the task's fault; without one, `margin` is the largest error
    as a share of the tolerance, and `gaps` has each configuration with a time in production. `untimed` says why the
    times were not to be believed.
    """

    wrong: str = ""
    margin: float = 0.0
    gaps: tuple[Gap, ...] = ()
    untimed: str = ""


async def run_alone(host: Host, device: Device, task: Task, facts: KernelFacts, say: Say) -> StandaloneTrial:
    """Check the task's kernel against its truth with all kinds of inputs, and time it. Raises HostError."""
    seeded = replace(task, check=replace(task.check, seeds=SEEDS, limit_s=max(600.0, task.check.limit_s)))
    id = f"alone-{uuid4().hex}"
    try:
        bench = await prepare(host, seeded, device, say)
        files = read_files(task.folder, task.editable)
        built = (await bench.build(await bench.stage(files), files, say)).job
        passed = await bench.check(built, f"{id}-check", say)
        timed, taint = [], "no process ended"
        async with aclosing(bench.time(built, built, f"{id}-time", 0, PROCESSES, say)) as samples:
            async for sample in samples:
                timed.append(sample)
                if not (taint := sample.taint):
                    break
    except CheckFailed as err:
        whose = "itself" if task.check.truth == "baseline" else "the oracle"
        return StandaloneTrial(f"on the device, the kernel differs from {whose}: {err}")
    except BuildError as err:
        return StandaloneTrial(said(err))
    except TaskError as err:
        return StandaloneTrial(err.what)
    if taint:
        return StandaloneTrial("", passed.worst, (), taint)
    times = {one.case: one.device_us or one.candidate_us for one in case_times(timed, bench.work)}
    return StandaloneTrial("", passed.worst, gaps(facts, times))


def gaps(facts: KernelFacts, alone_us: Mapping[str, float]) -> tuple[Gap, ...]:
    """Compare the times of cases with those of the configurations for which they stand."""
    return tuple(
        Gap(one.name, alone_us[one.name], one.target_us)
        for one in facts.configs
        if one.target_us and alone_us.get(one.name)
    )
