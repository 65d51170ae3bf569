"""Measures trials: what an agent has in its tree, quickly, against the incumbent, while it works on a candidate.

A trial decides nothing: it is recorded under its iteration, and nothing reads it to accept a candidate. Its jobs have
ids of their own, so one that a crash of the daemon has cut is taken up where it was when it is asked for again.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from kpd.engine import builds
from kpd.engine.attempt import Attempt
from kpd.engine.proposing import start_of
from kpd.hosts.errors import HostError
from kpd.measure import bench, score
from kpd.measure.bench import BuiltObject
from kpd.measure.catalogue import stops_threads
from kpd.measure.compiling import BuildError
from kpd.measure.judge import BadSamples, clean, quick_gain
from kpd.measure.samples import ProcessSample, samples_to_json
from kpd.measure.screen import suspicious
from kpd.model import events as e
from kpd.model.faults import CandidateFault, Incorrect, IncorrectTimed
from kpd.model.profiles import CaseTime, Finding
from kpd.model.trials import TrialBudget, TrialEnd, TrialStarted, Tried
from kpd.model.waits import HostTrouble
from kpd.profile.catalogue import profiler_of
from kpd.workspace.paths import OutsideFolder
from kpd.workspace.run_files import digest

PROCESSES = 3
"""The processes of a trial, if its agent does not ask for more."""
MOST_PROCESSES = 9
SPARE = 3
"""So many processes more are measured where some are disturbed."""
MOST_JOBS = 10
"""A trial that is cut again and again is not gone on with for ever."""
MOST_FEEDBACK = 4000
"""The most characters of a compiler's output that a trial keeps."""


HELD = "device_s.json"
"""The file of a trial with the seconds for which it had the device so far, for the case that it is cut off."""


class Spent(Exception):
    """The error that an agent's trials, or its seconds on the device, are used up; the message says which."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an agent wants of a trial: how many processes it is timed in, and whether it is profiled."""

    processes: int = PROCESSES
    profile: bool = False


