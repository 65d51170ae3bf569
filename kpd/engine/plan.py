"""Decides what a run does next: a pure function of the run, so that a restart decides the same."""

from dataclasses import dataclass

from kpd.engine.rotation import exhausted, exploring, next_agent, without_gain
from kpd.model import scores
from kpd.model.agents import AGAIN, BASELINE, EDIT
from kpd.model.causes import (
    AgentsDone,
    BaselineFaulty,
    GpuHoursUsed,
    HoursUsed,
    IterationsUsed,
    NothingLeft,
    PatienceUsed,
    RunCause,
    StopScoreReached,
)
from kpd.model.exhaustion import ExhaustionReason
from kpd.model.faults import CandidateFault
from kpd.model.headline import headline, on_former, paired_score
from kpd.model.iteration import Confirming, Iteration
from kpd.model.kinds import Told
from kpd.model.lanes import current_in, first_lane, lane_of, place_in
from kpd.model.run import Run
from kpd.model.scores import Direction
from kpd.model.status import RunOutcome
from kpd.model.waits import ForEdit


@dataclass(frozen=True, slots=True)
class Iterate:
    """Begin (or, after a restart, go on with) iteration `number` by `agent`.

    With `of` it proposes the candidate of that iteration again; `thorough` and `confirming` are as in `Iteration`.
    """

    number: int
    agent: str
    resumed: bool = False
    of: int | None = None
    thorough: bool = False
    confirming: Confirming = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until a person acts, or, with None, until iterations of other lanes have come further."""

    what: ForEdit | None


@dataclass(frozen=True, slots=True)
class Sanitize:
    """Wait for the last checks of the accepted iteration `number`: the run may not end before."""

    number: int


@dataclass(frozen=True, slots=True)
class Reflect:
    """Go on, after a restart, with the work on a tool that follows iteration `number` by `agent`."""

    number: int
    agent: str


@dataclass(frozen=True, slots=True)
class End:
    """The run is over."""

    outcome: RunOutcome
    cause: RunCause


Action = Iterate | Reflect | Wait | Sanitize | End


def next_action(run: Run, direction: Direction = "lower", lane: int = 0) -> Action:
    """Decide what the run does next in one of its lanes.

    While others are at an iteration, a lane begins only what does not need the end of theirs: nothing before there is
    an incumbent, no more than the budget has left, no point beside one that a search has not named yet, no candidate
    while another one for the same device is being prepared. What concerns the whole run is the first lane's, and the
    last thing that is done. Before the first candidate on a device comes the baseline against itself there.
    """
    if (current := current_in(run, lane)) is not None:
        return Iterate(current.number, current.agent, resumed=True)
    action = _next_in(run, direction, lane)
    baseline = run.baseline
    if isinstance(action, Iterate) and not action.confirming and baseline is not None and _lacks_floor(run, lane):
        return Iterate(action.number, AGAIN, of=baseline.number, confirming="floor")
    return action


def _next_in(run: Run, direction: Direction, lane: int) -> Action:
    """Decide what comes next in a lane, where nothing is under way there."""
    action = _next(run, direction)
    if not run.open:
        begins = lane == first_lane(run) or (isinstance(action, Iterate) and run.incumbent is not None)
        return action if begins else Wait(None)
    if not isinstance(action, Iterate) or not _needs_no_end(run, action):
        return action if isinstance(action, Wait) else Wait(None)
    of_agent = action.agent not in (EDIT, AGAIN)
    if of_agent and (_unnamed(run, action.agent) or _prepares_beside(run, lane)):
        return Wait(None)
    return action


def has_more(run: Run, direction: Direction) -> bool:
    """Return whether one more device would have something to do, now or once a search has named its next point."""
    return _needs_no_end(run, _next(run, direction))


def _needs_no_end(run: Run, action: Action) -> bool:
    """Return whether what comes next can begin beside what is under way."""
    if not isinstance(action, Iterate) or action.confirming == "end" or run.incumbent is None:
        return False
    return action.agent in (EDIT, AGAIN) or not _all_taken(run)


def _lacks_floor(run: Run, lane: int) -> bool:
    """Return whether the baseline has never been measured, nor tried, on the lane's device."""
    tried = {it.place for it in run.on_this_kind if it.outcome == "baseline" or it.measures_floor}
    return all(device for _, device in tried) and place_in(run, lane) not in (("", ""), *tried)


def _all_taken(run: Run) -> bool:
    """Return whether the iterations under way use up what the budget has left, if all of them count."""
    open_ones = sum(it.again is None and it.agent != BASELINE for it in run.open)
    return len(run.counted) + open_ones >= run.budget.iterations


def _unnamed(run: Run, agent: str) -> bool:
    """Return whether the agent searches points, and has not named the one of an iteration under way."""
    return run.trait(agent).explores and any(it.agent == agent and not it.point for it in run.open)


def _prepares_beside(run: Run, lane: int) -> bool:
    """Return whether another lane on the same device prepares a candidate: one at a time is enough to keep it busy."""
    lanes = run.lanes
    prepares = {lane_of(run, it) for it in run.open if not it.prepared}
    return lane in lanes and any(lanes.get(other) == lanes[lane] for other in prepares)


