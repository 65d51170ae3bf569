"""Tells an initialiser that only sets the object's own variables from other code that runs when an object is loaded.

A C++ compiler makes one where a container or a pool is a global variable, and a constructor in C may choose a function
by what the processor has. What it does is known from its instructions: each way through them is short, and they set
variables whose places are known, ask the compiler's library for the processor's features, and have functions called at
the process's end, as destructors are. A table of constants could do the same. Of any other code nothing is claimed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from elftools.elf.relocation import Relocation, RelocationSection
from elftools.elf.sections import Section, Symbol

LONGEST = 4096
"""The most bytes of an initialiser; of each container it has some 60."""
MOST_STEPS = LONGEST
"""So many instructions are followed, on all ways through it together: no loop has so few."""
CALLED = frozenset({"__cxa_atexit", "_ZNSt8ios_base4InitC1Ev", "__cpu_indicator_init"})
"""What it may call: to have a destructor called later, the initialiser of <iostream>, and that of …"""
FEATURES = frozenset({"__cpu_model", "__cpu_features2"})
"""… what the compiler's library says of the processor. It may read …"""
FEATURES_BYTES = 64
"""… so many bytes of these at the most."""
_PROCESSOR = -1
"""Where they lie, in place of a section of the object."""
_PC32, _PLT32, _GOT = 2, 4, frozenset({9, 41, 42})
"""R_X86_64_PC32, R_X86_64_PLT32; R_X86_64_GOTPCREL, GOTPCRELX, REX_GOTPCRELX: an address, not what lies there. Each
fills four bytes."""
_VARIABLES = re.compile(r"\.(data|bss)(\.(?!rel).+|\.rel\.local(\..+)?)?")
_PLAIN = re.compile(
    r"v?movd|v?movq|mov|movabs|v?mov[au]p[sd]|v?movdq[au](8|16|32|64)?|v?movddup|lea|xor|v?pxor[dq]?|v?xorp[sd]"
    r"|push|pop|sub|add|v?punpckl?h?qdq|v?unpcklp[sd]|v?pinsr[dq]|v?pbroadcast[dq]|v?movhps|v?movlhps"
    r"|vinsert[if](128|64x2|64x4|32x4)|vzeroupper|endbr64|nop|test|cmp|and|or|not|sh[lr]|bt|movzx|(set|cmov)(n?[abgl]e?|n?[ceopsz]|p[eo])"
)
_JUMP = re.compile(r"j(mp|n?[abgl]e?|n?[ceopsz]|p[eo])")
_REGISTER = re.compile(r"[re]?([abcd]x|si|di|bp|sp)|[abcd][hl]|(si|di|bp)l|r\d+[dwb]?|[xyz]mm\d+|k\d")
_KEPT = frozenset({"rbx", "rbp", "r12", "r13", "r14", "r15"})
"""Registers that a function leaves to its caller as they were."""
_WORD = 8
"""Bytes of a word of the stack."""
_MOST = 16
"""More bytes than any relocation fills."""


@dataclass(frozen=True, slots=True)
class SectionOffset:
    """A place in a section of the object."""

    section: int
    offset: int


Known = SectionOffset | str | None
"""What a register or a word of the stack holds, as far as it is known: a place, or the caller's register of a name."""


class _OtherCode(Exception):
    """It does something else, or nobody knows what."""


def only_sets_variables(function: Symbol, sections: Sequence[Section], names: Sequence[Symbol]) -> bool:
    """Return whether all that `function` does when the object is loaded is to set the object's own variables.

    It may return something, as a resolver does.
    """
    index = function["st_shndx"]
    section = sections[index] if isinstance(index, int) else None
    if section is None or not 0 < function["st_size"] <= LONGEST:
        return False
    if section.elffile.header["e_machine"] != "EM_X86_64":
        return False
    begin, end = function["st_value"], function["st_value"] + function["st_size"]
    tables = [one for one in sections if isinstance(one, RelocationSection) and one["sh_info"] == index]
    if sum(one.num_relocations() for one in tables) > LONGEST:
        return False
    every = [entry for table in tables for entry in table.iter_relocations() if begin - _MOST < entry["r_offset"] < end]
    refers = {entry["r_offset"] - begin: entry for entry in every if not _is_before(entry, begin)}
    try:
        whole = len(refers) == sum(not _is_before(entry, begin) for entry in every)
        return whole and _Reader(refers, sections, names).reads(section.data()[begin:end])
    except _OtherCode:
        return False


