"""How busy one run keeps many devices, with simulated job times: the plan and the fold are kpd's, only time is not.

    python benchmarks/simulated_lanes.py [--devices 1 2 8 64] [--per-device 20] [--propose 2] [--build 10]
        [--contest 60] [--wins 0.05] [--seed 1]

Each device has the lanes that a GPU has. Each iteration proposes, builds and is measured, the latter by one lane of a
device at a time; its times are drawn around the given medians (log-normal, sigma 0.3).
Each candidate has a true time: a share `wins` needs 1 to 10 % less than the incumbent that it was made of, all others
more.
The noise floor of each further device counts as measuring, and not as a contest.
`busy` is the share of all device time in which something is measured, from the end of the baseline to the moment when
the budget has nothing left to begin; `busy_whole` counts until the end of the run: the last contests, and that against
the baseline, on one device alone, are of it too. `factor` compares the contests an hour with those of the first number
of devices. Prints one JSON object.
"""

import argparse
import json
import random
import time
from heapq import heappop, heappush
from typing import Any

from kpd.engine.further import further_lanes
from kpd.engine.placement import Placement
from kpd.engine.plan import End, Iterate, next_action
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.causes import ByVerdict, IterationCause, Noise, Superseded
from kpd.model.fold import fold
from kpd.model.hosts import Device, HostCard
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
        self.pending: list[tuple[float, int, int, bool]] = []  # when, in which lane, which iteration: built, or over
        self.free = [0.0] * devices  # by device: since when, or from when on, nothing is measured there
        self.measured: list[tuple[float, float]] = []  # from when to when
        self.true_us: dict[int, float] = {0: 100.0}
        self.since = self.last_begun = 0.0
        iterations = args.per_device * devices
        gpus = tuple(Device(f"GPU-{number}", "gpu", "GPU") for number in range(devices))
        self.emit(e.RunQueued("r1", "task", "claude", "box", Budget(iterations, iterations), devices=devices))
        self.emit(e.RunStarted("r1", "GPU", "box", "GPU-0"))
        cards, first = {"box": HostCard("box", "local", devices=gpus)}, Placement("box", gpus[0])
        more = further_lanes(self.run, first, {0: first.ref}, cards)
        self.emit(e.DevicesTaken("r1", tuple(one.device.id for one in more.values())))
        self.device = [int(device.removeprefix("GPU-")) for _, device in self.run.places]
        self.idle = set(self.run.lanes)

    @property
    def run(self) -> Run:
        return self.state.runs["r1"]

    def emit(self, fact: e.Fact) -> None:
        self.state = fold(self.state, e.Event(self.state.seq + 1, self.now, fact))

    def run_to_its_end(self) -> dict[str, Any]:
        begun = time.perf_counter()
        while not self._all_begun():
            self.now, lane, number, over = heappop(self.pending)
            if over:
                self._end(number)
                self.idle.add(lane)
            else:
                self._measure(lane, number)
        contests = sum(not it.measures_floor for it in self.run.iterations) - 1
        return {
            "devices": self.devices,
            "iterations": contests,
            "superseded": sum(isinstance(it.cause, Superseded) for it in self.run.iterations),
            "hours": round((self.now - self.since) / 3600, 3),
            "contests_per_hour": round(3600 * contests / (self.now - self.since), 1),
            "busy": round(self._busy(self.last_begun), 3),
            "busy_whole": round(self._busy(self.now), 3),
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

    def _busy(self, until: float) -> float:
        """Return the share of all device time in which something was measured, since the end of the baseline."""
        busy = sum(max(min(end, until) - max(begun, self.since), 0.0) for begun, end in self.measured)
        return busy / ((until - self.since) * self.devices)

    def _begin(self, step: Iterate, lane: int) -> None:
        run = self.run
        self.idle.remove(lane)
        if step.confirming != "end":
            self.last_begun = self.now
        parent = step.number if run.incumbent is None else run.incumbent
        if step.confirming and run.baseline is not None:
            parent = run.baseline.number
        given = (step.of, step.thorough, step.confirming, lane)
        self.emit(e.IterationStarted("r1", step.number, step.agent, parent, "", *given))
        agents = step.of is None and parent != step.number
        prepare_s = self._drawn(self.args.propose) + self._drawn(self.args.build) if agents else 0.0
        heappush(self.pending, (self.now + prepare_s, lane, step.number, False))

    def _measure(self, lane: int, number: int) -> None:
        """Have an iteration that is built measured, once its device is free: its two lanes take turns."""
        self.emit(e.StepStarted("r1", number, "check", 1, "measures"))
        begins = max(self.now, self.free[self.device[lane]])
        self.free[self.device[lane]] = ends = begins + self._drawn(self.args.contest)
        self.measured.append((begins, ends))
        heappush(self.pending, (ends, lane, number, True))

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
