"""Reads what `cuobjdump -sass` printed: instructions of a GPU that a person has to look at.

A block that learns by a counter in global memory that others are done, and reads what they have written, needs a fence
between their stores and their step of the counter. Without one it reads right values nearly always: no call shows it.
So it is with the copy engine, which sends what threads have stored in shared memory: a barrier is not enough.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kpd.model.flags import Executes, Flag

_CLOCK = re.compile(r"\bSR_(CLOCK|GLOBALTIMER)\w*")
_FUNCTION = re.compile(r"^\s*Function : ", re.MULTILINE)
_LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)(?:[ \t]+([^;]*?))?\s*;", re.MULTILINE)
_SOURCE = re.compile(r"\bc\[0x[0-9a-f]+\]\[[^\]]+\]|\bUR\d+|\bR\d+")
_ADDRESS = re.compile(r"(?:desc\[UR\d+\])?\[([^\]]*)\]")
_FENCE = re.compile(r"MEMBAR\.\w+\.(GPU|SYS)")
_COPIES = re.compile(r"UBLKCP\.G\.S|UTMASTG|UTMAREDG|UBLKRED\.G\.S")
_COPY_FENCE = "FENCE.VIEW.ASYNC"
_STORES = ("STG", "ST", "RED", "REDG")
_LOADS = ("LDG", "LD")
_ASKS = ("ATOMG", "ATOM")
_SUMS = (
    "IADD3", "UIADD3", "VIADD", "IADD", "LOP3", "ULOP3", "SEL", "USEL", "MOV", "UMOV", "LDC", "ULDC", "LDCU",
    "R2UR", "S2UR",
)  # fmt: skip
_LAST = ("IMAD", "UIMAD", "LEA", "ULEA", "VIADDMNMX")
"""Of what is multiplied or shifted is an index: only the last summand can be where a buffer begins."""

Origins = frozenset[str]
_NOWHERE: Origins = frozenset()


class SassLine(NamedTuple):
    """One of a function; `always` where no predicate decides whether it does anything."""

    name: str
    operands: tuple[str, ...]
    always: bool


def of_gpu(listing: str) -> tuple[Flag, ...]:
    """List the flags: reads of a clock of the device, and of other blocks' results, and copies, without a fence."""
    clocks = dict.fromkeys(clock[0] for clock in _CLOCK.finditer(listing))
    functions = [tuple(_instructions(text)) for text in _FUNCTION.split(listing)[1:]]
    sent = dict.fromkeys(name for function in functions for name in _unsent(function))
    asked = dict.fromkeys(name for function in functions for name in _unordered(function))
    return (
        *(Executes(f"read of {clock}", "clock") for clock in clocks),
        *(Executes(name, "unordered") for name in asked),
        *(Executes(name, "unsent") for name in sent),
    )


def _instructions(text: str) -> Iterator[SassLine]:
    for predicate, name, operands in _LINE.findall(text):
        yield SassLine(name, tuple(part.strip() for part in operands.split(",") if part.strip()), not predicate)


@dataclass
class _Pointers:
    """Where the addresses in registers come from: an argument of the kernel, or a variable of the device."""

    of: dict[str, Origins] = field(default_factory=dict[str, Origins])

    def origins(self, operand: str) -> Origins:
        """Return where an operand comes from."""
        found = _SOURCE.findall(operand)
        return _NOWHERE.union(*({one} if one.startswith("c[") else self.of.get(one, _NOWHERE) for one in found))

    def at(self, one: SassLine) -> Origins:
        """Return where the address comes from that an instruction reads or writes."""
        place = next((found for operand in one.operands if (found := _ADDRESS.search(operand))), None)
        return self.origins(place[1]) if place else _NOWHERE

    def follow(self, one: SassLine) -> None:
        """Note what an instruction puts into a register."""
        if not one.operands or (to := _SOURCE.fullmatch(one.operands[0])) is None:
            return
        kind = one.name.split(".")[0]
        sources = [part for part in one.operands[1:] if not re.fullmatch(r"!?U?P(\d|T)", part)]
        if kind in _LAST:  # a LEA has the shift at the end
            sources = sources[1:2] if "LEA" in kind else sources[2:3]
        elif kind not in _SUMS:
            sources = []
        found = _NOWHERE.union(*map(self.origins, sources))
        self.of[to[0]] = found if one.always else found | self.of.get(to[0], _NOWHERE)


def _unordered(function: Iterable[SassLine]) -> Iterator[str]:
    """Yield the names of loads from where a store before an atomic may have been, where no fence is in the function."""
    pointers, stored, told, found = _Pointers(), set[str](), set[str](), ""
    for one in function:
        kind = one.name.split(".")[0]
        if _FENCE.match(one.name):
            return
        if kind in _STORES:
            stored |= pointers.at(one)
        elif kind in _ASKS and _answers(one):
            told |= stored
        elif kind in _LOADS and pointers.at(one) & told:
            found = found or one.name
        pointers.follow(one)
    if found:
        yield found


def _unsent(function: Iterable[SassLine]) -> Iterator[str]:
    """Yield the names of copies out of shared memory behind stores and no fence since, in the order of the code."""
    stored = False
    for one in function:
        if one.name.startswith(_COPY_FENCE):
            stored = False
        elif one.name.split(".")[0] in ("STS", "STSM"):
            stored = True
        elif stored and _COPIES.match(one.name):
            yield one.name


def _answers(one: SassLine) -> bool:
    """Return whether an atomic's result is used: it names a register for it."""
    return any(re.fullmatch(r"R\d+", operand) for operand in one.operands[:2])
