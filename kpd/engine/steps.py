"""The steps of an iteration, in order. Each reads what the earlier ones found and returns its own fact."""

import difflib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from msgspec import structs

from kpd.agents.agent import BadReply, Exhausted, Proposal
from kpd.claude.errors import OverBudget
from kpd.engine import review
from kpd.engine.attempt import Attempt, Fault
from kpd.engine.proposing import answers, context_of, failure_of, given_up, usable
from kpd.engine.record import record
from kpd.engine.waiting import tell
from kpd.measure import bench, judge as verdicts, score
from kpd.measure.bench import BuiltObject
from kpd.measure.compiling import BuildError
from kpd.measure.contest import contest
from kpd.measure.judge import FINAL, held_out
from kpd.measure.samples import samples_from_json, samples_to_json
from kpd.measure.screen import tripwires
from kpd.model import events as e
from kpd.model.detail import Detail
from kpd.model.faults import Incorrect, IncorrectHeldOut, IncorrectTimed, UnusableReply
from kpd.model.nouns import DeviceUse, StepName, Verdict
from kpd.profile.catalogue import profiler_of
from kpd.profile.changes import changes
from kpd.profile.profile import Profile
from kpd.workspace.runfolder import digest

Done = e.StepFact | e.IterationEnded
"""What a step comes to: its fact; the last one's is the end of the iteration."""
BAD_REPLIES = 2
MOST_CHANGES = 8
MOST_FEEDBACK = 4000
"""Characters of what a compiler said that go back to an agent."""
TIMING = "timing.json"


async def propose(at: Attempt, found: Detail) -> e.Proposed:
    """Ask the agent, once more with the reason if its reply cannot be used."""
    try:
        with at.elsewhere():
            files, said = await _answer(at)
    finally:
        tell(at.journal, at.run, None)
    hashes = at.folder.write_candidate(files)
    at.keep("memo.md", said.memo + "\n")
    at.keep("diff.patch", "" if at.is_baseline else unified(at.files_of(at.parent), files))
    return e.Proposed(*_blank(at), hashes, said.memo, said.expected, said.point, said.aims, said.tune)


async def _answer(at: Attempt) -> tuple[dict[str, bytes], Proposal]:
    """The first answer that can be used. Each that cannot is in the log: a restart goes on with the next question."""
    while True:
        wrong = answers(at)
        bad = [one for one in wrong[-BAD_REPLIES:] if isinstance(one, e.Unusable)]
        if len(bad) == BAD_REPLIES:
            raise Fault(UnusableReply(bad[-1].message))
        failure = failure_of(at, wrong)
        try:
            return usable(at, await at.agent.propose(context_of(at, failure)))
        except BadReply as err:
            at.journal.emit(e.Unusable(at.run_id, at.number, str(err)))
        except (Exhausted, OverBudget) as err:
            if isinstance(err, OverBudget) and err.over.scope != "run":
                raise
            why = err.why if isinstance(err, Exhausted) else err.over
            if failure is not None:
                raise given_up(wrong, why) from err
            raise Exhausted(why) from err


async def screen(at: Attempt, found: Detail) -> e.Screened:
    """Only a touched protected file rejects by itself; tripwires explain and flag."""
    flags = tripwires(at.files_of(at.parent), at.candidate(), at.task.protected)
    return e.Screened(*_blank(at), flags)


async def stage(at: Attempt, found: Detail) -> e.Staged:
    """The pristine task with the candidate's files laid over it, on the host."""
    tree = await at.bench.stage(at.candidate())
    return e.Staged(*_blank(at), tree)


async def build(at: Attempt, found: Detail) -> e.Built:
    try:
        built = await _object(at, at.candidate())
    except BuildError as err:
        at.keep("build.log", err.log)
        raise Fault(err.fault, feedback(err.told)) from err
    at.keep("build.log", built.log)
    return e.Built(*_blank(at), built.job, built.cached, built.flags, built.warnings)


