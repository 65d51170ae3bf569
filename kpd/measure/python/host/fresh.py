"""The audit on fresh inputs: times both kernels in batches in which each call has inputs that are wholly new."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

from kpd.measure.python.host.anew import FreshPairs, new_inputs
from kpd.measure.python.host.batching import WarmCase
from kpd.measure.python.host.session import RunnerCommand
from kpd.measure.python.host.timing import timed

PAIRS, FEWEST_PAIRS = 80, 8  # of a case at most, and those that come whatever they take
PAIRS_ON_A_GPU, FEWEST_ON_A_GPU = 20, 5
FRESH_S = 0.8  # for all cases on a GPU, where fresh inputs take longer than the calls


def fresh(session: RunnerCommand, a: str, b: str, order: str, span_ms: str, limit_ms: str) -> dict[str, Any]:
    """Time both kernels in batches in which each call has inputs that are wholly new. Returns the audit's report."""
    session.ahead = session.gpu  # children that draw would have the CPU, and its caches, of the calls that are timed
    share = 1e6 * float(span_ms) / len(session.harness.cases)
    when = "the audit on fresh inputs"
    return timed(session, {"a": a, "b": b}, order, float(limit_ms), when, partial(_fresh, share=share), fresh=True)


def _fresh(warm: WarmCase, share: float) -> dict[str, Any]:
    """Take pairs of batches on fresh inputs."""
    work, worker, count = warm.work, warm.work.workers["a"], warm.sets
    most, fewest = (PAIRS_ON_A_GPU, FEWEST_ON_A_GPU) if worker.gpu else (PAIRS, FEWEST_PAIRS)
    until = time.monotonic() + FRESH_S / len(work.session.harness.cases) if worker.gpu else math.inf
    with new_inputs(warm, 2 * most) as inputs:
        fresh = FreshPairs(warm, inputs)
        fresh.take(most, fewest, share, until)
    beside = max(worker.request(count).ns for worker in warm.calls.workers.values())
    return {
        "reps": count, "compared": fresh.compared, "anew": True, "a_ns": fresh.times["a"], "b_ns": fresh.times["b"],
        "request_ns": beside, "apart": not worker.gpu,
    }  # fmt: skip
