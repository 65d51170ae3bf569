"""Defines the steps of an iteration, in order. Each reads the results of earlier steps and returns its own fact."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from msgspec import structs

from kpd.agents.agent import BadReply, Exhausted, Proposal
from kpd.claude.errors import OverBudget
from kpd.engine import audits, builds, review
from kpd.engine.attempt import Attempt, CandidateFailed
from kpd.engine.patches import unified
from kpd.engine.profiling import explain, is_counted, profile
from kpd.engine.proposing import answers, context_of, failure_of, given_up, start_of, usable
from kpd.engine.record import record
from kpd.engine.records import keeping_records
from kpd.engine.tools.serving import serve_session
from kpd.engine.waiting import set_waiting
from kpd.measure import bench, judge as verdicts, score
from kpd.measure.averages import on_average
from kpd.measure.c.build import lacks_optimisation
from kpd.measure.catalogue import stops_threads
from kpd.measure.compiling import BuildError
from kpd.measure.contest import RUNS, contest
from kpd.measure.samples import ProcessSample, all_quick, deciding, samples_from_json, samples_to_json
from kpd.measure.screen import suspicious
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.faults import Incorrect, IncorrectTimed, UnusableReply
from kpd.model.flags import Flag
from kpd.model.notices import BaselineCost, CasesUnread, NotOptimised
from kpd.model.status import DeviceUse, StepName
from kpd.model.verdicts import Verdict
from kpd.workspace.run_files import digest

StepResult = e.StepFact | e.IterationEnded
"""The result of a step: its fact; for the last step, the end of the iteration."""
BAD_REPLIES = 2
MOST_FEEDBACK = 4000
"""The most characters of a compiler's output that go back to an agent."""
TIMING = "timing.json"


async def propose(attempt: Attempt, found: Detail) -> e.Proposed:
    """Ask the agent for a candidate; ask again, with the reason, if its reply cannot be used."""
    try:
        with attempt.elsewhere():
            files, said = await _answer(attempt)
    finally:
        set_waiting(attempt.journal, attempt.run, None, attempt.lane)
    hashes = attempt.folder.write_candidate(files)
    attempt.keep("memo.md", said.memo + "\n")
    attempt.keep("diff.patch", unified(start_of(attempt), files))
    return e.Proposed(*_blank(attempt), hashes, said.memo, said.expected, said.point, said.aims, said.tune)


async def _answer(attempt: Attempt) -> tuple[dict[str, bytes], Proposal]:
    """Return the first answer that can be used.

    Each unusable answer is recorded, so that a restart goes on with the next question.
    """
    while True:
        wrong = answers(attempt)
        bad = [one for one in wrong[-BAD_REPLIES:] if isinstance(one, e.Unusable)]
        if len(bad) == BAD_REPLIES:
            raise CandidateFailed(UnusableReply(bad[-1].message))
        failure = failure_of(attempt, wrong)
        try:
            context = replace(context_of(attempt, failure), serve=partial(serve_session, attempt))
            return usable(attempt, await attempt.agent.propose(context))
        except BadReply as err:
            attempt.journal.emit(e.Unusable(attempt.run_id, attempt.number, str(err)))
        except (Exhausted, OverBudget) as err:
            if isinstance(err, OverBudget) and err.over.scope != "run":
                raise
            why = err.why if isinstance(err, Exhausted) else err.over
            if failure is not None:
                raise given_up(wrong, why) from err
            raise Exhausted(why) from err


async def screen(attempt: Attempt, found: Detail) -> e.Screened:
    """Flag suspicious source code in the candidate. Only a changed protected file rejects it at once."""
    task, candidate = attempt.task, attempt.candidate()
    flags = suspicious(
        start_of(attempt), candidate, task.protected, stops_threads(task), task.bench.command is not None
    )
    return e.Screened(*_blank(attempt), flags)


async def stage(attempt: Attempt, found: Detail) -> e.Staged:
    """Put the pristine task with the candidate's files on the host."""
    tree = await attempt.bench.stage(attempt.candidate())
    return e.Staged(*_blank(attempt), tree)


async def build(attempt: Attempt, found: Detail) -> e.Built:
    try:
        built = await builds.candidate(attempt, found)
    except BuildError as err:
        attempt.keep("build.log", err.log)
        raise CandidateFailed(err.fault, feedback(err.told)) from err
    attempt.keep("build.log", built.log)
    if attempt.is_baseline and lacks_optimisation(attempt.task.language, built.flags):
        attempt.journal.emit(e.Noticed("warning", NotOptimised(attempt.run_id, built.flags)))
    return e.Built(*_blank(attempt), built.job, built.cached, built.flags, built.warnings, dict(built.hashes))


