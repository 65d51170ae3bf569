"""Compares results of calls with the truth: on a GPU in children and later, so that no kernel waits for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from kpd.measure.python.host.ahead import computed
from kpd.measure.python.host.compare import HOPELESS, Comparison, compare
from kpd.measure.python.host.harness import HarnessError
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.results import CallResult
from kpd.measure.python.host.rules import CompareRule
from kpd.measure.python.host.truths import Oracle, Referee, Truth

MOST_HELD = 1 << 30  # bytes of results that wait
Verdict = TypeVar("Verdict")


class CallVerdict(NamedTuple):
    """The worst element of a call, the output that it is in, and what is wrong with it, if anything."""

    case: str
    kind: str
    output: str
    worst: Comparison
    problem: KernelProblem | None


class Judging(Generic[Verdict]):
    """Results that wait for what `judge` says of each. `later` says whether they wait at all: then children judge."""

    def __init__(self, judge: Callable[[CallResult], Verdict], later: bool) -> None:
        self.judge, self.later = judge, later
        self.waiting: list[CallResult] = []

    def add(self, result: CallResult) -> Generator[Verdict]:
        """Take a result; yield the verdicts of all that have waited long enough. Raises HarnessError."""
        self.waiting.append(result)
        if not self.later or sum(one.size for one in self.waiting) > MOST_HELD:
            yield from self.verdicts()

    def verdicts(self) -> Generator[Verdict]:
        """Yield the verdicts of all results that wait. Raises HarnessError."""
        results, self.waiting = self.waiting, []
        yield from computed((partial(self.judge, one) for one in results), self.later)


def judged(truth: Oracle | Referee, rule: CompareRule, result: CallResult) -> CallVerdict:
    """Compare a result with the truth. Raises HarnessError."""
    try:
        output, worst = compared(rule, result, truth.of(result.case, result.kind, result.inputs))
        problem = None if worst.worst <= 1.0 else wrong(result.side, output, worst)
    except KernelProblem as err:
        output, worst, problem = "", Comparison(0.0, 0, 0.0, 0.0, 0, 0), err
    return CallVerdict(result.case, result.kind, output, worst, problem)


def compared(rule: CompareRule, result: CallResult, truth: Truth) -> tuple[str, Comparison]:
    """Compare a result with the truth; return the output with the worst element, and that. Raises KernelProblem."""
    worst, want = ("", Comparison(0.0, 0, 0.0, 0.0, 0, 0)), truth.want
    for name, output in result.outputs.items():
        try:
            got = output.read()
        except (ValueError, TypeError, AttributeError) as err:
            raise KernelProblem("raised", result.side, f"{name} cannot be read: {err}") from err
        if len(got) != len(want[name]):
            message = f"{name} has {len(got)} elements {list(output.layout.shape)}, but should have {len(want[name])}"
            raise KernelProblem("raised", result.side, message)
        scale = truth.scales.get(name) if rule.kind == "scaled" else None
        if scale is not None and len(scale) != len(got):
            raise HarnessError(f"harness.py: scale gives {len(scale)} elements of {name}, truth {len(want[name])}")
        at, spread = (result.case, result.kind, name), truth.spread.get(name, 0.0)
        verdict = compare(rule, output.layout, got, want[name], at, scale, spread)
        if not worst[0] or verdict.worst > worst[1].worst:
            worst = (name, verdict)
    return worst


def wrong(side: str, output: str, found: Comparison) -> KernelProblem:
    """Return the problem of an output whose worst element is beyond the tolerance."""
    return KernelProblem(
        "wrong", side, output=output, index=found.element, got=f"{found.got:.9g}", want=f"{found.want:.9g}",
        multiple=min(found.worst, HOPELESS), wrong=found.wrong, compared=found.compared,
    )  # fmt: skip


def refuse_wrong(verdicts: Generator[CallVerdict], when: str = "timed") -> None:
    """Raise KernelProblem for the first result that is wrong."""
    with contextlib.closing(verdicts):
        for one in verdicts:
            if one.problem is not None:
                raise one.problem.at(one.case, one.kind, when)