def _is_before(entry: Relocation, begin: int) -> bool:
    """Return whether it fills nothing of what begins there."""
    return entry["r_offset"] <= begin - 4 and entry["r_info_type"] in (_PC32, _PLT32, *_GOT)


class _Reader:
    """Follows the instructions of one initialiser."""

    def __init__(self, refers: Mapping[int, Relocation], sections: Sequence[Section], names: Sequence[Symbol]) -> None:
        import capstone
        from capstone import x86

        self._groups = {capstone.CS_GRP_JUMP, capstone.CS_GRP_CALL, capstone.CS_GRP_RET, capstone.CS_GRP_INT}
        self._memory, self._number, self._write = x86.X86_OP_MEM, x86.X86_OP_IMM, capstone.CS_AC_WRITE
        self._decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._decoder.detail = True
        self._refers, self._sections, self._names = refers, sections, names
        self._used: set[int] = set()
        self._held: dict[str, Known] = {name: name for name in _KEPT}
        self._stack: list[Known] = []  # since the initialiser began; the last word is the lowest

    def reads(self, code: bytes) -> bool:
        """Return whether all of the code is known, and each way returns to its caller. Raises _OtherCode."""
        found = list(self._decoder.disasm(code, 0))
        if sum(one.size for one in found) != len(code):
            return False
        numbers = {one.address: number for number, one in enumerate(found)}
        ways, steps = [(0, self._held, self._stack)], 0
        while ways:
            at, self._held, self._stack = ways.pop()
            while at < len(found) and steps < MOST_STEPS and not self._returns(one := found[at]):
                steps += 1
                to = self._jumps_to(one, numbers)
                if to is None:
                    self._step(one)
                elif one.mnemonic != "jmp":
                    ways.append((at + 1, dict(self._held), list(self._stack)))
                at = at + 1 if to is None else to
            if at == len(found) or steps == MOST_STEPS:
                return False
            if self._stack or any(self._held.get(name) != name for name in _KEPT):
                return False
        return self._used == set(self._refers)

    def _returns(self, one: Any) -> bool:
        """Return whether it goes back to the caller, or to a function that does."""
        return (one.mnemonic == "ret" and one.size == 1) or self._calls(one, "jmp")

    def _jumps_to(self, one: Any, numbers: Mapping[int, int]) -> int | None:
        """Return the number of the instruction that it may jump to; None for what is no jump. Raises _OtherCode."""
        if not _JUMP.fullmatch(one.mnemonic):
            return None
        operand = one.operands[0]
        elsewhere = any(at in self._refers for at in range(one.address, one.address + one.size))
        if elsewhere or operand.type != self._number or operand.imm not in numbers:
            raise _OtherCode
        return numbers[operand.imm]

    def _step(self, one: Any) -> None:
        if self._calls(one, "call"):
            self._held = {name: known for name, known in self._held.items() if name in _KEPT}
            return
        if any(group in self._groups for group in one.groups) or not _PLAIN.fullmatch(one.mnemonic):
            raise _OtherCode
        if any(name and not _REGISTER.fullmatch(name) for name in map(partial(self._name, one), range(3))):
            raise _OtherCode
        if one.mnemonic in ("push", "pop") or self._name(one, 0) == "rsp":
            self._moves_stack(one)
            return
        held = self._place_in(one)
        _, written = one.regs_access()
        for register in written:
            if (name := _whole(one.reg_name(register))) == "rsp":
                raise _OtherCode
            self._held.pop(name, None)
        if held is not None and one.operands[0].size == _WORD:
            self._held[self._name(one, 0)] = held

    def _calls(self, one: Any, how: str) -> bool:
        """Return whether it calls one of the functions that an initialiser may."""
        entry = self._refers.get(one.address + 1)
        if one.mnemonic != how or one.size != 5 or entry is None or entry["r_info_type"] not in (_PC32, _PLT32):
            return False
        to = self._names[entry["r_info_sym"]]
        if to["st_shndx"] != "SHN_UNDEF" or to.name not in CALLED or entry["r_addend"] != -4:
            return False
        self._used.add(one.address + 1)
        return True

    def _moves_stack(self, one: Any) -> None:
        """Follow the stack: what lies above it when the initialiser begins is its caller's."""
        name, operand = self._name(one, 0), one.operands[-1]
        words = operand.imm // _WORD if operand.type == self._number else 0
        if one.mnemonic == "push" and name and operand.size == _WORD and name != "rsp":
            self._stack.append(self._held.get(name))
        elif one.mnemonic == "pop" and name and operand.size == _WORD and name != "rsp" and self._stack:
            self._held[name] = self._stack.pop()
        elif one.mnemonic == "sub" and words > 0 and words * _WORD == operand.imm <= LONGEST:
            self._stack += [None] * words
        elif one.mnemonic == "add" and 0 < words <= len(self._stack) and words * _WORD == operand.imm:
            del self._stack[-words:]
        else:
            raise _OtherCode

    def _place_in(self, one: Any) -> Known:
        """Return what its first operand holds afterwards, if that is known. Raises _OtherCode.

        A variable that it sets or reads must lie where it is known to be.
        """
        memory = next((operand for operand in one.operands if operand.type == self._memory), None)
        if memory is not None and one.mnemonic == "bt":  # a register says how far beyond it reads
            raise _OtherCode
        if memory is None:
            return self._held.get(self._name(one, 1)) if one.mnemonic == "mov" else None
        if memory.mem.index or memory.mem.segment:
            raise _OtherCode
        if memory.mem.base and one.reg_name(memory.mem.base) == "rip":
            return self._referred(one, memory)
        register = one.reg_name(memory.mem.base) if memory.mem.base else ""
        if register == "rsp" and one.mnemonic != "lea":
            self._on_stack(memory.mem.disp, memory.size)
            return None
        base = self._held.get(register)
        if not isinstance(base, SectionOffset):
            raise _OtherCode
        place = SectionOffset(base.section, base.offset + memory.mem.disp)
        if one.mnemonic == "lea":
            return place
        self._within(place, memory)
        return None

    def _referred(self, one: Any, memory: Any) -> SectionOffset | None:
        """Return the place whose address it takes; None for code and other objects, and for what is set or read."""
        at = one.address + one.disp_offset
        entry = self._refers.get(at)
        if entry is None:
            if one.mnemonic != "lea":
                raise _OtherCode
            return None
        self._used.add(at)
        to, kind = self._names[entry["r_info_sym"]], entry["r_info_type"]
        where = to["st_shndx"]
        if kind in _GOT:
            if one.mnemonic != "mov" or one.operands[0].type == self._memory or entry["r_addend"] != -4:
                raise _OtherCode
            if where == "SHN_UNDEF" and to.name in FEATURES:
                return SectionOffset(_PROCESSOR, 0)
            return SectionOffset(where, to["st_value"]) if isinstance(where, int) else None
        if kind != _PC32:
            raise _OtherCode
        if not isinstance(where, int):
            if one.mnemonic != "lea":
                raise _OtherCode
            return None
        place = SectionOffset(where, to["st_value"] + entry["r_addend"] + one.address + one.size - at)
        if one.mnemonic == "lea":
            return place
        self._within(place, memory)
        return None

    def _on_stack(self, offset: int, width: int) -> None:
        """Take what lies there for changed. Raises _OtherCode where it is the caller's, or below the stack."""
        if not 0 <= offset <= _WORD * len(self._stack) - width:
            raise _OtherCode
        for word in range(offset // _WORD, (offset + width - 1) // _WORD + 1):
            self._stack[-1 - word] = None

    def _within(self, place: SectionOffset, memory: Any) -> None:
        """Raise _OtherCode where that is no variable of the object, and no feature of the processor that is read."""
        if place.section == _PROCESSOR:
            if memory.access & self._write or not 0 <= place.offset <= FEATURES_BYTES - memory.size:
                raise _OtherCode
            return
        section = self._sections[place.section]
        if not _VARIABLES.fullmatch(section.name) or not 0 <= place.offset <= section["sh_size"] - memory.size:
            raise _OtherCode

    def _name(self, one: Any, number: int) -> str:
        """Return the register that is this operand; empty where it is none."""
        operands = one.operands
        if number >= len(operands) or operands[number].type in (self._memory, self._number):
            return ""
        return str(one.reg_name(operands[number].reg))


def _whole(register: str) -> str:
    """Return the register of eight bytes that this one is a part of."""
    if found := re.fullmatch(r"[re]?([abcd])[xhl]|[re]?(si|di|bp|sp)l?|(r\d+)[dwb]?", register):
        letter, pointer, numbered = found.groups()
        return f"r{letter}x" if letter else f"r{pointer}" if pointer else numbered
    return register
