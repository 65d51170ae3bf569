"""The audit on fresh inputs: times both kernels in batches in which each call has inputs that are wholly new."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

from kpd.measure.python.host.batching import WAIT_MS, Batch, WarmCase, batch
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.mixed import Mixtures, mixable
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.timing import timed

FRESH_TURNS = 4  # of pairs with inputs that hardly change, and of those with fresh ones: …
FRESH_PAIRS, FRESH_PAIRS_ON_A_GPU, SWAPPED_PAIRS = 20, 10, 8  # … so many pairs of a turn at most, …
FEWEST_PAIRS = 2  # … and those that come whatever they take
SWAPPED_SHARE = 0.3  # of the time of those with fresh ones
MOST_BATCHES = 2 * FRESH_TURNS * (FRESH_PAIRS + SWAPPED_PAIRS + 1)
FRESH_COMPARED = 0.3  # without a GPU of the candidate's only
FRESH_S = 1.5  # for all cases on a GPU, where fresh inputs take longer than the calls
MOST_BYTES = 1 << 30  # of inputs of which mixtures are made


def fresh(session: RunnerCommand, a: str, b: str, order: str, span_ms: str, limit_ms: str) -> dict[str, Any]:
    """Time both kernels in batches in which each call has inputs that are wholly new. Returns the audit's report."""
    session.ahead = session.gpu  # children that draw would have the CPU, and its caches, of the calls that are timed
    share = 1e6 * float(span_ms) / len(session.harness.cases) / FRESH_TURNS
    when = "the audit on fresh inputs"
    return timed(session, {"a": a, "b": b}, order, float(limit_ms), when, partial(_fresh, share=share), fresh=True)


def _fresh(warm: WarmCase, share: float) -> dict[str, Any]:
    """Take pairs of batches on fresh inputs. Without a GPU, ones whose inputs hardly change come between them."""
    work, worker, count = warm.work, warm.work.workers["a"], warm.sets
    making = _making(warm)
    fresh, swapped = FreshPairs(warm, making, True), FreshPairs(warm, making, False)
    until = time.monotonic() + FRESH_S / len(work.session.harness.cases) if worker.gpu else math.inf
    most = FRESH_PAIRS_ON_A_GPU if worker.gpu else FRESH_PAIRS
    for turn in range(1, FRESH_TURNS + 1):
        if not worker.gpu:
            swapped.take(SWAPPED_PAIRS, 0 if swapped.times["a"] else FEWEST_PAIRS, SWAPPED_SHARE * share * turn, until)
        fresh.take(most, FEWEST_PAIRS, share * turn, until)
    making.close()
    beside = max(worker.request(count).ns for worker in warm.calls.workers.values())
    return {
        "reps": count, "compared": fresh.compared, "anew": True, "a_ns": fresh.times["a"], "b_ns": fresh.times["b"],
        "swapped_a_ns": swapped.times["a"], "swapped_b_ns": swapped.times["b"], "request_ns": beside,
        "apart": not worker.gpu,
    }  # fmt: skip


def _making(warm: WarmCase) -> Generator[list[Inputs]]:
    """Make the inputs of one batch after another: mixtures if these are wholly new, else they are drawn."""
    work, unseen = warm.work, warm.work.unseen
    if sum(one.size for one in unseen) < MOST_BYTES and mixable(
        [*unseen, *work.drawn.sets], work.session.harness.fixed
    ):
        mixtures = Mixtures(unseen, work.rng)
        while True:
            with work.session.marks.of("mix"):
                made = [mixtures.make() for _ in range(warm.sets)]
            yield made
    asked = ((work.case, work.kind, warm.sets) for _ in range(MOST_BATCHES))
    with contextlib.closing(work.session.drawing(asked, work.rng)) as drawing:
        for drawn in drawing:
            yield drawn.sets


class FreshPairs:
    """Pairs of batches of both sides, with inputs that are wholly new in each batch, or with ones that hardly change.

    As much is made and written for either, so that the caches are as after the other: they differ in the contents.
    """

    def __init__(self, warm: WarmCase, making: Iterator[list[Inputs]], fresh: bool) -> None:
        self.warm, self.making, self.fresh = warm, making, fresh
        self.times: dict[str, list[int]] = {"a": [], "b": []}
        self.compared = 0
        self.spent = 0.0

    def take(self, most: int, fewest: int, share: float, until: float) -> None:
        """Take so many pairs, fewer where all of them have taken their `share` by then. Raises KernelProblem."""
        if not self.fresh and (fewest or self.spent < share):
            for side in self.warm.work.workers:  # each has seen these inputs before
                self._batch(side, 0.0)
        first = len(self.times["a"])
        while (taken := len(self.times["a"]) - first) < fewest or (
            taken < most and self.spent < share and time.monotonic() < until
        ):
            for side in self.warm.work.rng.sample("ab", 2):
                one = self._batch(side, self._looks(side))
                self.compared += side == "b" and one.known
                self.spent += one.ns
                self.times[side].append(one.ns)

    def _looks(self, side: str) -> float:
        """Return how likely a result of the next batch is compared."""
        if not self.fresh or (side == "a" and not self.warm.work.session.gpu):
            return 0.0
        return 1.0 if side == "b" and not self.times["b"] else FRESH_COMPARED

    def _batch(self, side: str, looks: float) -> Batch:
        work, calls = self.warm.work, self.warm.calls
        for number, inputs in enumerate(next(self.making)):
            if self.fresh:
                calls.fill(number, inputs)
        calls.prepare(WAIT_MS)
        taken = batch(work, calls, side, 1, looks)
        work.session.probed(side, taken.probed_ns)
        return taken