async def check(at: Attempt, found: Detail) -> e.Checked:
    built = await _object(at, at.candidate())
    try:
        checked = await at.bench.check(built.job, at.job("check"), at.say("job"))
    except bench.Incorrect as err:
        at.keep("check.json", {"ok": False, "problem": str(err), "wrong": err.wrong})
        raise Fault(Incorrect(err.wrong)) from err
    at.keep("check.json", checked)
    return e.Checked(*_blank(at), checked.comparisons, checked.worst, checked.where)


async def time(at: Attempt, found: Detail) -> e.Timed:
    """Fresh processes until the verdict is clear, the candidate against the incumbent in each."""
    candidate = await _object(at, at.candidate())
    incumbent = await _object(at, at.files_of(at.parent))
    try:
        samples = await contest(
            at.bench, incumbent.job, candidate.job, at.job, at.run.budget.min_gain_pct, at.say("job"),
            lambda taken: at.keep(TIMING, samples_to_json(taken)), at.iteration.thorough,
        )  # fmt: skip
    except bench.Incorrect as err:
        raise Fault(IncorrectTimed(err.wrong)) from err
    cases = score.case_times(samples, at.bench.work)
    if score.impossible(cases, at.bench.work):
        await at.bench.remeasure()
        cases = score.case_times(samples, at.bench.work)
    if too_fast := score.impossible(cases, at.bench.work):
        raise Fault(structs.replace(too_fast, of_baseline=at.is_baseline))
    floors = [(case.roofline_us, case.candidate_us) for case in cases if case.roofline_us]
    roofline = 100 * sum(floor for floor, _ in floors) / sum(us for _, us in floors) if floors else None
    tainted = sum(bool(sample.taint) for sample in samples)
    kept = digest(at.folder.read(TIMING))
    value = score.score(samples, at.task.bench.direction)
    return e.Timed(*_blank(at), value, len(samples) - tainted, cases, tainted, roofline, kept)


async def judge(at: Attempt, found: Detail) -> e.Judged:
    """The baseline is judged against itself: its interval is the noise of this machine."""
    verdict = _verdict(at, found)
    if _is_confirmed(at, found):
        verdict = await _confirmed(at, verdict)
    at.keep("verdict.json", verdict)
    return e.Judged(*_blank(at), verdict)


def _verdict(at: Attempt, found: Detail) -> Verdict:
    """What the samples say. Raises OSError when they are not those that were measured."""
    assert found.timed is not None
    raw = at.folder.read(TIMING)
    if digest(raw) != found.timed.samples:
        raise OSError(f"{at.folder.folder / TIMING} is not what was measured; `kpd skip` gives this iteration up")
    return verdicts.judge(samples_from_json(raw), at.run.budget.min_gain_pct)


def _is_confirmed(at: Attempt, found: Detail) -> bool:
    """Whether the task asks for more of the baseline and of what would be accepted. Raises OSError."""
    wanted = at.task.check.sanitizer or at.task.final.command is not None
    return wanted and (at.is_baseline or _verdict(at, found).accepted)


async def _confirmed(at: Attempt, verdict: Verdict) -> Verdict:
    """What is only worth its time for the baseline and for what would be accepted: a memcheck, and held-out cases."""
    candidate = await _object(at, at.candidate())
    try:
        await at.bench.memcheck(candidate.job, at.job("memcheck"), at.say("job"))
    except bench.Incorrect as err:
        raise Fault(Incorrect(err.wrong)) from err
    return await _held_out(at, verdict, candidate)


async def _held_out(at: Attempt, verdict: Verdict, candidate: BuiltObject) -> Verdict:
    """With the cases that the task holds out, if it does."""
    incumbent = None if at.is_baseline else (await _object(at, at.files_of(at.parent))).job
    try:
        final = await at.bench.final(incumbent, candidate.job, at.job("final"), at.say("job"))
    except bench.Incorrect as err:
        raise Fault(IncorrectHeldOut(err.wrong)) from err
    if final is None:
        return verdict
    at.keep(FINAL, final)
    return held_out(verdict, final, at.run.budget.min_gain_pct)