@dataclass(frozen=True, slots=True)
class TrialProfile:
    """What the profile of a trial shows."""

    metrics: dict[str, float]
    findings: tuple[Finding, ...]
    bottleneck: str


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials of an iteration so far: those that ended, and the one that is under way or was cut off."""

    ended: tuple[Tried, ...] = ()
    open: TrialStarted | None = None

    @property
    def spent(self) -> TrialBudget:
        """What they have used. One that was cut off cost its seconds, and counts as none."""
        count = sum(one.end != "cut" for one in self.ended)
        return TrialBudget(count, sum(one.device_s for one in self.ended))


def trials_of(attempt: Attempt) -> Trials:
    """Read the trials of the iteration from the log."""
    found = Trials()
    for event in attempt.journal.events(attempt.run_id, attempt.number):
        match event.fact:
            case TrialStarted() as begun:
                found = replace(found, open=begun)
            case Tried() as tried:
                found = Trials((*found.ended, tried))
    return found


def left(attempt: Attempt, budget: TrialBudget) -> TrialBudget:
    """Return what is left of the budget."""
    spent = trials_of(attempt).spent
    return TrialBudget(max(0, budget.trials - spent.trials), max(0.0, budget.device_s - spent.device_s))


def refuse_spent(attempt: Attempt, budget: TrialBudget) -> None:
    """Refuse a trial that the budget does not allow any more. Raises Spent."""
    rest = left(attempt, budget)
    if not rest.trials:
        raise Spent(f"all {budget.trials} trials of this iteration are used")
    if not rest.device_s:
        raise Spent(f"the {budget.device_s:g} s on the device for the trials of this iteration are used")


def close_cut(attempt: Attempt) -> None:
    """Record that the trial under way, if there is one, was cut off."""
    if (begun := trials_of(attempt).open) is not None:
        attempt.journal.emit(_blank(attempt, begun.trial, "cut", device_s=_held_s(attempt, begun.trial)))


async def measure_trial(
    attempt: Attempt, files: Mapping[str, bytes], wish: Wish, budget: TrialBudget
) -> tuple[Tried, TrialProfile | None]:
    """Build, check and time all files of a candidate, and record that as a trial. Return it, and its profile.

    Trouble with the host is recorded, too, and pauses nothing. Raises Spent. A trial that is cancelled stays open.
    """
    hashes = {path: digest(data) for path, data in files.items()}
    begun = trials_of(attempt).open
    if begun is not None and begun.files != hashes:
        close_cut(attempt)
        begun = None
    refuse_spent(attempt, budget)
    if begun is None:
        begun = TrialStarted(attempt.run_id, attempt.number, 1 + _last(attempt), hashes)
        attempt.journal.emit(begun)
    trial = _Trial(attempt, dict(files), wish, begun.trial, left(attempt, budget).device_s)
    tried = await trial.measured()
    attempt.journal.emit(tried)
    return tried, trial.profiled


def _last(attempt: Attempt) -> int:
    return max((one.trial for one in trials_of(attempt).ended), default=0)


def _held_s(attempt: Attempt, trial: int) -> float:
    """Return the seconds for which an open trial has had the device; 0 where nothing is kept of it."""
    try:
        return max(0.0, msgspec.json.decode(attempt.folder.read(_path(trial, HELD)), type=float))
    except (OSError, OutsideFolder, msgspec.MsgspecError):
        return 0.0


def _path(trial: int, name: str) -> str:
    return f"trials/{trial:03d}/{name}"


def _blank(attempt: Attempt, trial: int, end: TrialEnd, **found: Any) -> Tried:
    return Tried(attempt.run_id, attempt.number, trial, end, attempt.parent, **found)


class _Trial:
    """A trial under way, the seconds in which it had the device, and the most that it may have."""

    def __init__(self, attempt: Attempt, files: dict[str, bytes], wish: Wish, number: int, most_s: float) -> None:
        self.attempt = attempt
        self.files = files
        self.wish = wish
        self.number = number
        self.profiled: TrialProfile | None = None
        self._most_s = most_s
        self._device_s = _held_s(attempt, number)

    async def measured(self) -> Tried:
        attempt = self.attempt
        task = attempt.task
        flags = suspicious(
            start_of(attempt), self.files, task.protected, stops_threads(task), task.bench.command is not None
        )
        try:
            found = await self._contest()
        except BuildError as err:
            found = self._ended("not_built", fault=err.fault, feedback=err.told[:MOST_FEEDBACK])
        except bench.CheckFailed as err:
            found = self._ended("wrong", fault=Incorrect(err.wrong))
        except _Wrong as err:
            found = self._ended("wrong", fault=err.fault)
        except TimeoutError:
            found = self._ended("cut")
        except HostError as err:
            found = self._ended("trouble", trouble=err.fact)
        except OSError as err:
            found = self._ended("trouble", trouble=HostTrouble("disk", str(err), "tell the operator"))
        return replace(found, flags=flags, device_s=self._device_s)

    async def _contest(self) -> Tried:
        attempt = self.attempt
        on = attempt.bench
        built = await on.build(await on.stage(self.files), self.files, attempt.say("build"))
        incumbent = built if attempt.is_baseline else await builds.incumbent(attempt)
        async with self._device() if on.checks_alone else nullcontext():
            await on.check(built.job, self._job("check"), attempt.say("job"))
        async with self._device():
            samples = await self._timed(incumbent, built)
            try:
                kept = clean(samples)
                gain, cases = quick_gain(kept), score.case_times(kept, on.work)
            except BadSamples as err:
                raise HostError("busy", f"{attempt.host.name}: {err}", "try again") from err
            self._keep("timing.json", samples_to_json(samples))
            if score.impossible(cases, on.work):
                await on.remeasure()
                cases = score.case_times(kept, on.work)
            if impossible := score.impossible(cases, on.work):
                raise _Wrong(impossible)
            if attempt.task.check.unchecked and (implausible := score.implausible(kept)):
                raise _Wrong(implausible)
            if self.wish.profile:
                await self._profile(built, kept, cases)
        return self._ended("measured", gain=gain, processes=len(kept), cases=cases, profiled=self.profiled is not None)

    async def _timed(self, incumbent: BuiltObject, built: BuiltObject) -> tuple[ProcessSample, ...]:
        """Time the files in as many processes as the agent wants; a job that a crash has cut short is gone on with."""
        samples: tuple[ProcessSample, ...] = ()
        wanted, most, say = self.wish.processes, self.wish.processes + SPARE, self.attempt.say("job")
        try:
            for number in range(MOST_JOBS):
                first, job = len(samples), self._job(f"time{number}")
                time_pair = self.attempt.bench.time(incumbent.job, built.job, job, first, most - first, say, most)
                async with aclosing(time_pair) as taken:
                    async for sample in taken:
                        samples += (sample,)
                        if sum(not one.taint for one in samples) >= wanted:
                            return samples
                if len(samples) >= most:
                    break
        except bench.CheckFailed as err:
            raise _Wrong(IncorrectTimed(err.wrong)) from err
        return samples

    async def _profile(
        self, built: BuiltObject, samples: tuple[ProcessSample, ...], cases: tuple[CaseTime, ...]
    ) -> None:
        attempt = self.attempt
        profiler = profiler_of(attempt.bench.device.kind)
        value = score.score(samples, attempt.task.bench.direction)
        timed = e.Timed(attempt.run_id, attempt.number, 0.0, 0.0, value, len(samples), cases)
        job, say = self._job("perf"), attempt.say("job")
        known = await profiler.measured(attempt.bench, built.job, timed, job, say, advised=False)
        self.profiled = TrialProfile(
            known.metrics, profiler.findings(known.metrics), profiler.bottleneck(known.metrics)
        )
        self._keep("metrics.json", {"metrics": known.metrics, "missing": known.missing})

    @asynccontextmanager
    async def _device(self) -> AsyncIterator[None]:
        """Hold the run's turn on its device, and count the seconds. Raises TimeoutError when none are left."""
        async with self.attempt.turn():
            begun = time.monotonic()
            try:
                async with asyncio.timeout(self._most_s - self._device_s):
                    yield
            finally:
                self._device_s += time.monotonic() - begun
                with suppress(OSError):  # it matters only where the trial is cut off
                    self._keep(HELD, self._device_s)

    def _job(self, step: str) -> str:
        return self.attempt.job(f"trial{self.number}-{step}")

    def _keep(self, name: str, content: object) -> None:
        self.attempt.keep(_path(self.number, name), content)

    def _ended(self, end: TrialEnd, **found: Any) -> Tried:
        return _blank(self.attempt, self.number, end, **found)


class _Wrong(Exception):
    """What is wrong with the files, found while they were timed."""

    def __init__(self, fault: CandidateFault) -> None:
        super().__init__(fault)
        self.fault = fault
