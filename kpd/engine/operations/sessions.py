"""Implements operations on a coding agent at work. Its session hears of each fact, and acts."""

from kpd.engine.engine import Engine
from kpd.engine.operations.runs import steer
from kpd.model import events as e
from kpd.model.run import Run
from kpd.operations.operation import RunIteration
from kpd.operations.runs import SteerRun
from kpd.operations.sessions import AnswerAgent, CutTurn, InterruptAgent, at_work, building


def answer(engine: Engine, op: AnswerAgent, target: RunIteration, by: str) -> dict[str, str]:
    """Answer the oldest question."""
    session = target.it.session
    assert session is not None
    asked, allowed = session.asks[0], op.reply == "allow"
    why = "" if allowed else f"denied by {by}"
    engine.journal.emit(
        e.PermissionAnswered(target.run.id, target.it.number, session.id, asked.request, allowed, why, by)
    )
    return {"what": f"{asked.tool} {asked.about}"}


def interrupt(engine: Engine, op: InterruptAgent, target: Run, by: str) -> dict[str, object]:
    told = steer(engine, SteerRun(run=target.id, text=op.text), target, by)
    _cut(engine, target, by)
    return told


def cut(engine: Engine, op: CutTurn, target: Run, by: str) -> None:
    _cut(engine, target, by)


def _cut(engine: Engine, run: Run, by: str) -> None:
    it = at_work(run) or building(run)
    assert it is not None
    engine.journal.emit(e.TurnCut(run.id, it.number, by))
