"""Splits a file into its two sections: the kernel, which may change, and the harness, which judges it.

    // ===== KERNEL SECTION (any words) =====
    …
    // ===== END KERNEL SECTION =====
    // ===== HARNESS SECTION (any words) =====
    …
    // ===== END HARNESS SECTION =====

All that is not between the two marks of the kernel section is protected, whether a section or not.
"""

import re
from dataclasses import dataclass
from typing import Literal

_MARK = re.compile(rb"[ \t]*//[ \t]*={3,}[ \t]*(END[ \t]+)?(KERNEL|HARNESS)[ \t]+SECTION\b")
_NAMES = ("KERNEL", "END KERNEL", "HARNESS", "END HARNESS")
Name = Literal["KERNEL", "END KERNEL", "HARNESS", "END HARNESS"]


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
    return any(_MARK.match(line) for line in data.splitlines())


def split(data: bytes) -> Sections:
    """Split the content of a whole file into its sections. Raises SectionError."""
    lines = data.splitlines(keepends=True)
    found = _marks(lines)
    for number, (line, name) in enumerate(found):
        if number >= len(_NAMES) or name != _NAMES[number]:
            wanted = f"'{_NAMES[number]} SECTION'" if number < len(_NAMES) else "no more marks"
            raise SectionError(line, f"'{name} SECTION' where {wanted} should be")
    if len(found) < len(_NAMES):
        raise SectionError(len(lines), f"no line '// ===== {_NAMES[len(found)]} SECTION ====='")
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
    if [name for _, name in found] == ["KERNEL", "END KERNEL"]:
        start, end = found[0][0], found[1][0] - 1
        if b"".join((*lines[: start - 1], *lines[end + 1 :])).strip():
            raise SectionError(start, "there is more than the kernel section, and no harness section")
        return pristine.with_kernel(b"".join(lines[start:end]))
    whole = split(proposed)
    if _plain(whole.before) != _plain(pristine.before) or _plain(whole.after) != _plain(pristine.after):
        raise ProtectedSection
    return pristine.with_kernel(whole.kernel)


def _marks(lines: list[bytes]) -> list[tuple[int, str]]:
    """Return the marks in order, each as its line number from 1 on and its name."""
    found = []
    for number, line in enumerate(lines, 1):
        if mark := _MARK.match(line):
            found.append((number, ("END " if mark[1] else "") + mark[2].decode()))
    return found


def _plain(text: bytes) -> list[bytes]:
    """Return the lines in the form in which they are compared: marks without their words, no blanks at line ends."""
    return [mark[0] if (mark := _MARK.match(line)) else line.rstrip() for line in text.strip().splitlines()]
