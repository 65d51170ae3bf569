"""Reads a disassembly of a CPU: instructions that no kernel needs.

Only what a disassembler takes for code is looked at: the same bytes in a table of constants mean nothing.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kpd.measure.objects.loops import Steps, TangledCode, find
from kpd.model.flags import Executes, Flag, NotInspected, Purpose

_LINE = re.compile(r"\s*([0-9a-f]+):\s+(.*)")
_RELOCATION = re.compile(r":\s{1,2}R_(X86_64|386|AARCH64|ARM)_")
_PLACE = re.compile(r"0*([0-9a-f]+)$")
_PLACE_DIGITS = 17  # at the most, and a character before them
_SECTION = re.compile(r"Disassembly of section (.+):")
_NAME = re.compile(r"[0-9a-f]+ <(.*)>:")
_JUMP = re.compile(
    r"(?:notrack |bnd )?(?:(call[qlw]?|bl)|j[a-z]+(?:,p[nt])?|loop\w*|b(?:\.[a-z]+)?|cbn?z\s+\w+,"
    r"|tbn?z\s+\w+,\s*#\w+,)\s+(?:0x)?([0-9a-f]+) <"
)
_LEAVES = re.compile(r"(?:notrack |bnd |repz? )*(?:jmp|ret|ud2|hlt|b\s|br\s|brk)")
_PREFIXES = frozenset(
    ("rep", "repz", "repnz", "lock", "bnd", "notrack", "data16", "addr32", "cs", "ss", "ds", "es", "fs", "gs")
)
_SYSTEM = (
    "syscall", "sysenter", "sysexit", "sysret", "int", "into", "int1", "icebp", "vmcall", "vmmcall", "wrfsbase",
    "wrgsbase", "swapgs", "wrpkru", "lcall", "ljmp", "iret", "iretq", "in", "out", "ins", "outs", "cli", "sti", "hlt",
)  # fmt: skip
_CLOCK = ("rdtsc", "rdtscp", "rdpmc", "rdpru", "tpause", "umwait", "umonitor", "mwaitx", "monitorx")
_CACHE = ("clflush", "clflushopt", "clwb", "cldemote", "clzero", "wbinvd", "wbnoinvd", "invd")
_MODES = (
    "ldmxcsr",
    "vldmxcsr",
    "fxrstor",
    "fxrstor64",
    "xrstor",
    "xrstor64",
    "xrstors",
    "xrstors64",
    "fldenv",
    "frstor",
)
_X86: dict[str, Purpose] = {
    **dict.fromkeys(_SYSTEM, "system"),
    **dict.fromkeys(_CLOCK, "clock"),
    **dict.fromkeys(_CACHE, "cache"),
    **dict.fromkeys(_MODES, "modes"),
    "(bad)": "hidden",
}
_PAST_CACHES = re.compile(r"v?(?:movnt(?!dqa)\w+|maskmov(?:q|dqu))|movdir(?:i|64b)")
"""Stores that others may see later than those that follow them in the program, until there is a …"""
_FENCE = re.compile(r"[sm]fence\b|(?:xacquire |xrelease )?lock\b|xchg\w?\s.*\(")
_ARM: dict[str, Purpose] = {"svc": "system", "hvc": "system", "smc": "system", "brk": "system"}
_ARM_CLOCK = re.compile(r"mrs\s+\w+,\s*(cnt\w+|pm\w+|s3_3_c14_\w+|s3_3_c9_\w+)")
_ARM_MODES = re.compile(r"msr\s+fp[cs]r")
_ARM_CACHE = re.compile(r"(dc\s+(?!zva)\w+|ic\s+\w+)")
LONGEST_NAME = 200
"""Characters of a function's name that are told."""


class ListedLine(NamedTuple):
    """An instruction. It `reaches` a place by a jump or a call, `target` by a jump: in hexadecimal, as `address` is."""

    address: str
    text: str
    reaches: str
    target: str
    leaves: bool


class ListedFunction(NamedTuple):
    """The lines from one name of a section to the next."""

    name: str
    lines: list[ListedLine]


def of_cpu(listing: str) -> tuple[Flag, ...]:
    """List the flags of what `objdump -d -r --no-show-raw-insn -w` printed."""
    texts = _SECTION.split(listing)[2::2]
    sections = [list(_functions(text)) for text in texts]
    functions = [function for section in sections for function in section]
    found = [
        *_single(functions),
        *_unfenced(functions),
        *(flag for section in sections for flag in _overlapping(section)),
        *(flag for section, text in zip(sections, texts, strict=True) for flag in _overwritten(section, text)),
    ]
    return tuple(dict.fromkeys([*found, *_tangled(functions)]))


