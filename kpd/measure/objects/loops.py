"""Finds the natural loops of a function's code, of a compiler's assembly or of a disassembly.

Labels alone would not do: compilers move rare blocks behind the code that uses them, and a jump back from there is no
loop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

MOST_STEPS = 1_000_000
"""Steps that finding the loops of a whole text may take, a quarter of a second; a thousand templates' take 200,000."""


class TangledCode(Exception):
    """Code with so many jumps across each other, or loops in loops, that finding its loops takes too long."""


class Flow(Protocol):
    """The label that a jump goes to, or nothing; after an instruction that `leaves`, the next one is never run."""

    @property
    def target(self) -> str: ...

    @property
    def leaves(self) -> bool: ...


Read = TypeVar("Read", bound=Flow)


class Steps:
    """How many steps may still be taken for the functions of a text."""

    def __init__(self, left: int = MOST_STEPS) -> None:
        self.left = left

    def take(self, many: int = 1) -> None:
        """Count some. Raises TangledCode when there are no more."""
        self.left -= many
        if self.left < 0:
            raise TangledCode


@dataclass(slots=True)
class BasicBlock(Generic[Read]):
    """Instructions that run one after the other. `labels` name its start, `follows` the blocks that may come next."""

    labels: list[str] = field(default_factory=list)
    body: list[Read] = field(default_factory=list)
    follows: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Loop(Generic[Read]):
    """The instructions of a loop, without those of the loops inside it; `depth` is 1 for an outermost one."""

    function: str
    label: str
    depth: int
    body: tuple[Read, ...]


def find(function: str, lines: Sequence[Read | str], steps: Steps) -> Iterator[Loop[Read]]:
    """Yield the loops of a function, in the order of their headers. `lines` are its labels (str) and instructions.

    Raises TangledCode.
    """
    blocks = _blocks(lines)
    bodies = _natural(blocks, _dominators(blocks, steps), steps)
    depths = dict.fromkeys(bodies, 0)
    innermost: dict[int, int] = {}
    for header, members in sorted(bodies.items(), key=lambda one: len(one[1]), reverse=True):
        for at in members:  # of two loops with a block in common one lies in the other
            innermost[at] = header
            if at in depths:
                depths[at] += 1
    own: dict[int, list[Read]] = {header: [] for header in sorted(bodies)}
    for at in sorted(innermost):
        own[innermost[at]] += blocks[at].body
    for header, body in own.items():
        yield Loop(function, blocks[header].labels[-1] if blocks[header].labels else "", depths[header], tuple(body))


def _blocks(lines: Sequence[Read | str]) -> list[BasicBlock[Read]]:
    blocks: list[BasicBlock[Read]] = [BasicBlock()]
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
        if block.body and (to := starts.get(block.body[-1].target)) is not None:
            block.follows.append(to)
        if at + 1 < len(blocks) and not (block.body and block.body[-1].leaves):
            block.follows.append(at + 1)
    return blocks


def _dominators(blocks: Sequence[BasicBlock[Read]], steps: Steps) -> dict[int, int]:
    """Compute the immediate dominator of each reachable block, in reverse postorder (Cooper, Harvey and Kennedy, 2001).

    Raises TangledCode.
    """
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
            steps.take(len(before[at]))
            for one in known[1:]:
                walked = 0
                while meeting != one:
                    walked += 1
                    if rank[meeting] > rank[one]:
                        meeting = closest[meeting]
                    else:
                        one = closest[one]
                steps.take(walked)
            if closest.get(at) != meeting:
                closest[at] = meeting
                changed = True
    return {at: closest[at] for at in order}


def _reverse_postorder(blocks: Sequence[BasicBlock[Read]]) -> list[int]:
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


def _natural(blocks: Sequence[BasicBlock[Read]], closest: dict[int, int], steps: Steps) -> dict[int, set[int]]:
    """Find the natural loops: for each header, the blocks that reach a jump back to it without passing it.

    `closest` has the blocks in reverse postorder. Raises TangledCode.
    """
    rank = {at: place for place, at in enumerate(closest)}
    before: dict[int, list[int]] = {}
    for at in closest:
        for after in blocks[at].follows:
            before.setdefault(after, []).append(at)
    bodies: dict[int, set[int]] = {}
    for at in closest:
        for header in blocks[at].follows:
            if rank[header] <= rank[at] and _dominates(closest, header, at, rank, steps):
                members = bodies.setdefault(header, {header})
                waiting = [at]
                while waiting:
                    one = waiting.pop()
                    if one not in members:
                        members.add(one)
                        waiting += before.get(one, [])
                        steps.take(1 + len(before.get(one, [])))
    return bodies


def _dominates(closest: dict[int, int], above: int, below: int, rank: dict[int, int], steps: Steps) -> bool:
    """Return whether each way to `below` passes `above`. Raises TangledCode."""
    while rank[below] > rank[above]:
        below = closest[below]
        steps.take()
    return below == above