async def profile(at: Attempt, found: Detail) -> e.Profiled:
    assert found.timed is not None
    built = await _object(at, at.candidate())
    profiler = profiler_of(at.bench.device.kind)
    if _is_counted(at, found):
        stays = _stays(at, found)
        known = await profiler.measured(at.bench, built.job, found.timed, at.job("perf"), at.say("job"), advised=stays)
    else:
        off = f'profiling is off for this candidate ([run] profile = "{at.config.run.profile}")'
        known = Profile(await profiler.uncounted(at.bench, built.job, found.timed), {"counters": off})
    for name, content in known.files.items():
        at.keep(name, content)
    at.keep("metrics.json", {"metrics": known.metrics, "missing": known.missing, "advice": known.advice})
    return e.Profiled(*_blank(at), known.metrics, known.missing, known.advice)


def _is_counted(at: Attempt, found: Detail) -> bool:
    """Whether the candidate is worth a profiler's time."""
    policy = at.config.run.profile
    return policy != "never" and (policy != "accepted" or _stays(at, found))


def _stays(at: Attempt, found: Detail) -> bool:
    """Whether it is the baseline, or better."""
    return at.is_baseline or (found.judged is not None and found.judged.verdict.accepted)


async def explain(at: Attempt, found: Detail) -> e.Explained:
    assert found.profiled is not None
    profiler = profiler_of(at.bench.device.kind)
    fired = profiler.findings(found.profiled.metrics)
    at.keep("findings.json", fired)
    before = None if at.is_baseline else at.detail_of(at.parent).profiled
    moved = changes(before.metrics, found.profiled.metrics) if before else ()
    return e.Explained(*_blank(at), profiler.bottleneck(found.profiled.metrics), fired, moved[:MOST_CHANGES])


@dataclass(frozen=True, slots=True)
class Step:
    """A step as the iteration takes it; one that is not `wanted` is passed over.

    One that `measures` has the run's turn on its device. While one that `thinks` waits for an agent or a person, other
    runs may begin there. All others go on beside whatever is measured.
    """

    name: StepName
    take: Callable[[Attempt, Detail], Awaitable[Done]]
    measures: Callable[[Attempt, Detail], bool] = lambda at, found: False
    thinks: bool = False
    wanted: Callable[[Attempt], bool] = lambda at: True

    def use(self, at: Attempt, found: Detail) -> DeviceUse:
        """What it has to do with the run's device now. Raises OSError."""
        return "thinks" if self.thinks else "measures" if self.measures(at, found) else ""


STEPS = (
    Step("propose", propose, thinks=True),
    Step("screen", screen),
    Step("review", review.review, thinks=True, wanted=review.wanted),
    Step("stage", stage),
    Step("build", build),
    Step("check", check, measures=lambda at, found: at.bench.checks_alone),
    Step("time", time, measures=lambda at, found: True),
    Step("judge", judge, measures=_is_confirmed),
    Step("profile", profile, measures=_is_counted),
    Step("explain", explain),
    Step("record", record),
)


def _blank(at: Attempt) -> tuple[str, int, float, float]:
    """Run, iteration, and the two durations that the loop fills in."""
    return at.run_id, at.number, 0.0, 0.0


async def _object(at: Attempt, files: dict[str, bytes]) -> BuiltObject:
    """The built files. The host has them already, unless its jobs were cleaned away. Raises BuildError, HostError."""
    return await at.bench.build(await at.bench.stage(files), files, at.say("build"))


def feedback(log: str) -> str:
    """The beginning of a log in whole lines, as far as an agent may see it."""
    if len(log) <= MOST_FEEDBACK:
        return log
    kept = log[:MOST_FEEDBACK].rpartition("\n")[0] or log[:MOST_FEEDBACK]
    return f"{kept}\n[{len(log) - len(kept)} more characters]\n"


def unified(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """A patch from `before` to `after`, files in name order."""
    patch: list[str] = []
    for path in sorted(after):
        old, new = (side.get(path, b"").decode(errors="replace").splitlines(keepends=True) for side in (before, after))
        patch += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in patch)
