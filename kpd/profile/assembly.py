"""Finds the hot loop of a kernel in the compiler's assembly: is it vectorised, and what else does it do?

Assembly does not show how often a loop runs, so the hot loop is an estimate: the loop with the most work if every loop
has a few iterations. So a vectorised loop comes before its scalar remainder, and an inner loop before the one around
it.
"""

import re
from collections.abc import Iterable, Iterator

from kpd.measure.objects.loops import Loop, Steps, TangledCode, find
from kpd.profile.isa import Arch, Instruction, arch_of, instruction

MOST_CHARACTERS = 8_000_000
ROUNDS = 8
"""The assumed number of iterations of a loop for each iteration of the loop around it."""
NAMES = (
    "hot_instructions", "hot_vector_fp", "hot_scalar_fp", "hot_vector_pct", "hot_vector_bits", "hot_stack", "hot_calls",
    "hot_element_loads", "hot_divisions",
)  # fmt: skip

_LABEL = re.compile(r"^([A-Za-z_.$][\w.$]*):")
_FRAME = {"x86-64": re.compile(r"movq?\s+%rsp,\s*%rbp"), "arm64": re.compile(r"(?:mov|add)\s+(?:x29|fp),\s*sp")}


def read(text: str) -> tuple[dict[str, float], dict[str, str]]:
    """Return the metrics of the hot loop, and the reason for each metric that is missing."""
    if not text.strip():
        return {}, dict.fromkeys(NAMES, "the compiler gave no assembly")
    arch = arch_of(text)
    if arch is None or len(text) > MOST_CHARACTERS:
        return {}, dict.fromkeys(NAMES, "assembly that kpd cannot read")
    try:
        found = hot(loops(text, arch))
    except TangledCode:
        return {}, dict.fromkeys(NAMES, "to find the loops of the code takes too long")
    if found is None:
        return {}, dict.fromkeys(NAMES, "the code has no loop")
    body = found.body
    packed, scalar = (sum(one.fp == kind for one in body) for kind in ("packed", "scalar"))
    metrics = {
        "hot_instructions": float(len(body)),
        "hot_vector_fp": float(packed),
        "hot_scalar_fp": float(scalar),
        "hot_vector_bits": float(max(one.bits for one in body)),
        "hot_stack": float(sum(one.stack for one in body)),
        "hot_calls": float(sum(one.call for one in body)),
        "hot_element_loads": float(sum(one.element_load for one in body)),
        "hot_divisions": float(sum(one.division for one in body)),
    }
    if packed + scalar == 0:
        return metrics, {"hot_vector_pct": "the hot loop has no floating-point arithmetic"}
    return metrics | {"hot_vector_pct": 100 * packed / (packed + scalar)}, {}


def hot(found: Iterable[Loop[Instruction]]) -> Loop[Instruction] | None:
    """Estimate in which loop most of the time is spent; None when there is no loop."""

    def likely(loop: Loop[Instruction]) -> tuple[int, int]:
        often = ROUNDS**loop.depth
        return often * sum(map(_weight, loop.body)), often * len(loop.body)

    return max(found, key=likely, default=None)


def loops(text: str, arch: Arch) -> list[Loop[Instruction]]:
    """Return the loops of each function of `text`, in order. Raises TangledCode."""
    steps = Steps()
    return [loop for name, lines in _functions(text) for loop in find(name, list(_parsed(lines, arch)), steps)]


def _weight(one: Instruction) -> int:
    """Estimate the work of an instruction: one for each 32 bits that it computes or moves as a vector.

    Slow instructions have more. Moving a single element counts as no work: the rest of a loop tells more.
    """
    if one.call:
        return 16
    return (8 if one.division else 1) * max(1, one.bits // 32) if one.fp or one.bits else 0


def _functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and lines of each function: from its label to the next one that is not local."""
    local = ("L", "l") if "__TEXT,__text" in text else (".L",)
    name, lines = "", list[str]()
    for line in text.splitlines():
        found = _LABEL.match(line)
        if found and not found[1].startswith(local):
            if lines:
                yield name, lines
            name, lines = found[1], []
        else:
            lines.append(line)
    yield name, lines


def _parsed(lines: list[str], arch: Arch) -> Iterator[Instruction | str]:
    """Yield the function's labels, as text, and its instructions."""
    frame = any(_FRAME[arch].search(line) for line in lines)
    for line in lines:
        if label := _LABEL.match(line):
            yield label[1]
        elif (found := instruction(arch, line, frame)) is not None:
            yield found
