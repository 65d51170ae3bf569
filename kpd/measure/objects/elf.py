"""Reads the tables of an object file: what it calls, defines and runs when it is loaded. It never reads code."""

import io
import re
from collections.abc import Iterator

from elftools.common.exceptions import ELFError
from elftools.construct.core import ConstructError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, Symbol, SymbolTableSection

from kpd.measure.objects.allowed import Allowed
from kpd.model.flags import Calls, Flag, HasSection, NotInspected, Replaces, RunsAtLoad

MACH_O = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")
_TEXT = re.compile(r"\.text(\..+)?")
_DATA = re.compile(
    r"\.(data|bss|tdata|tbss|lbss|ldata)(\..+)?|\.(nvFatBinSegment|init_array)(\.\d+)?|__nv_module_id|\.data\.rel\.\w+"
)
_STARTS = re.compile(r"\.(init_array|preinit_array|ctors|dtors|fini_array|init|fini)(\..+)?")
_REGISTERS_KERNELS = re.compile(r"(_ZL\d+)?__sti____cudaRegisterAll\w*")
"""Names of the function of nvcc's own that a CUDA object runs when it is loaded."""
_STREAMS = {"_ZNSt8ios_base4InitC1Ev", "_ZNSt8ios_base4InitD1Ev", "__cxa_atexit", "__dso_handle"}
"""What the initialiser of <iostream>, which CUDA's own headers include, refers to."""
UNREADABLE = (
    ELFError, ConstructError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError,
    AssertionError,
)  # fmt: skip
"""What the library raises for a file that is no object, or a damaged one."""
MOST_STARTS = 16
"""So many functions that run at load are looked at."""
SMALL = 64
"""The most bytes of that initialiser."""


def tables(data: bytes, allowed: Allowed) -> tuple[Flag, ...]:
    """List what looks wrong in the tables of a relocatable object. An object of macOS is not looked at."""
    if data[:4] in MACH_O:
        return ()
    try:
        return tuple(dict.fromkeys(_found(ELFFile(io.BytesIO(data)), allowed)))
    except UNREADABLE as err:
        return (NotInspected(f"its tables cannot be read ({type(err).__name__}: {err})"),)


def _found(elf: ELFFile, allowed: Allowed) -> Iterator[Flag]:
    symbols = next((one for one in elf.iter_sections() if isinstance(one, SymbolTableSection)), None)
    names = list(symbols.iter_symbols()) if symbols is not None else []
    constants = b"".join(one.data() for one in elf.iter_sections() if one.name.startswith(".rodata"))
    for symbol in names:
        yield from _of_symbol(symbol, allowed, constants)
    for section in elf.iter_sections():
        yield from _of_section(section)
        if isinstance(section, RelocationSection):
            target = elf.get_section(section["sh_info"])
            if _STARTS.fullmatch(target.name) and not target.name.startswith((".fini", ".dtors")):
                yield from _at_load(elf, section, names)


def _of_symbol(symbol: Symbol, allowed: Allowed, constants: bytes) -> Iterator[Flag]:
    kind, binding, where = symbol["st_info"]["type"], symbol["st_info"]["bind"], symbol["st_shndx"]
    if not symbol.name:
        return
    if where == "SHN_UNDEF":
        if not allowed.calls(symbol.name) and not allowed.looks_up(symbol.name, constants):
            yield Calls(symbol.name)
    elif kind == "STT_LOOS":  # STT_GNU_IFUNC: its resolver runs when the object is loaded
        yield RunsAtLoad(symbol.name)
    elif binding != "STB_LOCAL" and allowed.replaces(symbol.name):
        yield Replaces(symbol.name)


def _of_section(section: Section) -> Iterator[Flag]:
    name, flags = section.name, section["sh_flags"]
    if name == ".note.GNU-stack":
        if flags & SH_FLAGS.SHF_EXECINSTR:
            yield HasSection("stack that can be run")
    elif name.startswith(".gnu.lto_"):
        yield HasSection(".gnu.lto_")
    elif not flags & SH_FLAGS.SHF_ALLOC:
        return
    elif _STARTS.fullmatch(name):
        if not name.startswith(".init_array"):
            yield HasSection(name)
    elif flags & SH_FLAGS.SHF_EXECINSTR:
        if flags & SH_FLAGS.SHF_WRITE or not _TEXT.fullmatch(name):
            yield HasSection(name)
    elif flags & SH_FLAGS.SHF_WRITE and not _DATA.fullmatch(name):
        yield HasSection(name)


def _at_load(elf: ELFFile, starts: RelocationSection, names: list[Symbol]) -> Iterator[Flag]:
    """Flag the functions in a table of what runs at load, but for those of the compiler."""
    known = (one for one in reversed(names) if one["st_info"]["type"] == "STT_FUNC")
    functions = {(one["st_shndx"], one["st_value"]): one for one in known}
    for number, entry in enumerate(starts.iter_relocations()):
        if number == MOST_STARTS:
            yield RunsAtLoad(f"more than {MOST_STARTS} functions")
            return
        target = names[entry["r_info_sym"]]
        offset = target["st_value"] + (entry["r_addend"] if entry.is_RELA() else 0)
        function = functions.get((target["st_shndx"], offset))
        if function is None:
            yield RunsAtLoad("a function without a name")
        elif not _REGISTERS_KERNELS.fullmatch(function.name) and not _is_of_streams(elf, function, names):
            yield RunsAtLoad(function.name)


def _is_of_streams(elf: ELFFile, function: Symbol, names: list[Symbol]) -> bool:
    """Return whether the function does no more than to initialise <iostream>."""
    if not function.name.startswith("_GLOBAL__sub_I_") or function["st_size"] > SMALL:
        return False
    first, last = function["st_value"], function["st_value"] + function["st_size"]
    called = {
        names[entry["r_info_sym"]].name
        for section in elf.iter_sections()
        if isinstance(section, RelocationSection) and section["sh_info"] == function["st_shndx"]
        for entry in section.iter_relocations()
        if first <= entry["r_offset"] < last and names[entry["r_info_sym"]]["st_info"]["type"] != "STT_SECTION"
    }
    return called - _objects(names) <= _STREAMS and "_ZNSt8ios_base4InitC1Ev" in called


def _objects(names: list[Symbol]) -> set[str]:
    """Return the names of the object's own variables."""
    return {one.name for one in names if one["st_info"]["type"] == "STT_OBJECT" and one["st_shndx"] != "SHN_UNDEF"}
