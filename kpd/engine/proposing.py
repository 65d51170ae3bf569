"""Prepares the context of an agent, and checks which part of its answer can be used."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from kpd.agents import space
from kpd.agents.agent import BadReply, Context, Failure, Proposal, SweepBase
from kpd.agents.prompt.background import is_shown
from kpd.engine.attempt import Attempt, CandidateFailed
from kpd.engine.edits import edit_folder
from kpd.engine.journal import run_of, until
from kpd.engine.ledger import RunLedger
from kpd.engine.rotation import explored, explores
from kpd.engine.waiting import WaitReporter
from kpd.measure.screen import protected_touched, spliced
from kpd.model import events as e
from kpd.model.agents import BASELINE
from kpd.model.exhaustion import ExhaustionReason
from kpd.model.faults import NotMended, ProtectedFiles, ProtectedLines, UnusableReply, first
from kpd.model.tools import given_to
from kpd.text.faults import fault as told
from kpd.workspace.candidate_tree import CANDIDATE_BYTES, read_tree
from kpd.workspace.editable import clash
from kpd.workspace.sections import ProtectedSection, SectionError
from kpd.workspace.task import MOST_FILES, Task

SILENT = "without a word"
"""The memo of a candidate that nobody has described."""
Wrong = e.Faulted | e.Unusable
"""What was wrong with an answer: its candidate has a fault, or it has no usable candidate."""


def answers(attempt: Attempt) -> tuple[Wrong, ...]:
    """Return what was wrong with the answers of this iteration so far; each led to another question."""
    facts = (event.fact for event in _events(attempt))
    return tuple(fact for fact in facts if isinstance(fact, Wrong))


def failure_of(attempt: Attempt, wrong: tuple[Wrong, ...]) -> Failure | None:
    """Return what the agent is told about its last answer, and about the fault that the answer was to repair."""
    if not wrong:
        return None
    fault, last = _fault(wrong), wrong[-1]
    if fault is None:
        assert isinstance(last, e.Unusable)
        return Failure("propose", last.message, number=len(wrong))
    message = told(fault.fault)
    if isinstance(last, e.Unusable):
        message += f"\nYour answer to that could not be used: {last.message}"
    return Failure(fault.step, message, fault.feedback, attempt.candidate(), len(wrong))


def given_up(wrong: tuple[Wrong, ...], why: ExhaustionReason) -> CandidateFailed:
    """Return the fault that ends an iteration because its agent is not asked again."""
    fault = _fault(wrong)
    if fault is None:
        assert isinstance(wrong[-1], e.Unusable)
        return CandidateFailed(NotMended(UnusableReply(wrong[-1].message), why))
    return CandidateFailed(NotMended(first(fault.fault), why))


def _fault(wrong: tuple[Wrong, ...]) -> e.Faulted | None:
    return next((one for one in reversed(wrong) if isinstance(one, e.Faulted)), None)


def context_of(attempt: Attempt, failure: Failure | None) -> Context:
    run = attempt.run
    known = attempt.detail_of(attempt.parent)
    tried = [it for it in run.iterations if it.number < attempt.number and it.agent != BASELINE and it.bottleneck]
    moved = attempt.detail_of(tried[-1].number).explained if tried else None
    start = start_of(attempt)
    unsure = explored(run, attempt.number) if explores(run, attempt.iteration.agent) else None
    return Context(
        task=replace(attempt.task, editable=tuple(start)),
        run=run,
        number=attempt.number,
        incumbent=start,
        folder=_folder(attempt),
        home=attempt.folder.folder,
        workspace=attempt.workspace,
        say=attempt.say("agent"),
        tell=lambda channel, text: attempt.say(channel)(text),
        keep=attempt.keep,
        waits=WaitReporter(attempt.journal, attempt.run_id, attempt.lane),
        ready=attempt.control.ready,
        ledger=RunLedger(attempt.journal, attempt.config.claude, attempt.run_id, attempt.number),
        device=attempt.bench.device.name,
        arch=attempt.bench.device.arch,
        findings=tuple(one for one in known.explained.findings if is_shown(run, one.rule)) if known.explained else (),
        metrics=known.profiled.metrics if known.profiled else {},
        bottleneck=known.explained.bottleneck if known.explained else "",
        advice=known.profiled.advice if known.profiled else (),
        changes=moved.changes if moved else (),
        last=tried[-1] if tried else None,
        runs=tuple(attempt.journal.state.runs.values()),
        steering=tuple(line for line in run.steering if line.consumed_by == attempt.number),
        failure=failure,
        base=SweepBase(unsure.number, attempt.files_of(unsure.number), unsure.tune) if unsure else None,
        events=partial(_events, attempt),
        latest=partial(run_of, attempt.journal, attempt.run_id),
        until=partial(until, attempt.journal, attempt.run_id),
        record=attempt.journal.emit,
        tools=lambda: given_to(attempt.run, attempt.journal.state.tools),
    )


def _folder(attempt: Attempt) -> Path:
    """Return the folder with the files that are proposed as they are."""
    if attempt.iteration.edit:
        return edit_folder(attempt.workspace, attempt.run, attempt.iteration.edit)
    return (
        attempt.task.folder if attempt.iteration.again is None else attempt.folder_of(attempt.iteration.again).candidate
    )


def usable(attempt: Attempt, proposal: Proposal) -> tuple[dict[str, bytes], Proposal]:
    """Check the proposal; return all files of the candidate, and the proposal completed with what was said before.

    An agent may leave out files that it does not change: those are the incumbent's. Raises CandidateFailed and
    BadReply.
    """
    strangers = protected_touched(attempt.task, proposal.files, proposal.removed)
    if strangers:
        raise CandidateFailed(ProtectedFiles(tuple(strangers)))
    try:
        files = spliced(attempt.task, proposal.files)
    except ProtectedSection as err:
        raise CandidateFailed(ProtectedLines(str(err))) from err
    except SectionError as err:
        raise BadReply(f"{attempt.task.sectioned}:{err.line}: {err}") from err
    start = start_of(attempt)
    whole = {path: data for path, data in {**start, **files}.items() if path not in proposal.removed}
    _refuse(attempt.task, start, whole, proposal)
    return whole, _meant(attempt, proposal, whole)


def _refuse(task: Task, start: Mapping[str, bytes], whole: Mapping[str, bytes], proposal: Proposal) -> None:
    """Raise BadReply where the candidate's files are too many or too large, or cannot lie in one folder."""
    size = sum(map(len, whole.values()))
    if size > CANDIDATE_BYTES:
        raise BadReply(f"the files have {size} bytes; {CANDIDATE_BYTES} is the most a candidate may have")
    if len(whole) > MOST_FILES:
        raise BadReply(f"the candidate has {len(whole)} files; {MOST_FILES} are the most")
    for path in proposal.removed:
        if path in proposal.files:
            raise BadReply(f"{path} is both given and removed; do one of them")
        if path not in start:
            raise BadReply(f"{path} cannot be removed: there is no such file")
    if (pair := clash((path for path in whole if path not in start), (*whole, *task.protected))) is not None:
        raise BadReply(f"{pair[0]} and {pair[1]} cannot be files of one folder; choose another name")