def _functions(section: str) -> Iterator[ListedFunction]:
    name, lines = "", list[ListedLine]()
    for line in section.splitlines():
        if (found := _LINE.match(line)) is not None and not found[2].startswith("R_"):  # else a relocation's own line
            text = found[2].strip()
            jump = _JUMP.match(text)
            reaches, called = (jump[2], jump[1]) if jump is not None else ("", None)
            lines.append(
                ListedLine(found[1], text, reaches, "" if called else reaches, _LEAVES.match(text) is not None)
            )
        elif (begun := _NAME.fullmatch(line)) is not None:
            yield ListedFunction(name, lines)
            name, lines = begun[1], []
    yield ListedFunction(name, lines)


def _single(functions: Iterable[ListedFunction]) -> Iterator[Flag]:
    for text in (line.text for function in functions for line in function.lines):
        name = next((word for word in text.split() if word not in _PREFIXES), "")
        if (purpose := _X86.get(name) or _ARM.get(name)) is not None:
            yield Executes(name, purpose)
        elif (clock := _ARM_CLOCK.match(text)) is not None:
            yield Executes(f"mrs {clock[1]}", "clock")
        elif (cache := _ARM_CACHE.match(text)) is not None:
            yield Executes(cache[1].replace("\t", " "), "cache")
        elif (modes := _ARM_MODES.match(text)) is not None:
            yield Executes(modes[0].replace("\t", " "), "modes")


def _unfenced(functions: Iterable[ListedFunction]) -> Iterator[Flag]:
    """Flag stores past the caches that no fence follows: another thread may read what was there before.

    Any way to a fence in the same function counts, as a compiler may put the fence before the loop that it is for, and
    a flag may say whether it is needed. So does one in a function without such stores, which may call this one or be
    called: in an object calls have no target yet.
    """
    fences = 0
    open_ones: dict[str, None] = {}
    for function in functions:
        code = [(line.address, line.text) for line in function.lines]
        past = [(at, text) for at, text in code if _PAST_CACHES.match(text)]
        fenced = {at for at, text in code if _FENCE.match(text)}
        fences += bool(fenced and not past)
        before = _before(function.lines, fenced) if past else set()
        open_ones |= dict.fromkeys(text.split()[0] for at, text in past if at not in before)
    if not fences:
        yield from (Executes(name, "unfenced") for name in open_ones)


def _before(lines: list[ListedLine], reached: set[str]) -> set[str]:
    """Return where one may be to come to one of these places, within the function."""
    comes_from: dict[str, list[str]] = {}
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        if after is not None and not line.leaves:
            comes_from.setdefault(after.address, []).append(line.address)
        if line.target:
            comes_from.setdefault(line.target, []).append(line.address)
    found, todo = set(reached), list(reached)
    while todo:
        new = set(comes_from.get(todo.pop(), ())) - found
        found |= new
        todo += new
    return found


def _overlapping(section: Iterable[ListedFunction]) -> Iterator[Flag]:
    """Flag a jump into the middle of an instruction: another one is hidden there."""
    lines = [line for function in section for line in function.lines]
    starts = {line.address for line in lines}
    last = max((int(line.address, 16) for line in lines), default=0)
    for line in lines:
        if line.reaches and line.reaches not in starts and int(line.reaches, 16) < last:
            yield Executes(f"{line.text.split()[0]} into another", "hidden")


def _overwritten(section: Iterable[ListedFunction], text: str) -> Iterator[Flag]:
    """Flag a relocation that fills the beginning of an instruction: when it is linked it is another one.

    On ARM, where it fills a part of the bits of an instruction, it is always there.
    """
    places = set[str]()
    for found in _RELOCATION.finditer(text):
        place = _PLACE.search(text[max(0, found.start() - _PLACE_DIGITS) : found.start()])
        if place is not None and found[1] in ("X86_64", "386"):
            places.add(place[1])
    for line in (line for function in section for line in function.lines if line.address in places):
        yield Executes(f"{line.text.split()[0]} under a relocation", "hidden")


def _tangled(functions: Iterable[ListedFunction]) -> Iterator[Flag]:
    """Flag code whose loops cannot be found: whoever looks for the hottest looks at none of them."""
    steps = Steps()
    for function in functions:
        targets = {line.target for line in function.lines} - {""}
        lines: list[ListedLine | str] = []
        for line in function.lines if targets else ():
            lines += [line.address, line] if line.address in targets else [line]
        try:
            list(find(function.name, lines, steps))
        except TangledCode:
            yield NotInspected(f"to find the loops of {function.name[:LONGEST_NAME]} takes too long")
            return
