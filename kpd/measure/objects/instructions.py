"""Reads a disassembly, of a CPU or of a GPU: instructions that no kernel needs.

Only what a disassembler takes for code is looked at: the same bytes in a table of constants mean nothing.
"""

import re
from collections.abc import Iterator

from kpd.model.flags import Executes, Flag, Purpose

_LINE = re.compile(r"\s*([0-9a-f]+):\s+(.*)")
_SECTION = re.compile(r"Disassembly of section (.+):")
_JUMP = re.compile(r"(?:notrack |bnd )?(?:j[a-z]+|call[qlw]?|loop\w*)\s+([0-9a-f]+) <([^>]*)>")
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
_ARM: dict[str, Purpose] = {"svc": "system", "hvc": "system", "smc": "system", "brk": "system"}
_ARM_CLOCK = re.compile(r"mrs\s+\w+,\s*(cnt\w+|pm\w+|s3_3_c14_\w+|s3_3_c9_\w+)")
_ARM_MODES = re.compile(r"msr\s+fp[cs]r")
_ARM_CACHE = re.compile(r"(dc\s+(?!zva)\w+|ic\s+\w+)")
_SASS_CLOCK = re.compile(r"\bSR_(CLOCK|GLOBALTIMER)\w*")


def of_cpu(listing: str) -> tuple[Flag, ...]:
    """List the flags of what `objdump -d --no-show-raw-insn -w` printed."""
    return tuple(dict.fromkeys((*_single(listing), *_overlapping(listing))))


def _single(listing: str) -> Iterator[Flag]:
    for line in listing.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        text = found[2].strip()
        name = next((word for word in text.split() if word not in _PREFIXES), "")
        if (purpose := _X86.get(name) or _ARM.get(name)) is not None:
            yield Executes(name, purpose)
        elif (clock := _ARM_CLOCK.match(text)) is not None:
            yield Executes(f"mrs {clock[1]}", "clock")
        elif (cache := _ARM_CACHE.match(text)) is not None:
            yield Executes(cache[1].replace("\t", " "), "cache")
        elif (modes := _ARM_MODES.match(text)) is not None:
            yield Executes(modes[0].replace("\t", " "), "modes")


def _overlapping(listing: str) -> Iterator[Flag]:
    """Flag a jump into the middle of an instruction: another one is hidden there."""
    for section in _SECTION.split(listing)[2::2]:
        starts, jumps = set(), {}
        for line in section.splitlines():
            if (found := _LINE.match(line)) is not None:
                starts.add(int(found[1], 16))
                if (jump := _JUMP.match(found[2])) is not None:
                    jumps[int(jump[1], 16)] = found[2].split()[0]
        last = max(starts, default=0)
        inside = (name for to, name in jumps.items() if to < last and to not in starts)
        yield from (Executes(f"{name} into another", "hidden") for name in inside)


def of_gpu(listing: str) -> tuple[Flag, ...]:
    """List the flags of what `cuobjdump -sass` printed: reads of a clock of the device."""
    clocks = dict.fromkeys(clock[0] for clock in _SASS_CLOCK.finditer(listing))
    return tuple(Executes(f"read of {clock}", "clock") for clock in clocks)
