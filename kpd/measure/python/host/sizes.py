"""Draws sizes that no case names, and finds at which of them the task's own kernel is right."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import NamedTuple

from kpd.measure.python.host.cases import AT_ONCE, WorkerCase
from kpd.measure.python.host.compare import errors, widest
from kpd.measure.python.host.harness import Limit
from kpd.measure.python.host.judging import judged
from kpd.measure.python.host.problems import KernelProblem
from kpd.measure.python.host.results import CallResult
from kpd.measure.python.host.rules import Errors
from kpd.measure.python.host.session import GOES_ON, RunnerCommand

DRAWS = 3  # sizes that each seed draws, the first a larger one
NEAR = 3  # a dim is so much more or less than a case's, times the multiple that is allowed, …
FURTHER = 4  # … or one dim up to so many times that of the case, …
WORK = 2  # … where the product of all dims is at most so many times that of the largest case
TRIES = 64  # draws for a size that is allowed and that no case has


class DrawnSize(NamedTuple):
    """A size that no case names, under a name of its own; `near` is the case that it was drawn from."""

    name: str
    near: str
    dims: dict[str, int]


def drawn(
    cases: Mapping[str, dict[str, int]], limits: Mapping[str, Limit], rng: random.Random, count: int
) -> list[DrawnSize]:
    """Draw so many sizes, the least first, or fewer where not so many are allowed.

    Each has dims of a case, near it, smaller, 1 or prime. In every third one dim is larger, where that is not too
    much work.
    """
    found: dict[str, DrawnSize] = {}
    most = WORK * max(map(work, cases.values()))
    for turn in range(TRIES * count):
        near = rng.choice(list(cases))
        dims = {dim: _size(rng, size, limits.get(dim, Limit())) for dim, size in cases[near].items()}
        if (len(found) + turn // TRIES) % DRAWS == 0:  # where all that can be are found, another kind's turn comes
            dims |= _larger(rng, cases[near], dims, limits, most)
        allowed = all(size > 0 or cases[near][dim] <= 0 for dim, size in dims.items())
        if len(found) < count and allowed and dims not in cases.values():
            name = size_name(dims)
            found.setdefault(name, DrawnSize(name, near, dims))
    return sorted(found.values(), key=lambda size: work(size.dims))


def size_name(dims: Mapping[str, int]) -> str:
    """Return "rows=3 cols=7", the name of a case of this size."""
    return " ".join(f"{dim}={size}" for dim, size in dims.items())


def work(dims: Mapping[str, int]) -> int:
    """Return the product of all dims."""
    return math.prod(size for size in dims.values() if size > 0)


def right(session: RunnerCommand, sizes: list[DrawnSize], rng: random.Random, limit_ms: float) -> list[tuple[str, str]]:
    """Make cases of these sizes; return those at which the task's own kernel is right, with a kind of inputs.

    It is held to the bounds of the case near a size; a candidate's have its errors there, too. Raises HarnessError.
    """
    asked = [(size.name, rng.choice(session.kinds)) for size in sizes]
    session.harness.cases |= {size.name: size.dims for size in sizes}
    bounds = session.rule.bounds
    for size in sizes if bounds else ():
        bounds[size.name] = {kind: dict(outputs) for kind, outputs in bounds[size.near].items()}
    found: list[tuple[str, str]] = []
    try:
        worker = session.worker({"b": session.settings["baseline"]})
    except KernelProblem:
        return found
    drawing = session.drawing(((*one, AT_ONCE) for one in asked), rng)
    for (name, kind), inputs in zip(asked, drawing, strict=True):
        if sum(one.size for one in inputs.sets) > worker.size:
            continue
        try:
            results = WorkerCase(session, {"b": worker}, name, kind, rng, limit_ms, inputs).results()
        except KernelProblem as err:
            if err.report["kind"] not in GOES_ON:
                break
            continue
        if all(judged(session.truth, session.rule, one).problem is None for one in results):
            for one in results if bounds else ():
                _widen(bounds[name][kind], one, session)
            found.append((name, kind))
    worker.end()
    return found


def _widen(bounds: dict[str, Errors], result: CallResult, session: RunnerCommand) -> None:
    want, scales, _ = session.truth.of(result.case, result.kind, result.inputs)
    for name, output in result.outputs.items():
        seen = errors(output.layout, output.read(), want[name], scales.get(name))
        bounds[name] = widest(bounds[name], seen)


def _larger(
    rng: random.Random, named: Mapping[str, int], dims: dict[str, int], limits: Mapping[str, Limit], most_work: int
) -> dict[str, int]:
    """Return one dim that is larger than the case's, every other one a prime; empty where it would be too much work."""
    if not (sized := [dim for dim in dims if named[dim] > 0 and dims[dim] > 0]):
        return {}
    dim = rng.choice(sized)
    least, most = named[dim] + 1, min(FURTHER * named[dim], most_work * dims[dim] // work(dims))
    if most < least:
        return {}
    size = int(least * ((most + 1) / least) ** rng.random())
    if rng.randrange(2):
        size = _prime_below(size, least)
    return {dim: limits.get(dim, Limit()).nearest(size)}


def _size(rng: random.Random, named: int, limit: Limit) -> int:
    if named <= 0:
        return named
    match rng.randrange(5):
        case 0:
            return named
        case 1:
            return limit.nearest(named + rng.randint(-NEAR, NEAR) * limit.multiple)
        case 2:
            return limit.nearest(1)
        case 3:
            return limit.nearest(rng.randint(1, named))
    return limit.nearest(_prime(rng, named))


def _prime(rng: random.Random, most: int) -> int:
    """Return a prime up to `most`, small ones as often as large ones; 1 where there is none."""
    return _prime_below(int((most + 1) ** rng.random()), 1)


def _prime_below(size: int, least: int) -> int:
    """Return the largest prime up to `size`; `least` where there is none from that on."""
    while size > least and any(size % factor == 0 for factor in range(2, math.isqrt(size) + 1)):
        size -= 1
    return max(size, least)