def _next(run: Run, direction: Direction) -> Action:
    """Decide what the run does next, whatever is under way.

    First comes work on a tool after an unfinished iteration, then the baseline (unless the task has no right
    one), then what the operator asked for (an edit, or to measure something again), then, within the budget, the
    next agent's turn. Before the end winners have had their last checks, and the incumbent is measured
    against the baseline. A run that had ended and was reopened measures what was asked for, and ends again.
    """
    if (building := on_a_tool(run)) is not None:
        return Reflect(building.number, building.agent)
    number = run.iterations[-1].number + 1 if run.iterations else 0
    if run.late and run.incumbent is None and run.reopened is None:
        return End(result(run), _hours_used(run))
    if run.incumbent is None and (first := _first(run, number)) is not None:
        return first
    if run.pending_edit and run.reopened is None:
        return Iterate(number, EDIT)
    if run.again:
        wish = run.again[0]
        return Iterate(number, AGAIN, of=wish.of, thorough=wish.thorough, confirming=wish.confirming)
    if run.reopened is not None:
        before = run.reopened
        if run.unsanitized:
            return Sanitize(run.unsanitized[0].number)
        return End(before.outcome if before.outcome == "stopped" else result(run), before.cause)
    if (cause := _spent(run, direction)) is not None:
        return _confirmed(run, number, cause)
    if run.waits_for_edits:
        return Wait(ForEdit())
    if (agent := next_agent(run)) is None:
        return _confirmed(run, number, AgentsDone(tuple(_left(it) for it in run.iterations if exhausted(it))))
    return Iterate(number, agent)


def on_a_tool(run: Run) -> Iteration | None:
    """Return the last iteration, if the work of its session on a tool is neither ended nor too late."""
    last = run.iterations[-1] if run.iterations else None
    under_way = last is not None and last.session is not None and last.session.toolsmith
    return last if under_way and run.evolve and not run.over else None


def _first(run: Run, number: int) -> Iterate | End | None:
    """Return what a run without an incumbent does first; None where a right candidate has to be found, or is known."""
    own = (it for it in run.on_this_kind if it.agent == BASELINE)
    faulty = next((it for it in own if it.outcome in ("failed", "rejected")), None)
    if run.own_files == "absent" or (run.own_files == "wrong" and faulty is not None):
        return None
    return Iterate(number, BASELINE) if faulty is None else End("failed", BaselineFaulty(_fault_of(faulty)))


def _confirmed(run: Run, number: int, cause: RunCause) -> Iterate | Sanitize | End:
    """End the run, once a contest against the baseline has ended for its incumbent: with a result or without.

    Before that all winners have had their last checks, so that no other becomes the incumbent afterwards.
    """
    if run.unsanitized:
        return Sanitize(run.unsanitized[0].number)
    best = run.incumbent
    if best == (run.baseline.number if run.baseline is not None else None):
        return End(result(run), cause)
    if any(it.confirms == best and it.outcome is not None for it in run.on_this_kind):
        return End(result(run), cause)
    return Iterate(number, AGAIN, of=best, confirming="end")


def _fault_of(it: Iteration) -> CandidateFault:
    assert isinstance(it.cause, CandidateFault)
    return it.cause


def _left(it: Iteration) -> ExhaustionReason:
    """Return why the iteration's agent leaves the rotation."""
    return it.cause.why if isinstance(it.cause, NothingLeft) else it.cause if isinstance(it.cause, Told) else Told("")


def result(run: Run) -> RunOutcome:
    """Return the run's outcome: `improved` unless the incumbent is the baseline, or measured to be no faster.

    A run that has nothing but winners that wait for a person has no gain yet, and has not failed. One that could not
    begin anew on another kind of device has what it reached on the last one with a baseline.
    """
    baseline = run.baseline
    reached = [former for former in run.former if former.incumbent is not None]
    if run.incumbent is None and reached:
        return result(on_former(run, reached[-1]))
    if run.incumbent is None or baseline is None:
        return "no_gain" if run.held else "failed"
    found = headline(run)
    unheld = found is not None and found.how == "measured" and not found.holds
    return "no_gain" if unheld or run.incumbent == baseline.number else "improved"


def _spent(run: Run, direction: Direction) -> RunCause | None:
    """Return why the run may not go on; None when it may.

    An iteration and the points explored from it count as one attempt for the patience. An iteration that is measured
    again uses up neither iterations nor patience; a gain that it shows counts as any other. The stop score is compared
    with the baseline's score and the paired speed-up.
    """
    budget = run.budget
    score, stop = paired_score(run, direction), budget.stop_score
    if score is not None and stop is not None and scores.reached(score, stop, direction):
        return StopScoreReached(stop, score)
    if run.late:
        return _hours_used(run)
    if len(run.counted) >= budget.iterations:
        return IterationsUsed(budget.iterations)
    without = without_gain(run)
    if without >= budget.patience and not exploring(run):
        return PatienceUsed(without, budget.patience)
    return None


def _hours_used(run: Run) -> HoursUsed | GpuHoursUsed:
    return GpuHoursUsed(run.budget.gpu_hours) if run.gpus_used else HoursUsed(run.budget.hours)
