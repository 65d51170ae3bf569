"""Reads the tables of an object file: what it calls, defines and runs when it is loaded. It never reads code."""

import io
import re
import struct
from collections.abc import Iterator, Sequence

from elftools.common.exceptions import ELFError
from elftools.construct.core import ConstructError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import Relocation, RelocationSection
from elftools.elf.sections import Section, Symbol, SymbolTableSection

from kpd.measure.objects.allowed import Allowed
from kpd.measure.objects.initialisers import only_sets_variables
from kpd.measure.objects.versions import only_chooses
from kpd.model.flags import Calls, Flag, HasSection, NotInspected, Replaces, RunsAtLoad

MACH_O = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")
_TEXT = re.compile(r"\.text(\..+)?")
_DATA = re.compile(
    r"\.(data|bss|tdata|tbss|lbss|ldata)(\..+)?|\.(nvFatBinSegment|init_array)(\.\d+)?|__nv_module_id|\.data\.rel\.\w+"
)
_CONSTANTS = re.compile(
    r"\.(rodata|lrodata|gcc_except_table)(\..+)?|\.(eh_frame|sframe|note\.gnu\.property|nv_fatbin|nvFatBinSegment)"
)
_NOT_LOADED = re.compile(
    r"\.(comment|group|symtab|strtab|shstrtab|symtab_shndx|ARM\.attributes|llvm_addrsig|llvm\..+|debug_\w+)"
)
_TYPES = (
    "SHT_PROGBITS", "SHT_NOBITS", "SHT_NOTE", "SHT_INIT_ARRAY", "SHT_FINI_ARRAY", "SHT_PREINIT_ARRAY"
)  # fmt: skip
_UNWINDS = (".eh_frame", ".sframe")
"""Those of what is loaded, as compilers make it, and names of what may have one of its own."""
_STARTS = re.compile(r"\.(init_array|preinit_array|ctors|dtors|fini_array|init|fini)(\..+)?")
_REGISTERS_KERNELS = re.compile(r"(_ZL\d+)?__sti____cudaRegisterAll\w*")
"""Names of the function of nvcc's own that a CUDA object runs when it is loaded."""
_INITIALISER = "_GLOBAL__sub_I_"
"""How the name of a function begins that initialises the global variables of a file."""
_STREAMS = {"_ZNSt8ios_base4InitC1Ev", "_ZNSt8ios_base4InitD1Ev", "__cxa_atexit", "__dso_handle"}
"""What the initialiser of <iostream>, which CUDA's own headers include, refers to."""
UNREADABLE = (
    ELFError, ConstructError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError,
    AssertionError,
)  # fmt: skip
"""What the library raises for a file that is no object, or a damaged one."""
MOST_SECTIONS = 16_384
"""Of an object; g++ -O0 makes 8,300 of a thousand templates and the library's regular expressions."""
MOST_SYMBOLS = 32_768
"""Of an object; there they are 8,500."""
MOST_CHARACTERS = 8 << 20
"""Of the names of all sections and symbols together: there a million."""
MOST_STARTS = 16
"""So many functions that run at load are looked at, and …"""
MOST_RELOCATIONS = 1024
"""… so many places of a section with such a function that refer to others."""
MOST_THREAD_LOCAL = 1 << 20
"""Bytes of variables that each thread has: they are in its stack, and so in that of every thread of a program."""
SMALL = 64
"""The most bytes of that initialiser."""


