"""Takes batches of both kernels in which each call has inputs that are wholly new."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator

from kpd.measure.python.host.batching import WAIT_MS, Batch, WarmCase, batch
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.mixed import Mixtures, mixable

COMPARED = 0.3  # without a GPU of the candidate's only
MOST_BYTES = 1 << 30  # of inputs of which mixtures are made


def making(warm: WarmCase, batches: int) -> Generator[list[Inputs]]:
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
    asked = ((work.case, work.kind, warm.sets) for _ in range(batches))
    with contextlib.closing(work.session.drawing(asked, work.rng)) as drawing:
        for drawn in drawing:
            yield drawn.sets


class FreshPairs:
    """Pairs of batches, one of each side, with inputs that are wholly new in each batch."""

    def __init__(self, warm: WarmCase, making: Iterator[list[Inputs]]) -> None:
        self.warm, self.making = warm, making
        self.times: dict[str, list[int]] = {"a": [], "b": []}
        self.compared = 0
        self.spent = 0.0

    def take(self, most: int, fewest: int, share: float, until: float) -> None:
        """Take so many pairs, fewer where all of them have taken their `share` by then. Raises KernelProblem."""
        while (taken := len(self.times["a"])) < fewest or (
            taken < most and self.spent < share and time.monotonic() < until
        ):
            for side in self.warm.work.rng.sample("ab", 2):
                one = self._batch(side, self._looks(side))
                self.compared += side == "b" and one.known
                self.spent += one.ns
                self.times[side].append(one.ns)
                if one.compared and not self.warm.work.session.gpu:  # the next calls of this side alone are slower
                    batch(self.warm.work, self.warm.calls, side, 1, 0.0)

    def _looks(self, side: str) -> float:
        """Return how likely a result of the next batch is compared."""
        if side == "a" and not self.warm.work.session.gpu:
            return 0.0
        return 1.0 if side == "b" and not self.times["b"] else COMPARED

    def _batch(self, side: str, looks: float) -> Batch:
        work, calls = self.warm.work, self.warm.calls
        for number, inputs in enumerate(next(self.making)):
            calls.fill(number, inputs, given=True)
        calls.prepare(WAIT_MS)
        taken = batch(work, calls, side, 1, looks)
        work.session.probed(side, taken.probed_ns)
        return taken
