"""Between the engine and an agent: what it is told, and what of its answer can be used."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kpd.agents import space
from kpd.agents.agent import BadReply, Base, Context, Failure, Proposal
from kpd.agents.prompt.known import heard
from kpd.engine import edits
from kpd.engine.attempt import Attempt, Fault
from kpd.engine.edits import edit_folder
from kpd.engine.ledger import RunLedger
from kpd.engine.plan import explored, explores
from kpd.engine.waiting import Reminder
from kpd.measure.screen import protected_touched, spliced
from kpd.model import events as e
from kpd.model.agents import BASELINE
from kpd.model.faults import NotMended, ProtectedFiles, ProtectedLines, UnusableReply, first
from kpd.model.leaving import Leaving
from kpd.text.faults import fault as told
from kpd.workspace.sections import ProtectedSection, SectionError

LARGEST = 1 << 20
"""Bytes of a candidate."""
SILENT = "without a word"
"""The memo of a candidate of which nobody has said anything."""
"""The memo of an answer that says nothing of itself."""
Wrong = e.Faulted | e.Unusable
"""What was wrong with an answer: the candidate has a fault, or there is none that could be built."""


def answers(at: Attempt) -> tuple[Wrong, ...]:
    """What was wrong with the answers of this iteration so far, each of which led to a question of its own."""
    facts = (event.fact for event in _events(at))
    return tuple(fact for fact in facts if isinstance(fact, Wrong))


def failure_of(at: Attempt, wrong: tuple[Wrong, ...]) -> Failure | None:
    """What the agent is told of its last answer; if that was no use, after the fault that it was to mend."""
    if not wrong:
        return None
    fault, last = _fault(wrong), wrong[-1]
    if fault is None:
        assert isinstance(last, e.Unusable)
        return Failure("propose", last.message, number=len(wrong))
    message = told(fault.fault)
    if isinstance(last, e.Unusable):
        message += f"\nYour answer to that could not be used: {last.message}"
    return Failure(fault.step, message, fault.feedback, at.candidate(), len(wrong))


def given_up(wrong: tuple[Wrong, ...], why: Leaving) -> Fault:
    """The end of an iteration that cannot be mended because its agent is not asked again."""
    fault = _fault(wrong)
    if fault is None:
        assert isinstance(wrong[-1], e.Unusable)
        return Fault(NotMended(UnusableReply(wrong[-1].message), why))
    return Fault(NotMended(first(fault.fault), why))


def _fault(wrong: tuple[Wrong, ...]) -> e.Faulted | None:
    return next((one for one in reversed(wrong) if isinstance(one, e.Faulted)), None)


def context_of(at: Attempt, failure: Failure | None) -> Context:
    run = at.run
    known = at.detail_of(at.parent)
    tried = [it for it in run.iterations if it.number < at.number and it.agent != BASELINE and it.bottleneck]
    moved = at.detail_of(tried[-1].number).explained if tried else None
    unsure = explored(run, at.number) if explores(run, at.iteration.agent) else None
    return Context(
        task=at.task,
        run=run,
        number=at.number,
        incumbent=_start(at),
        folder=_folder(at),
        home=at.folder.folder,
        workspace=at.workspace,
        say=at.say("agent"),
        keep=at.keep,
        waits=Reminder(at.journal, at.run_id),
        ready=at.control.ready,
        ledger=RunLedger(at.journal, at.config.claude, at.run_id, at.number),
        device=at.bench.device.name,
        arch=at.bench.device.arch,
        findings=tuple(one for one in known.explained.findings if heard(run, one.rule)) if known.explained else (),
        metrics=known.profiled.metrics if known.profiled else {},
        bottleneck=known.explained.bottleneck if known.explained else "",
        advice=known.profiled.advice if known.profiled else (),
        changes=moved.changes if moved else (),
        last=tried[-1] if tried else None,
        runs=tuple(at.journal.state.runs.values()),
        steering=tuple(line for line in run.steering if line.consumed_by == at.number),
        failure=failure,
        base=Base(unsure.number, at.files_of(unsure.number), unsure.tune) if unsure else None,
    )


def _folder(at: Attempt) -> Path:
    """Where the files lie that are proposed as they are."""
    if at.iteration.edit:
        return edit_folder(at.workspace, at.run, at.iteration.edit)
    return at.task.folder if at.iteration.again is None else at.folder_of(at.iteration.again).candidate


def usable(at: Attempt, proposal: Proposal) -> tuple[dict[str, bytes], Proposal]:
    """The proposal's files over the incumbent's, and what it means: an agent may leave out what it does not change.

    Raises Fault and BadReply.
    """
    strangers = protected_touched(at.task.editable, proposal.files)
    if strangers:
        raise Fault(ProtectedFiles(tuple(strangers)))
    size = sum(map(len, proposal.files.values()))
    if size > LARGEST:
        raise BadReply(f"the files have {size} bytes; {LARGEST} is the most a candidate may have")
    try:
        files = spliced(at.task, proposal.files)
    except ProtectedSection as err:
        raise Fault(ProtectedLines(str(err))) from err
    except SectionError as err:
        raise BadReply(f"{at.task.sectioned}:{err.line}: {err}") from err
    whole = {**_start(at), **files}
    return whole, _meant(at, proposal, whole)


def _meant(at: Attempt, proposal: Proposal, files: dict[str, bytes]) -> Proposal:
    """The operator's memo before the agent's; and what a repair does not say again is as it was said before."""
    before = at.iteration
    told = [event.fact.text for event in _events(at) if isinstance(event.fact, e.MemoGiven)]
    tune, point = proposal.tune, proposal.point
    if not tune and (tune := {name: values for name, values in before.tune.items() if _has(at, files, name)}):
        point = space.point_of(replace(at.task, tune=tune), files)
    return replace(
        proposal,
        memo=told[-1] if told else proposal.memo or before.memo or SILENT,
        expected=proposal.expected or before.expected,
        aims=proposal.aims or before.aims,
        tune=tune,
        point=point,
    )


def _has(at: Attempt, files: dict[str, bytes], name: str) -> bool:
    """Whether the files have a parameter of this name."""
    try:
        return name in space.read_point(replace(at.task, tune={name: ()}), files)
    except space.SpaceError:
        return False


def _events(at: Attempt) -> Iterable[e.Event]:
    return at.journal.events(at.run_id, at.number)


def _start(at: Attempt) -> dict[str, bytes]:
    """The files that a proposal starts from."""
    return edits.present(at.task.folder, at.task.editable) if at.is_baseline else at.files_of(at.parent)
