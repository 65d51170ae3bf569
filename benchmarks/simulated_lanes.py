"""How busy one run keeps many devices, with simulated job times: the plan and the fold are kpd's, only time is not.

    python benchmarks/simulated_lanes.py [--devices 1 2 8 64] [--per-device 20] [--propose 2] [--build 10]
        [--contest 60] [--wins 0.05] [--seed 1]

Each iteration proposes, builds and is measured; its times are drawn around the given medians (log-normal, sigma 0.3).
Each candidate has a true time: a share `wins` needs 1 to 10 % less than the incumbent that it was made of, all others
more.
The noise floor of each further device counts as time, and not as a contest.
`under_way` is the share of all device time in which an iteration is under way there, `measures` that in which it has
the device; both count from the end of the baseline to the end of the run, the contest against the baseline, on one
device alone, included. `factor` compares the contests an hour with those of the first number of devices. Prints one
JSON object.
"""

import argparse
import json
import random
import time
from heapq import heappop, heappush
from typing import Any

from kpd.engine.plan import End, Iterate, next_action
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import ByVerdict, IterationCause, Noise, Superseded
from kpd.model.fold import fold
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Verdict

WON = Verdict("faster", Gain(5.0, 4.0, 6.0), 7, True, "confirmed", 1.0)
LOST = Verdict("slower", Gain(-5.0, -6.0, -4.0), 7, False, "confirmed", 1.0)
SIGMA = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2, 8, 64])
    parser.add_argument("--per-device", type=int, default=20, help="iterations of the budget, for each device")
    for name, median_s in (("propose", 2.0), ("build", 10.0), ("contest", 60.0)):
        parser.add_argument(f"--{name}", type=float, default=median_s, help="median seconds")
    parser.add_argument("--wins", type=float, default=0.05, help="share of candidates that are faster")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    found = [Simulation(args, devices).run_to_its_end() for devices in args.devices]
    for one in found:
        one["factor"] = round(one["contests_per_hour"] / found[0]["contests_per_hour"], 2)
    print(json.dumps({"given": vars(args), "found": found}, indent=2))


class Simulation:
    """A run on so many devices, whose iterations take simulated time."""

    def __init__(self, args: argparse.Namespace, devices: int) -> None:
        self.args, self.devices = args, devices
        self.random = random.Random(args.seed)
        self.state, self.now = State(), 0.0
        self.pending: list[tuple[float, int, int]] = []  # when, in which lane, which iteration: its end
        self.true_us: dict[int, float] = {0: 100.0}
        self.idle = set(range(devices))
        self.under_way_s = self.measures_s = 0.0
        self.since = 0.0
        iterations = args.per_device * devices
        self.emit(e.RunQueued("r1", "task", "claude", "box", Budget(iterations, iterations), devices=devices))
        self.emit(e.RunStarted("r1", "GPU", "box", "GPU-0"))
        self.emit(e.DevicesTaken("r1", tuple(f"GPU-{number}" for number in range(1, devices))))

    @property
    def run(self) -> Run:
        return self.state.runs["r1"]

    def emit(self, fact: e.Fact) -> None:
        self.state = fold(self.state, e.Event(self.state.seq + 1, self.now, fact))

    def run_to_its_end(self) -> dict[str, Any]:
        begun = time.perf_counter()
        while not self._all_begun():
            self.now, lane, number = heappop(self.pending)
            self._end(number)
            self.idle.add(lane)
        whole = (self.now - self.since) * self.devices
        contests = sum(not it.measures_floor for it in self.run.iterations) - 1
        return {
            "devices": self.devices,
            "iterations": contests,
            "superseded": sum(isinstance(it.cause, Superseded) for it in self.run.iterations),
            "hours": round((self.now - self.since) / 3600, 3),
            "contests_per_hour": round(3600 * contests / (self.now - self.since), 1),
            "under_way": round(self.under_way_s / whole, 3),
            "measures": round(self.measures_s / whole, 3),
            "kpd_ms_per_iteration": round(1000 * (time.perf_counter() - begun) / contests, 2),
        }

    def _all_begun(self) -> bool:
        """Let every idle lane begin what the plan says; whether the run is over."""
        for lane in sorted(self.idle):
            step = next_action(self.run, "lower", lane)
            if isinstance(step, End):
                return True
            if isinstance(step, Iterate):
                self._begin(step, lane)
        return False

    def _begin(self, step: Iterate, lane: int) -> None:
        run = self.run
        self.idle.remove(lane)
        parent = step.number if run.incumbent is None else run.incumbent
        if step.confirming and run.baseline is not None:
            parent = run.baseline.number
        given = (step.of, step.thorough, step.confirming, lane)
        self.emit(e.IterationStarted("r1", step.number, step.agent, parent, "", *given))
        agents = step.of is None and parent != step.number
        prepare_s = self._drawn(self.args.propose) + self._drawn(self.args.build) if agents else 0.0
        contest_s = self._drawn(self.args.contest)
        heappush(self.pending, (self.now + prepare_s + contest_s, lane, step.number))
        if parent != step.number:
            self.under_way_s += prepare_s + contest_s
            self.measures_s += contest_s

    def _us(self, it: Iteration) -> float:
        """Return the true time of its candidate, a little less or more than that of the one that it was made of."""
        if it.again is not None:
            return self._us_of(it.again)
        won = self.random.random() < self.args.wins
        ratio = 1 - self.random.uniform(0.01, 0.1) if won else 1 + self.random.uniform(0.01, 0.5)
        self.true_us.setdefault(it.number, ratio * self._us_of(it.parent))
        return self.true_us[it.number]

    def _us_of(self, number: int) -> float:
        it = self.run.iteration(number)
        return self.true_us[number] if it is None or it.again is None else self._us_of(it.again)

    def _drawn(self, median_s: float) -> float:
        return median_s * self.random.lognormvariate(0.0, SIGMA)

    def _end(self, number: int) -> None:
        """End an iteration as the step `record` does."""
        run = self.run
        it = run.iteration(number)
        assert it is not None
        outcome: Outcome = "rejected"
        cause: IterationCause = ByVerdict(LOST)
        faster = self._us(it) < self._us_of(it.parent)
        if it.parent == number:
            outcome, cause, self.since = "baseline", Noise(WON.gain), self.now
        elif it.confirming:
            outcome, cause = "measured", ByVerdict(WON)
        elif faster and run.incumbent != it.parent:
            cause = Superseded(WON, "r1", run.incumbent or 0)
        elif faster:
            outcome, cause = "accepted", ByVerdict(WON)
        if outcome in ("baseline", "accepted"):
            self.emit(e.Accepted("r1", number, {}))
        self.emit(e.IterationEnded("r1", number, outcome, cause))


if __name__ == "__main__":
    main()