def _meant(attempt: Attempt, proposal: Proposal, files: dict[str, bytes]) -> Proposal:
    """Complete the proposal: the operator's memo replaces the agent's, and a repair keeps what it does not repeat."""
    before = attempt.iteration
    told = [event.fact.text for event in _events(attempt) if isinstance(event.fact, e.MemoGiven)]
    tune, point = proposal.tune, proposal.point
    if not tune and (tune := {name: values for name, values in before.tune.items() if _has(attempt, files, name)}):
        point = space.point_of(replace(attempt.task, tune=tune), files)
    return replace(
        proposal,
        memo=told[-1] if told else proposal.memo or before.memo or SILENT,
        expected=proposal.expected or before.expected,
        aims=proposal.aims or before.aims,
        tune=tune,
        point=point,
    )


def _has(attempt: Attempt, files: dict[str, bytes], name: str) -> bool:
    """Return whether the files have a parameter of this name."""
    try:
        return name in space.read_point(replace(attempt.task, tune={name: ()}), files)
    except space.SpaceError:
        return False


def _events(attempt: Attempt) -> Iterable[e.Event]:
    return attempt.journal.events(attempt.run_id, attempt.number)


def start_of(attempt: Attempt) -> dict[str, bytes]:
    """Read the files that a proposal starts from: the incumbent's, or the task's own where there is none."""
    return read_tree(attempt.task.folder, attempt.task) if attempt.is_baseline else attempt.files_of(attempt.parent)
