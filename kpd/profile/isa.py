"""Classifies one line of assembly, for x86-64 in AT&T syntax and for arm64 (ELF and Mach-O spellings)."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Arch = Literal["x86-64", "arm64"]
LONGEST = 1024
"""Characters of a line that are looked at."""
KEPT = 1 << 16
"""Lines whose meaning is kept: most occur again and again."""

# Floating-point arithmetic. The first letter of the ending is p for packed, s for scalar: addPs, vfmadd231Sd.
_X86_FP = re.compile(
    r"v?(?:add|sub|mul|div|min|max|sqrt|rsqrt(?:14|28)?|rcp(?:14|28)?|hadd|hsub|addsub|dp|round|rndscale|scalef"
    r"|fn?m(?:add|sub)(?:132|213|231)|fm(?:addsub|subadd)(?:132|213|231))([ps])[sdh]"
)
# Uses of whole registers that only vector code has: moves to and from memory, shuffles, integer lanes.
_X86_VECTOR = re.compile(
    r"v?mov[aun][a-z]*p[sd]|v?movdq[au](?:8|16|32|64)?|v?(?:un|s)?(?:pck|huf)[a-z]*p[sd]|v?punpck\w+|v?p?shuf\w+"
    r"|vperm\w+|v(?:insert|extract|broadcast)[fi]?\d*\w*|v?blend\w+|v?p(?:add|sub|mull?|mulh|madd\w*|min|max|abs)[us]?[bwdq]"
)
_X86_WHOLE_MOVE = re.compile(r"v?mov[aun][a-z]*p[sd]|v?movdq[au](?:8|16|32|64)?")
_X86_DIVIDE = re.compile(r"v?(?:div|sqrt)[ps][sdh]|i?div[bwlq]?")
_X86_JUMP = re.compile(r"j[a-z]+|loop[a-z]*")
_X86_ELEMENT = re.compile(r"v?(?:p?gather\w+|insertps|pinsr[bwdq]|mov[hl]ps|mov[hl]pd)")

_ARM_FP = re.compile(
    r"f(?:add|sub|mul|div|nmul|mla|mls|n?madd|n?msub|max|min|maxnm|minnm|sqrt|addp|recpe|rsqrte|recps|rsqrts|abd)"
)
_ARM_DIVIDE = re.compile(r"fdiv|fdivr|fsqrt|[su]div")
_ARM_JUMP = re.compile(r"b(?:\.[a-z]+)?|cbn?z|tbn?z")
_ARM_PACKED = re.compile(r"(?:\bv\d+)?\.(?:2d|4s|2s|8h|4h|16b|8b)\b|\bz\d+\.[bhsd]\b")
_ARM_WIDE_MOVE = re.compile(r"(?:ld|st)(?:r|p|u?r|np)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """What one instruction does. `fp` is the kind of floating-point arithmetic, `bits` its vector's width (0: none).

    `target` is the label that a jump goes to; after an instruction that `leaves`, the next line is never run.
    """

    fp: Literal["packed", "scalar", ""] = ""
    bits: int = 0
    stack: bool = False
    call: bool = False
    element_load: bool = False
    division: bool = False
    target: str = ""
    leaves: bool = False


def arch_of(text: str) -> Arch | None:
    """Detect the architecture of an assembly text; None when it is neither of the two."""
    if re.search(r"%(?:r[a-ds]|e[a-d]|[xyz]mm)", text):
        return "x86-64"
    return "arm64" if re.search(r"^[ \t]+(?:ldr|str|ldp|stp|add|mov|ret)\b", text, re.MULTILINE) else None


def instruction(arch: Arch, line: str, frame: bool) -> Instruction | None:
    """Classify a line; None for labels, directives and comments. `frame`: the frame pointer points to the stack.

    A candidate can write lines itself, as assembly in its source, so no more than `LONGEST` characters are looked at.
    """
    return (_x86 if arch == "x86-64" else _arm)(line.strip()[:LONGEST], frame)


@lru_cache(KEPT)
def _x86(line: str, frame: bool) -> Instruction | None:
    words = line.partition("#")[0].rstrip().split(None, 1)
    if not words or words[0].startswith(".") or words[0].endswith(":"):
        return None
    while len(words) == 2 and words[0] in ("lock", "rep", "repz", "repnz", "bnd", "notrack"):
        words = words[1].split(None, 1)
    name, operands = words[0], words[1] if len(words) == 2 else ""
    if name.startswith("call"):
        return Instruction(call=True)
    if _X86_JUMP.fullmatch(name):
        return Instruction(target=operands.strip(), leaves=name.startswith("jmp"))
    if name.startswith(("ret", "ud2", "hlt")):
        return Instruction(leaves=True)
    fp = _X86_FP.fullmatch(name)
    packed = fp is not None and fp[1] == "p"
    memory = "(" in operands
    stack = memory and not name.startswith(("lea", "nop", "prefetch")) and _on_stack(operands, frame)
    # A whole register moved between registers, or a constant loaded, happens in scalar code, too.
    moved = memory and "%rip" not in operands and not stack
    vector = packed or (_X86_VECTOR.fullmatch(name) and (moved or not _X86_WHOLE_MOVE.fullmatch(name)))
    widths = (bits for mark, bits in (("%zmm", 512), ("%ymm", 256), ("%xmm", 128)) if mark in operands)
    return Instruction(
        fp="packed" if packed else "scalar" if fp else "",
        bits=next(widths, 0) if vector else 0,
        stack=stack,
        element_load=memory and _X86_ELEMENT.fullmatch(name) is not None and not _stores(operands),
        division=_X86_DIVIDE.fullmatch(name) is not None,
    )


def _on_stack(operands: str, frame: bool) -> bool:
    """Return whether the operand is a fixed place on the stack; an indexed one is an array of the program's own."""
    bases = r"%rsp|%rbp" if frame else "%rsp"
    return re.search(rf"\((?:{bases})\)", operands) is not None


def _stores(operands: str) -> bool:
    return operands.rstrip().endswith(")")


@lru_cache(KEPT)
def _arm(line: str, frame: bool) -> Instruction | None:
    words = line.partition("//")[0].partition(";")[0].rstrip().split(None, 1)
    if not words or words[0].startswith(".") or words[0].endswith(":"):
        return None
    name, operands = words[0], words[1] if len(words) == 2 else ""
    if name in ("bl", "blr"):
        return Instruction(call=True)
    if _ARM_JUMP.fullmatch(name):
        return Instruction(target=operands.split(",")[-1].strip(), leaves=name == "b")
    if name in ("ret", "br", "brk"):
        return Instruction(leaves=True)
    root, _, suffix = name.partition(".")
    packed = _ARM_PACKED.search(f".{suffix} {operands}" if suffix else operands) is not None
    fp = _ARM_FP.fullmatch(root) is not None
    whole = _ARM_WIDE_MOVE.fullmatch(root) is not None and re.match(r"q\d", operands) is not None
    loads = root.startswith("ld")
    lane = loads and re.search(r"\}\s*\[\d+\]", operands) is not None
    gather = loads and re.search(r"\[[^\]]*\bz\d+\.", operands) is not None
    base = r"\[(?:sp|x29|fp)\b" if frame else r"\[sp\b"
    stack = re.search(base, operands) is not None and re.search(r"\[\w+, [xw]\d", operands) is None
    return Instruction(
        fp="packed" if fp and packed else "scalar" if fp else "",
        bits=128 if (packed or whole) and not lane and not stack else 0,
        stack=stack,
        element_load=lane or gather,
        division=_ARM_DIVIDE.fullmatch(root) is not None,
    )