async def check(attempt: Attempt, found: Detail) -> e.Checked:
    built = await builds.candidate(attempt, found)
    try:
        async with keeping_records(attempt, "check", lambda: attempt.job("check")):
            incumbent = None if attempt.in_place else partial(builds.incumbent, attempt)
            checked = await attempt.bench.check(
                built.job, attempt.job("check"), attempt.say("job"), incumbent, attempt.quick
            )
    except bench.CheckFailed as err:
        attempt.keep("check.json", {"ok": False, "problem": str(err), "wrong": err.wrong})
        raise CandidateFailed(Incorrect(err.wrong)) from err
    attempt.keep("check.json", checked)
    if attempt.is_baseline and checked.run_s is not None:
        attempt.journal.emit(e.Noticed("info", BaselineCost(attempt.run_id, checked.run_s, RUNS)))
    if attempt.is_baseline and checked.unread:
        attempt.journal.emit(e.Noticed("warning", CasesUnread(attempt.run_id, checked.unread)))
    sizes = checked.drawn, checked.unchecked
    return e.Checked(*_blank(attempt), checked.comparisons, checked.worst, checked.where, checked.truth, *sizes)


async def time(attempt: Attempt, found: Detail) -> e.Timed:
    """Time the candidate against the incumbent in fresh processes until the verdict is clear."""
    candidate, incumbent = await builds.both(attempt, found)
    jobs: list[str] = []

    def job(step: str) -> str:
        jobs.append(attempt.job(step))
        return jobs[-1]

    try:
        async with keeping_records(attempt, "time", lambda: jobs[-1]):
            samples = await contest(
                attempt.bench,
                incumbent.job,
                candidate.job,
                job,
                attempt.run.budget.min_gain_pct,
                attempt.say("job"),
                lambda taken: attempt.keep(TIMING, samples_to_json(taken)),
                attempt.iteration.thorough,
                attempt.quick,
                lambda taken: audits.against_incumbent(attempt, verdict_of(attempt, taken)),
            )
    except bench.CheckFailed as err:
        raise CandidateFailed(IncorrectTimed(err.wrong), final=True) from err
    cases = score.case_times(samples, attempt.bench.work)
    if score.impossible(cases, attempt.bench.work):
        await attempt.bench.remeasure()
        cases = score.case_times(samples, attempt.bench.work)
    if too_fast := score.impossible(cases, attempt.bench.work):
        raise CandidateFailed(structs.replace(too_fast, of_baseline=attempt.is_baseline), final=True)
    if attempt.task.check.unchecked and (doubted := score.implausible(samples)):
        raise CandidateFailed(doubted)
    floors = [(case.roofline_us, case.candidate_us) for case in cases if case.roofline_us]
    roofline = 100 * sum(floor for floor, _ in floors) / sum(us for _, us in floors) if floors else None
    tainted = sum(bool(sample.taint) for sample in samples)
    kept = digest(samples_to_json(samples))
    value = score.score(samples, attempt.task.bench.direction)
    processes, quick = len(deciding(samples)), all_quick(samples)
    return e.Timed(*_blank(attempt), value, processes, cases, tainted, roofline, kept, quick)


async def judge(attempt: Attempt, found: Detail) -> e.Judged:
    """Judge the candidate. The baseline is judged against itself: its interval is the noise of this machine.

    What has beaten an incumbent that is none any more is not audited, and cannot be accepted by this verdict.
    """
    verdict, audited, repeats, flags = _verdict(attempt, found), None, 0, tuple[Flag, ...]()
    if verdict.accepted and (by := _superseded_by(attempt)) is not None:
        attempt.keep("verdict.json", verdict)
        return e.Judged(*_blank(attempt), verdict, superseded_by=by)
    if _is_audited(attempt, found):
        candidate, incumbent = await builds.both(attempt, found)
        winner = audits.Winner(attempt, _samples(attempt, found), candidate, incumbent)
        async with _searching(attempt, candidate) as flags_of:
            verdict = await audits.all_hold(winner, verdict)
            audited, repeats = winner.audited, winner.repeats
            if attempt.is_baseline or (verdict.accepted and not attempt.is_tasks_own):
                flags = await flags_of()
    attempt.keep("verdict.json", verdict)
    return e.Judged(*_blank(attempt), verdict, audited, flags, repeats)


