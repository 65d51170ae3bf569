"""Finds the natural loops of a function's assembly.

Labels alone would not do: compilers move rare blocks behind the code that uses them, and a jump back from there is no
loop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kpd.profile.isa import Instruction

MOST_LOOPS = 256
"""Of a function; and …"""
MOST_BLOCKS = 4000
"""… pieces between its labels and jumps."""


@dataclass(slots=True)
class BasicBlock:
    """Instructions that run one after the other. `labels` name its start, `follows` the blocks that may come next."""

    labels: list[str] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    follows: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Loop:
    """The instructions of a loop, without those of the loops inside it; `depth` is 1 for an outermost one."""

    function: str
    label: str
    depth: int
    body: tuple[Instruction, ...]


def find(function: str, lines: Sequence[Instruction | str]) -> Iterator[Loop]:
    """Yield the loops of a function, in the order of their headers. `lines` are its labels (str) and instructions.

    There are none of a function that has more than `MOST_LOOPS`: a candidate can write what takes hours to read.
    """
    blocks = _blocks(lines)
    bodies = _natural(blocks, _dominators(blocks)) if len(blocks) <= MOST_BLOCKS else {}
    for header, members in sorted(bodies.items()):
        depth = sum(header in others for others in bodies.values())
        inner = set[int]().union(*(others for at, others in bodies.items() if at != header and at in members))
        body = tuple(one for at in sorted(members - inner) for one in blocks[at].body)
        yield Loop(function, blocks[header].labels[-1] if blocks[header].labels else "", depth, body)


def _blocks(lines: Sequence[Instruction | str]) -> list[BasicBlock]:
    blocks = [BasicBlock()]
    for line in lines:
        last = blocks[-1]
        ended = bool(last.body) and (isinstance(line, str) or last.body[-1].target != "" or last.body[-1].leaves)
        if ended:
            blocks.append(last := BasicBlock())
        if isinstance(line, str):
            last.labels.append(line)
        else:
            last.body.append(line)
    starts = {label: at for at, block in enumerate(blocks) for label in block.labels}
    for at, block in enumerate(blocks):
        end = block.body[-1] if block.body else Instruction()
        if end.target in starts:
            block.follows.append(starts[end.target])
        if not end.leaves and at + 1 < len(blocks):
            block.follows.append(at + 1)
    return blocks


def _dominators(blocks: Sequence[BasicBlock]) -> dict[int, int]:
    """Compute the immediate dominator of each reachable block (Cooper, Harvey and Kennedy, 2001)."""
    order = _reverse_postorder(blocks)
    rank = {at: place for place, at in enumerate(order)}
    before: dict[int, list[int]] = {at: [] for at in order}
    for at in order:
        for after in blocks[at].follows:
            before[after].append(at)
    closest = {0: 0}
    changed = True
    while changed:
        changed = False
        for at in order[1:]:
            known = [one for one in before[at] if one in closest]
            meeting = known[0]
            for one in known[1:]:
                while meeting != one:
                    if rank[meeting] > rank[one]:
                        meeting = closest[meeting]
                    else:
                        one = closest[one]
            if closest.get(at) != meeting:
                closest[at] = meeting
                changed = True
    return closest


def _reverse_postorder(blocks: Sequence[BasicBlock]) -> list[int]:
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(blocks[0].follows))]
    while stack:
        at, rest = stack[-1]
        after = next((one for one in rest if one not in seen), None)
        if after is None:
            order.append(at)
            stack.pop()
        else:
            seen.add(after)
            stack.append((after, iter(blocks[after].follows)))
    return order[::-1]


def _natural(blocks: Sequence[BasicBlock], closest: dict[int, int]) -> dict[int, set[int]]:
    """Find the natural loops: for each header, the blocks that reach a jump back to it without passing it."""
    before: dict[int, list[int]] = {}
    for at in closest:
        for after in blocks[at].follows:
            before.setdefault(after, []).append(at)
    bodies: dict[int, set[int]] = {}
    for at in closest:
        for header in blocks[at].follows:
            if _dominates(closest, header, at):
                if header not in bodies and len(bodies) == MOST_LOOPS:
                    return {}
                members = bodies.setdefault(header, {header})
                waiting = [at]
                while waiting:
                    one = waiting.pop()
                    if one not in members:
                        members.add(one)
                        waiting += before.get(one, [])
    return bodies


def _dominates(closest: dict[int, int], above: int, below: int) -> bool:
    while below not in (above, 0):
        below = closest[below]
    return below == above
