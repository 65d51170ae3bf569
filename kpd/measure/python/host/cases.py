"""Calls one case with one kind of inputs, in the workers that have loaded the kernels."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kpd.measure.python.host.calling import CallSets
from kpd.measure.python.host.harness import CaseInputs, Inputs
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.process import Worker
from kpd.measure.python.host.results import CallResult
from kpd.measure.python.host.session import RunnerCommand

AT_ONCE = 2  # calls on inputs of their own, whose results must all be right at the end
COMPILE_MS = 60_000.0  # for a kernel's first call on inputs of these shapes


@dataclass(frozen=True)
class WorkerCase:
    """What is to be called: a case with one kind of inputs, in the workers that have loaded the kernels, by side.

    A call may take `limit_ms`; `rng` draws what no kernel may know. `drawn` are the inputs of the first calls, `unseen`
    those that no call gets. A worker `holds` results that are compared. Those of sides that are `trusted` are read as
    others are, and not judged. So many calls, `before`, are made before those that are compared, with arrays that are
    there for a call alone if they are `fleeting`.
    """

    session: RunnerCommand
    workers: dict[str, Worker]
    case: str
    kind: str
    rng: random.Random
    limit_ms: float
    drawn: CaseInputs
    holds: bool = False
    unseen: Sequence[Inputs] = ()
    trusted: str = ""
    before: int = 1
    fleeting: bool = False

    def calls(self) -> CallSets:
        """Return calls of this case, without inputs yet."""
        return CallSets(self.session.harness, self.workers, self.case, self.kind, self.drawn.counts)

    def results(self) -> list[CallResult]:
        """Call the kernel of side b on all inputs, and return what came of each call. Raises KernelProblem."""
        calls = self.calls()
        for number, inputs in enumerate(self.drawn.sets):
            calls.fill(number, inputs)
        calls.prepare(COMPILE_MS, fleeting=self.fleeting)
        calls.learn("b", self.limit_ms, self.rng, self.before)
        results = calls.results("b", len(self.drawn.sets), self.limit_ms)
        for number in range(len(results)):
            calls.unchanged("b", number)
        return results

    def told(self, problem: KernelProblem, when: str = "check") -> KernelProblem:
        """Return the problem with its case, its kind of inputs and its moment."""
        return problem.at(self.case, self.kind, when)

    @contextlib.contextmanager
    def blamed(self, when: str) -> Iterator[None]:
        """Say case, inputs and moment of what a kernel does wrong in the block. Raises KernelProblem."""
        try:
            yield
        except KernelProblem as err:
            raise self.told(err, when) from err


def busy_s(*workers: Worker) -> float:
    """Return for how many seconds this process and theirs have had a CPU."""
    return time.process_time() + sum(worker.used_ns for worker in workers) / 1e9
