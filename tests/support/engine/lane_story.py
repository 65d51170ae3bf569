"""A run of several lanes whose iterations end as a test says."""

from dataclasses import replace

from kpd.engine.plan import End, Iterate, Wait, next_action
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import ByVerdict, IterationCause, Noise, Superseded
from kpd.model.fold import fold
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Verdict

GAIN = Gain(5.0, 4.0, 6.0)
WON = Verdict("faster", GAIN, 7, True, "confirmed", 1.0)
LOST = replace(WON, word="slower", accepted=False)


class Story:
    """A run of several lanes, on so many GPUs or each on its own, whose iterations end as a test says, in any order."""

    def __init__(self, lanes: int, budget: Budget, agent: str = "claude", gpus: int = 0) -> None:
        self.state, self.seq = State(), 0
        self.lanes, self.gpus = lanes, gpus or lanes
        self.emit(e.RunQueued("r1", "scale", agent, "box", budget, devices=lanes))
        self.emit(e.RunStarted("r1", "H100", "box", "GPU-0"))
        self.emit(e.DevicesTaken("r1", tuple(f"GPU-{number % self.gpus}" for number in range(1, lanes))))

    @property
    def run(self) -> Run:
        return self.state.runs["r1"]

    def emit(self, fact: e.Fact) -> None:
        self.seq += 1
        self.state = fold(self.state, e.Event(self.seq, float(self.seq), fact))

    def begin(self, lane: int) -> Iterate | Wait | End:
        """Do what the plan says in a lane, as its loop does, up to the beginning of an iteration."""
        step = next_action(self.run, "lower", lane)
        if isinstance(step, Iterate) and not step.resumed:
            parent = step.number if self.run.incumbent is None else self.run.incumbent
            if step.confirming and self.run.baseline is not None:
                parent = self.run.baseline.number
            self.emit(
                e.IterationStarted(
                    "r1", step.number, step.agent, parent, "", step.of, step.thorough, step.confirming, lane
                )
            )
        assert isinstance(step, Iterate | Wait | End)
        return step

    def measure_noise(self) -> None:
        """Measure the baseline, and then its noise on each further device."""
        for lane in range(self.gpus):
            self.begin(lane)
            self.end(self.run.iterations[-1], True)

    def end(self, it: Iteration, won: bool) -> None:
        """End an iteration as the step `record` does."""
        outcome: Outcome
        cause: IterationCause
        if it.parent == it.number:
            outcome, cause = "baseline", Noise(GAIN)
        elif it.confirming:
            outcome, cause = "measured", ByVerdict(WON)
        elif won and it.parent != self.run.incumbent:
            outcome, cause = "rejected", Superseded(WON, "r1", self.run.incumbent or 0)
        else:
            outcome, cause = ("accepted", ByVerdict(WON)) if won else ("rejected", ByVerdict(LOST))
        self.emit(e.Judged("r1", it.number, 0.0, 0.0, WON if won else LOST))
        if outcome in ("baseline", "accepted"):
            self.emit(e.Accepted("r1", it.number, {}))
        self.emit(e.IterationEnded("r1", it.number, outcome, cause))