def tables(data: bytes, allowed: Allowed, begins_late: bool = False) -> tuple[Flag, ...]:
    """List what looks wrong in the tables of a relocatable object. An object of macOS is not looked at.

    Functions that the loader would call are no matter where the object `begins_late`: it is linked without them.

    Nothing of larger tables than a compiler makes is looked at: to read them takes minutes.
    """
    if data[:4] in MACH_O:
        return ()
    try:
        elf = ELFFile(io.BytesIO(data))
        if (many := elf.num_sections()) > MOST_SECTIONS:
            return (NotInspected(f"it has {many} sections, and kpd looks at {MOST_SECTIONS} at most"),)
        header = elf.header
        headers = data[header["e_shoff"] :][: many * header["e_shentsize"]]
        named = _characters(elf, headers, header["e_shentsize"], elf.get_section(elf.get_shstrndx()).data())
        sections = list(elf.iter_sections()) if named <= MOST_CHARACTERS else []
        symbols = next((one for one in sections if isinstance(one, SymbolTableSection)), None)
        if symbols is not None:
            if (many := symbols.num_symbols()) > MOST_SYMBOLS:
                return (NotInspected(f"it has {many} symbols, and kpd looks at {MOST_SYMBOLS} at most"),)
            named += _characters(elf, symbols.data(), symbols["sh_entsize"], symbols.stringtable.data())
        if named > MOST_CHARACTERS:
            return (NotInspected(f"its names have more than {MOST_CHARACTERS} characters, which kpd does not read"),)
        names = list(symbols.iter_symbols()) if symbols is not None else []
        return tuple(dict.fromkeys(_found(sections, names, allowed, begins_late)))
    except UNREADABLE as err:
        return (NotInspected(f"its tables cannot be read ({type(err).__name__}: {err})"),)


def _characters(elf: ELFFile, table: bytes, each: int, strings: bytes) -> int:
    """Count the characters of the names of a table whose entries, of `each` bytes, begin with the name's place.

    A long name may be that of many, so none is looked at any more once there are too many characters.
    """
    place = struct.Struct("<I" if elf.little_endian else ">I")
    found = 0
    for at in range(0, len(table), each):
        (start,) = place.unpack_from(table, at)
        found += strings.index(0, start) - start
        if found > MOST_CHARACTERS:
            break
    return found


def _found(sections: Sequence[Section], names: Sequence[Symbol], allowed: Allowed, begins_late: bool) -> Iterator[Flag]:
    constants = b"".join(one.data() for one in sections if one.name.startswith(".rodata"))
    for symbol in names:
        yield from _of_symbol(symbol, allowed, constants)
        if _has_resolver(symbol) and not _chooses(symbol, sections, names):
            yield RunsAtLoad(symbol.name)
    for section in sections:
        yield from _of_section(section, sections)
    of_thread = sum(one["sh_size"] for one in sections if one["sh_flags"] & SH_FLAGS.SHF_TLS)
    if of_thread > MOST_THREAD_LOCAL:
        yield HasSection(f"variables of each thread of {of_thread >> 20} MiB")
    if not begins_late:
        yield from _at_load(sections, names)


def _of_symbol(symbol: Symbol, allowed: Allowed, constants: bytes) -> Iterator[Flag]:
    binding, where = symbol["st_info"]["bind"], symbol["st_shndx"]
    if not symbol.name:
        return
    if where == "SHN_UNDEF":
        if not allowed.calls(symbol.name) and not allowed.looks_up(symbol.name, constants):
            yield Calls(symbol.name)
    elif binding != "STB_LOCAL" and allowed.replaces(symbol.name):
        yield Replaces(symbol.name)


def _has_resolver(symbol: Symbol) -> bool:
    """Return whether code of this object says what the symbol stands for, when it is loaded."""
    return bool(symbol["st_info"]["type"] == "STT_LOOS" and symbol["st_shndx"] != "SHN_UNDEF")  # STT_GNU_IFUNC


def _chooses(symbol: Symbol, sections: Sequence[Section], names: Sequence[Symbol]) -> bool:
    return only_chooses(symbol, sections, names) or only_sets_variables(symbol, sections, names)


