"""Says what outputs should be: as harness.py computes it, or as the task's own kernel does in a process of its own."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.harness import HarnessError, Inputs, PythonHarness
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.process import Worker

CALLS = 3  # of the task's own kernel on the same inputs, as in native/referee.c
FIRST_MS, CALL_MS = 240_000.0, 60_000.0
Numbers = dict[str, Sequence[float]]


class Truth(NamedTuple):
    """What the outputs of a call should be, by name; what errors are a share of, if that is not the outputs themselves.

    `spread` is by how much equal calls of the task's own kernel differ, by output; empty where harness.py says it.
    """

    want: Numbers
    scales: Numbers
    spread: dict[str, float]


class Oracle:
    """The truth by harness.py, which a fork of this process can compute as well."""

    forks = True

    def __init__(self, harness: PythonHarness) -> None:
        self.harness = harness

    def of(self, case: str, kind: str, inputs: Inputs) -> Truth:
        """Compute the truth of a call. Raises HarnessError."""
        return Truth(self.harness.truth_of(inputs), self.harness.scales(inputs), {})


class Referee:
    """The truth by the task's own kernel, in a worker that has loaded nothing else. Only this process can ask it."""

    forks = False

    def __init__(self, harness: PythonHarness, worker: Worker) -> None:
        self.harness, self.worker = harness, worker
        self.calls: dict[str, CallSets] = {}

    def of(self, case: str, kind: str, inputs: Inputs) -> Truth:
        """Call the kernel several times: the first result is the truth. Raises HarnessError."""
        try:
            first, *others = self._results(case, kind, inputs)
        except KernelProblem as err:
            said = err.report
            what = " ".join(
                filter(None, (said["kind"], said["message"], f"signal {said['signal']}" * bool(said["signal"])))
            )
            message = f"kernel.py: the task's own kernel, whose results are the truth, fails in {case}, {kind}: {what}"
            raise HarnessError(message) from err
        spread = {name: max(_apart(other[name], one) for other in others) for name, one in first.items()}
        return Truth(first, self.harness.scales(inputs), spread)

    def counts(self, case: str, kind: str, inputs: Inputs) -> dict[str, int]:
        """Return how many elements each output has. Raises HarnessError."""
        if case not in self.harness.counts:
            found = self.of(case, kind, inputs).want
            self.harness.counts[case] = {name: len(numbers) for name, numbers in found.items()}
        return self.harness.counts[case]

    def _results(self, case: str, kind: str, inputs: Inputs) -> list[dict[str, Any]]:
        known = case in self.calls
        calls = self.calls.setdefault(case, CallSets(self.harness, {"b": self.worker}, case, kind, {}))
        calls.fill(0, inputs)
        calls.prepare(CALL_MS if known else FIRST_MS)
        if not known:
            calls.learn("b", FIRST_MS, random.Random(0))
        found = []
        for _ in range(CALLS):
            calls.write()  # it may overwrite its arguments
            (result,) = calls.results("b", 1, CALL_MS)
            found.append({name: one.read() for name, one in result.outputs.items()})
        return found


def _apart(got: Any, want: Any) -> float:
    """Return by how much elements differ at most, of those that are finite in both."""
    if "numpy" in sys.modules:
        numpy = sys.modules["numpy"]
        with numpy.errstate(all="ignore"):
            return float(abs(got - want)[numpy.isfinite(got) & numpy.isfinite(want)].max(initial=0.0))
    pairs = zip(got, want, strict=True)
    return max((abs(a - b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)), default=0.0)
