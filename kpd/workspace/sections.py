"""Splits a file into its two sections: the kernel, which may change, and the harness, which judges it.

    // ===== KERNEL SECTION (any words) =====
    …
    // ===== END KERNEL SECTION =====
    // ===== HARNESS SECTION (any words) =====
    …
    // ===== END HARNESS SECTION =====

All that is not between the two marks of the kernel section is protected, whether a section or not. In a task with its
own benchmark the kernel section may lie between `# EVOLVE-BLOCK-START` and `# EVOLVE-BLOCK-END` instead (or `//`).
"""

import re
from dataclasses import dataclass

_MARK = re.compile(rb"[ \t]*//[ \t]*={3,}[ \t]*(END[ \t]+)?(KERNEL|HARNESS)[ \t]+SECTION\b")
_BLOCK = re.compile(rb"[ \t]*(?://|#)[ \t]*(EVOLVE-BLOCK-(?:START|END))\b")
_NAMES = ("KERNEL SECTION", "END KERNEL SECTION", "HARNESS SECTION", "END HARNESS SECTION")
_BLOCK_NAMES = ("EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END")


class SectionError(ValueError):
    """The error that marks do not make a kernel section and then a harness section; `line` says where, from 1 on."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class ProtectedSection(Exception):
    """The error that a candidate has changed text outside its kernel section."""


@dataclass(frozen=True, slots=True)
class Sections:
    """`kernel` is the text between the marks of the kernel section; `before` and `after` are all the rest."""

    before: bytes
    kernel: bytes
    after: bytes

    @property
    def whole(self) -> bytes:
        return self.before + self.kernel + self.after

    def with_kernel(self, kernel: bytes) -> "Sections":
        """Return these sections with another kernel."""
        ended = kernel if not kernel or kernel.endswith(b"\n") else kernel + b"\n"
        return Sections(self.before, ended, self.after)


def marked(data: bytes) -> bool:
    """Return whether any line is a section's mark."""
    return bool(_marks(data.splitlines()))


def has_block(data: bytes) -> bool:
    """Return whether the file has one EVOLVE-BLOCK, and no other marks."""
    if b"EVOLVE-BLOCK-" not in data:  # as in most files: tasks are read anew at each change
        return False
    return tuple(name for _, name in _marks(data.splitlines())) == _BLOCK_NAMES


def split(data: bytes) -> Sections:
    """Split the content of a whole file into its sections. Raises SectionError."""
    lines = data.splitlines(keepends=True)
    found = _marks(lines)
    names = _wanted(found)
    for number, (line, name) in enumerate(found):
        if number >= len(names) or name != names[number]:
            wanted = f"{names[number]!r}" if number < len(names) else "no more marks"
            raise SectionError(line, f"{name!r} where {wanted} should be")
    if len(found) < len(names):
        raise SectionError(len(lines), f"no line '{_shown(names[len(found)])}'")
    start, end = found[0][0], found[1][0] - 1
    return Sections(*(b"".join(part) for part in (lines[:start], lines[start:end], lines[end:])))


def splice(pristine: Sections, proposed: bytes) -> Sections:
    """Return `pristine` with the kernel section of `proposed`.

    `proposed` is a whole file, a kernel section alone, or only the text within one. Raises SectionError where its marks
    are not in order, ProtectedSection where it differs outside the kernel section. Blanks at the end of a line, blank
    lines at either end of the protected parts, and the words in a mark are not compared.
    """
    lines = proposed.splitlines(keepends=True)
    found = _marks(lines)
    if not found:
        return pristine.with_kernel(proposed)
    names = _wanted(found)
    if tuple(name for _, name in found) == names[:2]:
        start, end = found[0][0], found[1][0] - 1
        if not b"".join((*lines[: start - 1], *lines[end + 1 :])).strip():
            return pristine.with_kernel(b"".join(lines[start:end]))
        if len(names) > 2:
            raise SectionError(start, "there is more than the kernel section, and no harness section")
    whole = split(proposed)
    if _plain(whole.before) != _plain(pristine.before) or _plain(whole.after) != _plain(pristine.after):
        raise ProtectedSection
    return pristine.with_kernel(whole.kernel)


def _marks(lines: list[bytes]) -> list[tuple[int, str]]:
    """Return the marks in order, each as its line number from 1 on and its name."""
    found = []
    for number, line in enumerate(lines, 1):
        if mark := _MARK.match(line):
            found.append((number, f"{'END ' if mark[1] else ''}{mark[2].decode()} SECTION"))
        elif mark := _BLOCK.match(line):
            found.append((number, mark[1].decode()))
    return found


def _wanted(found: list[tuple[int, str]]) -> tuple[str, ...]:
    """Return the marks that a file with these must have: those of a block, if it begins with one of these."""
    return _BLOCK_NAMES if found and found[0][1] in _BLOCK_NAMES else _NAMES


def _shown(name: str) -> str:
    return f"# {name}" if name in _BLOCK_NAMES else f"// ===== {name} ====="


def _plain(text: bytes) -> list[bytes]:
    """Return the lines in the form in which they are compared: marks without their words, no blanks at line ends."""
    lines = text.strip().splitlines()
    return [mark[0] if (mark := _MARK.match(line) or _BLOCK.match(line)) else line.rstrip() for line in lines]