@asynccontextmanager
async def _searching(
    attempt: Attempt, candidate: bench.BuiltObject
) -> AsyncIterator[Callable[[], Awaitable[tuple[Flag, ...]]]]:
    """Look for what is wrong with a candidate's object in the block, where there are CPUs that nobody measures on.

    Yield what waits for that, and does it else.
    """

    async def search() -> tuple[Flag, ...]:
        return await attempt.bench.inspect(candidate.job, attempt.say("job"))

    if attempt.is_tasks_own or not attempt.bench.inspects_beside:
        yield search
        return
    begun = asyncio.create_task(search())
    try:
        yield lambda: begun
    finally:
        begun.cancel()
        await asyncio.gather(begun, return_exceptions=True)


def _verdict(attempt: Attempt, found: Detail) -> Verdict:
    """Compute the verdict of the samples. Raises OSError when the samples file was changed after the measurement."""
    return verdict_of(attempt, _samples(attempt, found))


def verdict_of(attempt: Attempt, samples: tuple[ProcessSample, ...]) -> Verdict:
    """Compute the verdict of these samples."""
    found = verdicts.judge(samples, attempt.run.budget.min_gain_pct, attempt.task.accept.worst_case)
    return on_average(found, samples)


def _samples(attempt: Attempt, found: Detail) -> tuple[ProcessSample, ...]:
    """Read the samples. Raises OSError when their file was changed after the measurement."""
    assert found.timed is not None
    raw = attempt.folder.read(TIMING)
    if digest(raw) != found.timed.samples:
        raise OSError(f"{attempt.folder.folder / TIMING} is not what was measured; `kpd skip` gives this iteration up")
    return samples_from_json(raw)


def _is_audited(attempt: Attempt, found: Detail) -> bool:
    """Return whether anything must hold of the candidate before it is accepted. Raises OSError."""
    return _superseded_by(attempt) is None and audits.wanted(attempt, lambda: _verdict(attempt, found))


def _superseded_by(attempt: Attempt) -> int | None:
    """Return what has become the incumbent meanwhile, in the place of a candidate that might have."""
    return None if attempt.is_baseline or attempt.iteration.confirming else attempt.superseded_by


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an iteration; a step that is not `wanted` is left out.

    A step that `measures` has the run's turn on its device. While a step that `thinks` waits for an agent or a person,
    other runs may begin on the device. All other steps run beside whatever is measured. A step that `runs` the
    candidate is where that can provoke trouble which looks like the host's.
    """

    name: StepName
    take: Callable[[Attempt, Detail], Awaitable[StepResult]]
    measures: Callable[[Attempt, Detail], bool] = lambda at, found: False
    thinks: bool = False
    wanted: Callable[[Attempt], bool] = lambda at: True
    runs: bool = False

    def use(self, attempt: Attempt, found: Detail) -> DeviceUse:
        """Return how the step uses the run's device now. Raises OSError."""
        return "thinks" if self.thinks else "measures" if self.measures(attempt, found) else ""


STEPS = (
    Step("propose", propose, thinks=True),
    Step("screen", screen),
    Step("review", review.review, thinks=True, wanted=review.wanted),
    Step("stage", stage),
    Step("build", build),
    Step("check", check, measures=lambda at, found: at.bench.checks_alone, runs=True),
    Step("time", time, measures=lambda at, found: True, runs=True),
    Step("judge", judge, measures=_is_audited, runs=True),
    Step("profile", profile, measures=is_counted, wanted=lambda at: not at.iteration.confirming, runs=True),
    Step("explain", explain, wanted=lambda at: not at.iteration.confirming),
    Step("record", record),
)


def _blank(attempt: Attempt) -> tuple[str, int, float, float]:
    """Return the run, the iteration, and two durations that the loop fills in later."""
    return attempt.run_id, attempt.number, 0.0, 0.0


def feedback(log: str) -> str:
    """Return the beginning of a log in whole lines, at most MOST_FEEDBACK characters, for an agent."""
    if len(log) <= MOST_FEEDBACK:
        return log
    kept = log[:MOST_FEEDBACK].rpartition("\n")[0] or log[:MOST_FEEDBACK]
    return f"{kept}\n[{len(log) - len(kept)} more characters]\n"
