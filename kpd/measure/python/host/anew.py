"""Takes batches of both kernels in which each call has inputs that are wholly new."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator
from typing import Protocol

from kpd.measure.python.host.batching import WAIT_MS, Batch, WarmCase, batch, mixes
from kpd.measure.python.host.gathered import DeviceMixtures
from kpd.measure.python.host.harness import Inputs
from kpd.measure.python.host.mixed import Mixtures

COMPARED = 0.3  # without a GPU of the candidate's only
COMPARED_ON_DEVICE = 0.1  # where batches take little more than their calls
FEWER = 4  # such a batch has calls on this part of the sets at the least


class NewInputs(Protocol):
    """Inputs of one batch after another, and the share of batches of which a result is compared."""

    compared: float

    def calls(self) -> int:
        """Draw how many calls the next batches have; which of the sets have none, no kernel can tell beforehand."""
        ...

    def lay(self) -> None:
        """Have wholly new inputs in all sets, where kernels read them."""
        ...

    def show(self, number: int) -> None:
        """Have a set be here as the kernels have it."""
        ...


class OnHost:
    """Inputs that this process makes: mixtures if these are wholly new, else they are drawn."""

    compared = COMPARED

    def __init__(self, warm: WarmCase, making: Iterator[list[Inputs]]) -> None:
        self.warm, self.making = warm, making

    def calls(self) -> int:
        """Return one for each set: there are few."""
        return self.warm.sets

    def lay(self) -> None:
        """See NewInputs. Raises KernelProblem."""
        for number, inputs in enumerate(next(self.making)):
            self.warm.calls.fill(number, inputs, given=True)
        self.warm.calls.prepare(WAIT_MS)

    def show(self, number: int) -> None:
        """Do nothing: this process has made them."""


class OnDevice:
    """Mixtures that a GPU makes where the kernels read them."""

    compared = COMPARED_ON_DEVICE

    def __init__(self, warm: WarmCase, mixtures: DeviceMixtures) -> None:
        self.warm, self.mixtures = warm, mixtures
        self.seeds: list[list[int]] = []

    def calls(self) -> int:
        """See NewInputs. Who computes several calls' results in the first one computes some in vain."""
        return self.warm.work.rng.randint(-(-self.warm.sets // FEWER), self.warm.sets)

    def lay(self) -> None:
        """See NewInputs. Raises DeviceError."""
        calls, marks = self.warm.calls, self.warm.work.session.marks
        self.seeds = [self.mixtures.mixtures.seeds() for _ in range(self.warm.sets)]
        with marks.of("mix"):
            for worker in calls.owners:
                assert worker.lent is not None
                address, _ = worker.lent.lent[calls.base]
                for number, seeds in enumerate(self.seeds):
                    self.mixtures.put(address + calls.at(number) - calls.base, seeds)
                self.mixtures.device.empty(self.warm.bytes)

    def show(self, number: int) -> None:
        """See NewInputs."""
        self.mixtures.mixtures.write(self.warm.calls.private[number], self.seeds[number])


@contextlib.contextmanager
def new_inputs(warm: WarmCase, batches: int) -> Iterator[NewInputs]:
    """Make inputs for so many batches."""
    if warm.mixtures is not None:
        try:
            yield OnDevice(warm, warm.mixtures)
        finally:
            warm.mixtures.end()
        return
    with contextlib.closing(_making(warm, batches)) as making:
        yield OnHost(warm, making)


def _making(warm: WarmCase, batches: int) -> Generator[list[Inputs]]:
    work = warm.work
    if mixes(work):
        mixtures = Mixtures(work.unseen, work.rng)
        while True:
            with work.session.marks.of("mix"):
                made = [mixtures.make(like) for like in warm.calls.drawn]
            yield made
    asked = ((work.case, work.kind, warm.sets) for _ in range(batches))
    with contextlib.closing(work.session.drawing(asked, work.rng)) as drawing:
        for drawn in drawing:
            yield drawn.sets


class FreshPairs:
    """Pairs of batches, one of each side, with inputs that are wholly new in each batch.

    Their `times` are those of a batch that has a call on each set.
    """

    def __init__(self, warm: WarmCase, inputs: NewInputs) -> None:
        self.warm, self.inputs = warm, inputs
        self.times: dict[str, list[int]] = {"a": [], "b": []}
        self.compared = 0
        self.spent = 0.0

    def take(self, most: int, fewest: int, share: float, until: float) -> None:
        """Take so many pairs, fewer where all of them have taken their `share` by then. Raises KernelProblem."""
        while (taken := len(self.times["a"])) < fewest or (
            taken < most and self.spent < share and time.monotonic() < until
        ):
            count = self.inputs.calls()
            for side in self.warm.work.rng.sample("ab", 2):
                one = self._batch(side, self._looks(side), count)
                self.compared += side == "b" and one.known
                self.spent += one.ns
                self.times[side].append(one.ns * self.warm.sets // count)
                if one.compared and not self.warm.work.session.gpu:  # the next calls of this side alone are slower
                    batch(self.warm.work, self.warm.calls, side, 1, 0.0)

    def _looks(self, side: str) -> float:
        """Return how likely a result of the next batch is compared."""
        if side == "a" and not self.warm.work.session.gpu:
            return 0.0
        return 1.0 if side == "b" and not self.times["b"] else self.inputs.compared

    def _batch(self, side: str, looks: float, count: int) -> Batch:
        work = self.warm.work
        self.inputs.lay()
        taken = batch(work, self.warm.calls, side, 1, looks, shown=self.inputs.show, sets=count)
        work.session.probed(side, taken.probed_ns)
        return taken
