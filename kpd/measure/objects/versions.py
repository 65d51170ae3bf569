"""Tells the resolver that a compiler makes for versions of a function (GCC's `target_clones`) from other code.

Such a resolver runs when the object is loaded. It asks which features the processor has, and chooses a version. Code
of these instructions alone can do nothing else: it writes to no memory, calls one function of the compiler's library
and returns to its caller. Of any other code nothing is claimed.
"""

import re
from collections.abc import Iterator, Sequence

from elftools.elf.constants import SH_FLAGS
from elftools.elf.relocation import Relocation, RelocationSection
from elftools.elf.sections import Section, Symbol

_ASKS = "__cpu_indicator_init"
_FEATURES = ("__cpu_model", "__cpu_features2")
_FOUR_BYTES = frozenset({2, 4, 9, 41, 42})
"""R_X86_64_PC32, PLT32, GOTPCREL, GOTPCRELX, REX_GOTPCRELX: others fill more bytes than an instruction has for one."""
LONGEST = 1024
"""The most bytes of a resolver; of each version one takes 30 at the most."""
_INSTRUCTION = re.compile(
    rb"""
    (?P<enter>(\xf3\x0f\x1e\xfa)?(\x48\x83\xec\x08|[\x50\x51]))    # endbr64; sub $8, %rsp, or a push
    |(?P<leave>(\x48\x83\xc4\x08|\x5a)\xc3)                        # add $8, %rsp, or pop %rdx; ret
    |(?P<call>\xe8)....
    |(?P<address>\x48\x8b[\x05\x0d\x15\x35\x3d])....               # mov of an address to rax, rcx, rdx, rsi, rdi
    |(?P<version>\x48\x8d[\x05\x0d\x15\x35\x3d])....               # lea to these
    |(?P<jump>[\x70-\x7f\xeb].|(\x0f[\x80-\x8f]|\xe9)....)
    |(?P<other>
        \x8b[\x40-\x43\x45-\x4b\x4d-\x53\x55-\x57\x70-\x73\x75-\x7b\x7d-\x7f].  # mov of 4 bytes to these
        |\xf6[\x40-\x43\x45-\x47]..|\x83[\x78-\x7b\x7d-\x7f]..     # test, cmp with memory
        |\xa8.|\xa9....|\xf6[\xc0-\xc7].|\xf7[\xc0-\xc7]....|\x0f\xba[\xe0-\xe7].  # test, bt
        |\x80[\xe0-\xe7].                                          # and
        |\x48\x0f[\x40-\x4f][\xc0-\xd7\xf0-\xff]                   # cmov to these
    )""",
    re.VERBOSE | re.DOTALL,
)


def only_chooses(symbol: Symbol, sections: Sequence[Section], names: Sequence[Symbol]) -> bool:
    """Return whether the resolver that `symbol` names can only choose a function of this object.

    It is the first in a section of its own, as compilers put it, so all that lies there is looked at.
    """
    index = symbol["st_shndx"]
    section = sections[index] if isinstance(index, int) else None
    if section is None or symbol["st_value"] or section["sh_size"] > LONGEST:
        return False
    if section.elffile.header["e_machine"] != "EM_X86_64":
        return False
    tables = [one for one in sections if isinstance(one, RelocationSection) and one["sh_info"] == index]
    refers = [entry for table in tables for entry in table.iter_relocations()]
    code = list(_instructions(section.data()))
    starts = {found.start() for found in code[1:]}
    places = {found.end() - 4: str(found.lastgroup) for found in code if _refers(found)}
    return (
        [found.lastgroup == "enter" for found in code] == [True] + [False] * (len(code) - 1)
        and (code[-1].lastgroup == "leave" or code[-1][0][:1] in (b"\xeb", b"\xe9"))
        and all(_target(found) in starts for found in code if found.lastgroup == "jump")
        and sorted(entry["r_offset"] for entry in refers) == list(places)
        and all(_is_of(places[entry["r_offset"]], entry, sections, names) for entry in refers)
    )


def _instructions(code: bytes) -> Iterator[re.Match[bytes]]:
    """Yield what the code consists of; nothing where some of it is anything else."""
    found: list[re.Match[bytes]] = []
    while (at := found[-1].end() if found else 0) < len(code):
        if (next_one := _INSTRUCTION.match(code, at)) is None:
            return
        found.append(next_one)
    yield from found


def _refers(found: re.Match[bytes]) -> bool:
    return found.lastgroup in ("call", "address", "version")


def _target(jump: re.Match[bytes]) -> int:
    distance = jump[0][1:] if len(jump[0]) == 2 else jump[0][-4:]
    return jump.end() + int.from_bytes(distance, "little", signed=True)


def _is_of(kind: str, entry: Relocation, sections: Sequence[Section], names: Sequence[Symbol]) -> bool:
    """Return whether an instruction of a kind may refer to this."""
    to = names[entry["r_info_sym"]]
    if entry["r_info_type"] not in _FOUR_BYTES:
        return False
    if to["st_shndx"] == "SHN_UNDEF":
        return to.name == _ASKS if kind == "call" else kind == "address" and to.name in _FEATURES
    where = to["st_shndx"]
    return kind == "version" and isinstance(where, int) and bool(sections[where]["sh_flags"] & SH_FLAGS.SHF_EXECINSTR)
