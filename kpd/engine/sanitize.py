"""Runs the last checks of accepted candidates: compute-sanitizer, and other sizes. One with a fault gives way."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Literal

from msgspec import structs

from kpd.engine import builds, confirm
from kpd.engine.attempt import Attempt
from kpd.engine.blame import HOSTS_OWN, with_builds
from kpd.engine.record import write_report
from kpd.engine.turns import DeviceClaim, Turns
from kpd.hosts.errors import HostError
from kpd.hosts.job import device_claim, job_times
from kpd.measure.compiling import BuildError
from kpd.model import events as e
from kpd.model.defects import BadAccess, WrongResult
from kpd.model.faults import BreaksMeasurement, Incorrect
from kpd.model.notices import Unsound
from kpd.model.run import Run
from kpd.model.sanitizer import Tool, ToolReport
from kpd.model.waits import HostTrouble, Wait
from kpd.text.foreign import plain
from kpd.workspace.task import Task

MOST_S = 30.0
"""The most seconds that all tools together may take for one candidate, beside a second look at what they meet."""
LEAST_S = 1.0
OVERFLOW = "it is wrong, or far slower, at another size"
WHY = "compute-sanitizer found a fault in it"
Fault = Incorrect | BreaksMeasurement
Try = Literal["", "-again", "-baseline"]
RunTool = Callable[[Tool, Try, float], Awaitable[ToolReport]]
"""A function that runs a tool on the candidate, once or again, or on the baseline, for so many seconds."""


class Beside:
    """The looks at accepted candidates of one run that are under way beside it.

    `look` has one for an iteration; `say` is told which one met what trouble with the host or the disk.
    """

    def __init__(
        self, look: Callable[[int], Coroutine[None, None, None]], say: Callable[[int, HostError | OSError], None]
    ) -> None:
        self._look = look
        self._say = say
        self._under_way: dict[int, asyncio.Task[None]] = {}

    def begin(self, run: Run) -> None:
        """Begin what has not begun. What met trouble with the host or the disk is left to `ended`; raises the rest."""
        for it in run.unsanitized:
            known = self._under_way.get(it.number)
            if known is None:
                self._begin(it.number)
            elif known.done() and not isinstance(known.exception(), HostError | OSError):
                known.result()

    def _begin(self, number: int) -> None:
        self._under_way[number] = asyncio.create_task(self._looked(number), name=f"sanitizes {number}")

    async def _looked(self, number: int) -> None:
        try:
            await self._look(number)
        except (HostError, OSError) as err:
            self._say(number, err)
            raise

    async def ended(self, number: int) -> None:
        """Wait until the look at iteration `number` has ended, and raise what it raised; cancelling only stops this.

        One that has met trouble is begun once more.
        """
        known = self._under_way[number]
        if known.done() and known.exception() is not None:
            self._begin(number)
        await asyncio.wait([self._under_way[number]])
        self._under_way[number].result()

    async def leave(self, number: int) -> None:
        """Cancel the look at iteration `number`, and wait until its job is gone."""
        self._under_way[number].cancel()
        await asyncio.gather(self._under_way[number], return_exceptions=True)

    async def stop(self) -> None:
        """Cancel all that is under way, and wait until its jobs are gone."""
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)


def wants_sanitizer(task: Task) -> bool:
    """Return whether the winners of a task are to be looked at, wherever the host has compute-sanitizer."""
    return task.language == "cuda" and task.bench.command is None and task.check.sanitizer


def not_run(tools: tuple[Tool, ...], why: str) -> tuple[ToolReport, ...]:
    """Return the report of a look with these tools that was given up."""
    return tuple(ToolReport(tool, 0, 0, 0.0, trouble=why) for tool in tools[:1])


async def sanitize(attempt: Attempt, turns: Turns) -> None:
    """Run the tools on an accepted candidate, record what they saw, and let it give way if they found a fault.

    Each tool waits for the run's turn on the device: none runs while something is measured there. A restart reads what
    has been seen. The candidate shares a process with the driver, so trouble that it can provoke is the tool's trouble,
    which is looked into as such. Raises HostError for other trouble, and OSError.
    """
    job_times.set([])
    device_claim.set(DeviceClaim(turns, attempt.run_id, _unsaid))
    found = attempt.detail_of(attempt.number)
    attempt.number_of_attempt = len(found.faults) + 1

    async def run(tool: Tool, of: Try, limit_s: float) -> ToolReport:
        async def take(who: Attempt) -> ToolReport:
            built = await (builds.baseline(who) if of == "-baseline" else builds.candidate(who, found))
            return await who.bench.sanitize(built.job, tool, who.job(f"{tool}{of}"), limit_s, who.say("job"))

        try:
            return await with_builds(attempt, found, take)
        except (HostError, BuildError) as err:
            if isinstance(err, HostError) and err.kind in (*HOSTS_OWN, "busy"):
                raise
            return ToolReport(tool, 0, 0, 0.0, trouble=plain(str(err)))

    reports, fault = await look(run, attempt.bench.tools)
    if fault is not None:
        _give_way(attempt, fault)
    attempt.journal.emit(e.Sanitized(attempt.run_id, attempt.number, reports, fault))
    write_report(attempt.workspace, attempt.run)


async def look(run: RunTool, tools: tuple[Tool, ...]) -> tuple[tuple[ToolReport, ...], Fault | None]:
    """Run one tool after the other, until one finds a fault. Return what they saw, and that fault.

    The first one may take all the time but LEAST_S for each of the others, which share what it leaves. A tool that
    asks nothing of this task has no report.
    What is wrong with the baseline, too, is no fault of the candidate.
    """
    reports: list[ToolReport] = []
    for tool, later in zip(tools, reversed(range(len(tools))), strict=True):
        decides = tool == tools[0]
        left_s = MOST_S - sum(report.seconds for report in reports)
        limit_s = left_s - later * LEAST_S if decides else left_s / (later + 1)
        report = await _seen(run, tool, max(LEAST_S, limit_s), decides)
        if report.of or report.trouble:
            reports.append(report)
        if (fault := _fault_of(report, decides)) is not None:
            return tuple(reports), fault
    return tuple(reports), None


async def _seen(run: RunTool, tool: Tool, limit_s: float, decides: bool) -> ToolReport:
    """Return what the tool saw, and whether it does not count because of the baseline.

    Trouble with the tool that decides may come by chance: then the candidate is tried once more. An error of another
    tool does not count either where the baseline, which may be slower, could not be looked at as far.
    """
    report = await run(tool, "", limit_s)
    if report.trouble and decides:
        report = await run(tool, "-again", limit_s)
    if not _counts(report, decides):
        return report
    own = await run(tool, "-baseline", MOST_S)
    unknown = own.trouble if not report.errors else not decides and own.cases < report.cases
    return structs.replace(report, baseline=bool(own.errors or unknown))


def _fault_of(report: ToolReport, decides: bool) -> Fault | None:
    """Return what the candidate is to blame for; None where the tool saw no fault, or the baseline has it, too."""
    if report.baseline or not _counts(report, decides):
        return None
    if report.errors:
        return Incorrect(WrongResult(BadAccess(report.said, report.errors, report.tool)))
    return BreaksMeasurement(report.tool, HostTrouble("host", report.trouble, ""))


def _counts(report: ToolReport, decides: bool) -> bool:
    """Return whether it found an error, or had trouble although it decides."""
    return bool(report.errors or (report.trouble and decides))


def _give_way(attempt: Attempt, fault: Fault) -> None:
    """Make the newest iteration of its line that holds the incumbent, unless a person chose. It is safe to repeat."""
    run, number = attempt.run, attempt.number
    instead = confirm.before(run, number) if run.incumbent == number and not confirm.chosen(run) else None
    if instead is not None:
        what = fault.wrong.what if isinstance(fault, Incorrect) else None
        why = OVERFLOW if isinstance(what, BadAccess) and what.tool == "overflow" else WHY
        confirm.give_way(attempt, run, instead, why, "sanitizer")
    attempt.journal.emit(
        e.Noticed("warning", Unsound(run.id, number, fault, instead.number if instead is not None else None))
    )


def _unsaid(wait: Wait | None) -> None:
    """Say nothing: the run itself does not wait."""