def _of_section(section: Section, sections: Sequence[Section]) -> Iterator[Flag]:
    """Flag a section that no compiler makes.

    A linker goes by names that begin with a dot. It takes some for tables of its own, and adds to these what it finds:
    `.rela.got`, whatever is in it, becomes relocations, by which the loader writes anywhere, or calls a function.
    """
    name, flags = section.name, section["sh_flags"]
    if name == ".note.GNU-stack":
        if flags & SH_FLAGS.SHF_EXECINSTR:
            yield HasSection("stack that can be run")
    elif name.startswith(".gnu.lto_"):
        yield HasSection(".gnu.lto_")
    elif not flags & SH_FLAGS.SHF_ALLOC:
        if name.startswith(".") and not _NOT_LOADED.fullmatch(name) and not _relocates(section, sections):
            yield HasSection(name)
    elif section["sh_type"] not in _TYPES and name not in _UNWINDS:
        yield HasSection(name)
    elif _STARTS.fullmatch(name):
        if flags & SH_FLAGS.SHF_EXECINSTR or not name.startswith((".init_array", ".fini_array")):
            yield HasSection(name)
    elif flags & SH_FLAGS.SHF_EXECINSTR:
        if flags & SH_FLAGS.SHF_WRITE or not _TEXT.fullmatch(name):
            yield HasSection(name)
    elif flags & SH_FLAGS.SHF_WRITE:
        if not _DATA.fullmatch(name):
            yield HasSection(name)
    elif name.startswith(".") and not _CONSTANTS.fullmatch(name):
        yield HasSection(name)


def _relocates(section: Section, sections: Sequence[Section]) -> bool:
    """Return whether these are the relocations of another section, which a linker applies and does not copy."""
    if not isinstance(section, RelocationSection):
        return False
    symbols, name = sections[section["sh_link"]], sections[section["sh_info"]].name
    return isinstance(symbols, SymbolTableSection) and section.name in (f".rela{name}", f".rel{name}")


def _at_load(sections: Sequence[Section], names: Sequence[Symbol]) -> Iterator[Flag]:
    """Flag the functions in tables of what runs at load, but for those of the compiler."""
    known = (one for one in reversed(names) if one["st_info"]["type"] == "STT_FUNC")
    functions = {(one["st_shndx"], one["st_value"]): one for one in known}
    for number, (entry, has_addend) in enumerate(_starts(sections)):
        if number == MOST_STARTS:
            yield RunsAtLoad(f"more than {MOST_STARTS} functions")
            return
        target = names[entry["r_info_sym"]]
        offset = target["st_value"] + (entry["r_addend"] if has_addend else 0)
        function = functions.get((target["st_shndx"], offset))
        if function is None:
            yield RunsAtLoad("a function without a name")
        elif not _only_sets_up(sections, function, names):
            yield RunsAtLoad(function.name)


def _only_sets_up(sections: Sequence[Section], function: Symbol, names: Sequence[Symbol]) -> bool:
    """Return whether a compiler makes such a function, or it can do nothing else than to set things up."""
    if _REGISTERS_KERNELS.fullmatch(function.name):
        return True
    streams = function.name.startswith(_INITIALISER) and _is_of_streams(sections, function, names)
    return streams or only_sets_variables(function, sections, names)


def _starts(sections: Sequence[Section]) -> Iterator[tuple[Relocation, bool]]:
    """Yield the entries of all tables of what runs at load, and whether each has an addend."""
    for section in sections:
        if isinstance(section, RelocationSection):
            name = sections[section["sh_info"]].name
            if _STARTS.fullmatch(name) and not name.startswith((".fini", ".dtors")):
                yield from ((entry, entry.is_RELA()) for entry in section.iter_relocations())


def _is_of_streams(sections: Sequence[Section], function: Symbol, names: Sequence[Symbol]) -> bool:
    """Return whether the function does no more than to initialise <iostream>."""
    if function["st_size"] > SMALL:
        return False
    first, last = function["st_value"], function["st_value"] + function["st_size"]
    beside = [
        section
        for section in sections
        if isinstance(section, RelocationSection) and section["sh_info"] == function["st_shndx"]
    ]
    if sum(section.num_relocations() for section in beside) > MOST_RELOCATIONS:
        return False
    called = {
        names[entry["r_info_sym"]].name
        for section in beside
        for entry in section.iter_relocations()
        if first <= entry["r_offset"] < last and names[entry["r_info_sym"]]["st_info"]["type"] != "STT_SECTION"
    }
    return called - _objects(names) <= _STREAMS and "_ZNSt8ios_base4InitC1Ev" in called


def _objects(names: Sequence[Symbol]) -> set[str]:
    """Return the names of the object's own variables."""
    return {one.name for one in names if one["st_info"]["type"] == "STT_OBJECT" and one["st_shndx"] != "SHN_UNDEF"}
