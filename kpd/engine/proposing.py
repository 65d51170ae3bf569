"""Between the engine and an agent: what it is told, and what of its answer can be used."""

from dataclasses import replace

from kpd.agents.agent import BadReply, Base, Context, Failure, Proposal
from kpd.engine import taskfolder
from kpd.engine.attempt import Attempt, Fault
from kpd.engine.edits import edit_folder
from kpd.engine.ledger import RunLedger
from kpd.engine.plan import SWEEP, explored
from kpd.engine.waiting import tell
from kpd.measure.screen import protected_touched, spliced
from kpd.model.detail import Detail
from kpd.workspace.sections import ProtectedSection, SectionError

LARGEST = 1 << 20
"""Bytes of a candidate."""


def failure_of(at: Attempt, found: Detail) -> Failure | None:
    """The last fault of this iteration, with the candidate whose it was."""
    if not found.faults:
        return None
    fault = found.faults[-1]
    return Failure(fault.step, fault.message, fault.feedback, at.candidate(), len(found.faults))


def unusable(fault: Failure | None, reason: str, asked: int) -> Failure:
    """What an agent is told whose answer could not be used, after the fault that it was to mend, if there was one."""
    if fault is None:
        return Failure("propose", reason, number=asked)
    message = f"{fault.message}\nYour answer to that could not be used: {reason}"
    return replace(fault, message=message, number=fault.number + asked)


def context_of(at: Attempt, failure: Failure | None) -> Context:
    run = at.run
    known = at.detail_of(at.parent)
    tried = [it for it in run.iterations if it.number < at.number and it.agent != "baseline" and it.bottleneck]
    moved = at.detail_of(tried[-1].number).explained if tried else None
    unsure = explored(run, at.number) if at.iteration.agent == SWEEP and len(run.agents) > 1 else None
    return Context(
        task=at.task,
        run=run,
        number=at.number,
        incumbent=_start(at),
        folder=edit_folder(at.workspace, run, at.iteration.edit) if at.iteration.edit else at.task.folder,
        home=at.folder.folder,
        workspace=at.workspace,
        say=at.say("agent"),
        keep=at.keep,
        waits=lambda reason: tell(at.journal, at.run, reason),
        ledger=RunLedger(at.journal, at.config.claude, at.run_id, at.number),
        device=at.bench.device.name,
        arch=at.bench.device.arch,
        findings=known.explained.findings if known.explained else (),
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


def usable(at: Attempt, proposal: Proposal) -> tuple[dict[str, bytes], Proposal]:
    """The proposal's files over the incumbent's: an agent may leave out what it does not change."""
    strangers = protected_touched(at.task.editable, proposal.files)
    if strangers:
        raise Fault("rejected", f"protected file: {', '.join(strangers)}")
    size = sum(map(len, proposal.files.values()))
    if size > LARGEST:
        raise BadReply(f"the files have {size} bytes; {LARGEST} is the most a candidate may have")
    try:
        files = spliced(at.task, proposal.files)
    except ProtectedSection as err:
        raise Fault("rejected", f"protected section: {err}") from err
    except SectionError as err:
        raise BadReply(f"{at.task.sectioned}:{err.line}: {err}") from err
    return {**_start(at), **files}, proposal


def _start(at: Attempt) -> dict[str, bytes]:
    """The files that a proposal starts from."""
    return taskfolder.present(at.task.folder, at.task.editable) if at.is_baseline else at.files_of(at.parent)
