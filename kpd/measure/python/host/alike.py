"""Calls a kernel on inputs that are almost those of the call before, at the same addresses, as native/alike.c does.

Who looks at a part of its inputs, or at a sum, for what has changed takes them for the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from kpd.measure.python.host.arrays import Layout
from kpd.measure.python.host.cases import COMPILE_MS, WorkerCase
from kpd.measure.python.host.harness import Inputs, changed
from kpd.measure.python.host.judging import judged
from kpd.measure.python.host.many import far, own_worst
from kpd.measure.python.host.nonfinite import bits

FEW = 2  # elements that get the other sign
OTHER_SIGN = bytes(byte ^ 0x80 for byte in range(256))


def refuse_taken_for_others(work: WorkerCase) -> None:
    """Refuse a kernel that takes inputs for those of the call before. Raises KernelProblem."""
    session, calls = work.session, work.calls()
    if session.rule.bounds:
        return
    calls.fill(0, work.drawn.sets[0])
    calls.prepare(COMPILE_MS)
    calls.learn("b", work.limit_ms, work.rng)
    for before, after in _pairs(work.drawn.sets[0], session.harness.fixed, session.kinds, work.rng):
        calls.fill(0, before)
        calls.prepare(COMPILE_MS, anew=True)  # nothing is known of these arrays
        calls.results("b", 1, work.limit_ms)
        calls.fill(0, after)
        calls.write()
        (result,) = calls.results("b", 1, work.limit_ms)
        found = judged(session.truth, session.rule, result)
        if found.problem is not None and far(found.problem, own_worst(work, after)):
            raise found.problem


def _pairs(
    inputs: Inputs, fixed: frozenset[str], kinds: Sequence[str], rng: random.Random
) -> Iterator[tuple[Inputs, Inputs]]:
    """Yield inputs of two calls, of which the signs of few elements differ, or of an input, or all; or one was ones."""
    able = changed(inputs, fixed)
    for leaf in able if "constant" in kinds else []:
        content = bytearray(inputs.content)
        content[leaf.offset : leaf.offset + leaf.span] = bits(leaf, 1.0) * (leaf.span // leaf.itemsize)
        yield inputs._replace(content=content), inputs
    both = [leaf for leaf in able if len({byte & 0x80 for byte in _signs(inputs.content, leaf)}) == 2]
    if not both:
        return  # the task may need the one sign that an input has
    content, leaf = bytearray(inputs.content), rng.choice(both)
    for number in rng.sample(range(leaf.span // leaf.itemsize), FEW):
        content[leaf.offset + leaf.itemsize * (number + 1) - 1] ^= 0x80
    yield inputs, inputs._replace(content=content)
    for negated in [[leaf]] if len(both) == 1 else [[leaf], both]:
        content = bytearray(inputs.content)
        for one in negated:
            content[one.offset + one.itemsize - 1 : one.offset + one.span : one.itemsize] = _signs(
                inputs.content, one
            ).translate(OTHER_SIGN)
        yield inputs, inputs._replace(content=content)


def _signs(content: bytearray, leaf: Layout) -> bytes:
    """Return the bytes of an array's elements that have their signs."""
    return bytes(content[leaf.offset + leaf.itemsize - 1 : leaf.offset + leaf.span : leaf.itemsize])
