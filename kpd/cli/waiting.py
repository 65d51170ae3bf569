"""Follows one run to its end: prints progress, returns the exit code."""

from collections.abc import AsyncIterator

from kpd.cli.exit_codes import FAILED, INFRA, NO_GAIN, OK, CliError
from kpd.cli.halts import Halts, now
from kpd.cli.log import follow, recorded
from kpd.cli.terminal_text import line, narrate
from kpd.model import events as e
from kpd.model.deploying import goes_on, outcome, wants_deployment
from kpd.model.fold import fold
from kpd.model.headline import headline
from kpd.model.notices import (
    BaselineCost,
    BuiltAgain,
    CasesUnread,
    DoesNotHold,
    NewBaseline,
    NoSanitizer,
    NotOptimised,
    NotWritten,
    OwnBaseline,
    Unlooked,
    Unsound,
)  # fmt: skip
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Ended, Paused, RunOutcome
from kpd.model.waits import ForDevice
from kpd.text.endings import iteration_ended, of_run
from kpd.text.headlines import headline as told_headline
from kpd.text.notices import told as notice
from kpd.text.signs import OUTCOMES, RUN_OUTCOMES, of_iteration
from kpd.text.waits import wait
from kpd.workspace.paths import Workspace

CODES = {"improved": OK, "no_gain": NO_GAIN, "failed": FAILED, "stopped": FAILED, "infra": INFRA}


async def wait_for(ws: Workspace, run_id: str) -> int:
    """Wait for the end of the run, and of its winner's deployment if it has one; return the exit code of that.

    Raises DaemonError where the daemon goes away, and CliError where trouble pauses the run, or no host can take it.
    """
    state, halts = State(), Halts(run_id)
    rolled_back, code = False, FAILED
    async for event in _from_its_beginning(ws, run_id):
        state = fold(state, event)
        run = state.runs[run_id]
        rolled_back = _rolled_back(event.fact, run_id, rolled_back)
        if isinstance(run.status, Ended):
            if isinstance(event.fact, e.RunEnded) and event.fact.run == run_id:
                code = _verdict(run, run.status.outcome, rolled_back)
            elif said := halts.say(event.fact):
                narrate(said)
            if not goes_on(state, run):
                return _in_production(state, run) if wants_deployment(run) else code
            continue
        if isinstance(run.waiting, ForDevice) and run.waiting.in_vain:
            remedy = f"kpd hosts shows them; {run_id} stays queued: kpd stop {run_id} withdraws it"
            raise CliError(f"no host can take {run_id}: {line(wait(run.waiting))}", remedy, INFRA)
        if isinstance(run.status, Paused) and run.status.infra:
            raise CliError(now(run), code=INFRA)
        if said := halts.say(event.fact):
            narrate(said)
        _narrate(event.fact, run)
    raise CliError("the connection to the daemon was closed", "kpd status shows whether it still runs", INFRA)


async def _from_its_beginning(ws: Workspace, run_id: str) -> AsyncIterator[e.Event]:
    """Yield all events of the run so far, then every new event."""
    last = 0
    for event in recorded(ws, run_id):
        yield event
        last = event.seq
    async for event in follow(ws, last):
        yield event


def _in_production(state: State, run: Run) -> int:
    """Return the exit code of how the deployment of the winner ended."""
    from kpd.cli.project_deploy import code_of

    last = outcome(state, run)
    return INFRA if last is None or last.cut else code_of(last.deployment)


def _rolled_back(fact: e.Fact, run_id: str, before: bool) -> bool:
    """Return whether the last change of this run's incumbent was a step back."""
    match fact:
        case e.RolledBack(run=run) if run == run_id:
            return True
        case e.Accepted(run=run) if run == run_id:
            return False
    return before


def _verdict(run: Run, outcome: RunOutcome, rolled_back: bool) -> int:
    sign, best = RUN_OUTCOMES[outcome], headline(run)
    told = f"{run.id} {sign.glyph} {sign.word}: {line(of_run(run))}"
    narrate(f"{told}; {run.id}.{best.of} is {told_headline(best)}" if best is not None else told)
    if run.held:
        names = ", ".join(f"{run.id}.{it.number}" for it in run.held)
        narrate(f"{names} won, but flagged: kpd held {run.id} says why; accept or decline")
    return FAILED if rolled_back and outcome == "no_gain" else CODES[outcome]


def _narrate(fact: e.Fact, of: Run) -> None:
    """Print what an event means to the run, which includes it."""
    match fact:
        case e.IterationEnded(run=run, iteration=number, cause=ended) if run == of.id:
            found = of.iteration(number)
            sign = of_iteration(found, of) if found is not None else OUTCOMES[fact.outcome]
            narrate(f"{run}.{number}  {sign.glyph} {sign.word}  {line(iteration_ended(ended))}")
        case e.GaveWay(run=run, iteration=number, unheld=unheld, why="contest") if run == of.id:
            narrate(
                f"{run}.{unheld} is no faster than the baseline, measured once more: {run}.{number} is the incumbent"
            )
        case e.Noticed(
            about=BaselineCost(run=run)
            | BuiltAgain(run=run)
            | CasesUnread(run=run)
            | NotOptimised(run=run)
            | NotWritten(run=run)
            | OwnBaseline(run=run)
            | NewBaseline(run=run)
            | NoSanitizer(run=run)
            | Unlooked(run=run)
            | Unsound(run=run) as about
        ) if run == of.id:
            narrate(line(notice(about)))
        case e.Noticed(about=DoesNotHold(run=run, instead=None) as about) if run == of.id:
            narrate(line(notice(about)))
