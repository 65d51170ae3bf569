"""Finds the bytes of a binary that no section of its ELF tables covers: objcopy drops them."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

MAGIC, ARCHIVE = b"\x7fELF", b"!<arch>\n"
NO_BITS = 8
MANY = 0xFFFF  # of program headers: the first section says how many
MEMBER = 60


class NotUnderstood(Exception):
    """The error that a file is no ELF file or archive, or that its tables point outside of it."""


class ElfFields(NamedTuple):
    """The offsets of fields, by the class of an ELF file: in its header, and in a section's."""

    header: int
    tables: str  # e_phoff, e_shoff, and from e_flags on: e_phentsize, e_phnum, e_shentsize, e_shnum
    tables_at: int
    section: str  # sh_type, sh_offset, sh_size, sh_info


LAYOUTS = {
    1: ElfFields(52, "IIIHHHHH", 28, "4xI8xII4xI"),
    2: ElfFields(64, "QQIHHHHH", 32, "4xI16xQQ4xI"),
}


def leftovers(data: "memoryview") -> "list[bytes]":
    """Return the pieces of an ELF file, or of those in an archive, that neither a section nor a table holds.

    Zeros around a piece are left out, as linkers align what follows, but not those at the end of the file. Raises
    NotUnderstood.
    """
    if bytes(data[: len(ARCHIVE)]) != ARCHIVE:
        return list(_of_elf(data))
    return [piece for member in _members(data) if bytes(member[:4]) == MAGIC for piece in _of_elf(member)]


def _of_elf(data: "memoryview") -> "Iterator[bytes]":
    if bytes(data[:4]) != MAGIC:
        raise NotUnderstood("it is no ELF file")
    try:
        covered = sorted(_covered(data))
    except (struct.error, LookupError) as err:
        raise NotUnderstood("its tables cannot be read") from err
    done = 0
    for begin, end in [*covered, (len(data), len(data))]:
        if end > len(data):
            raise NotUnderstood("its tables point outside of it")
        piece = bytes(data[done:begin])
        piece = piece if begin == len(data) else piece.strip(b"\0")
        if piece:
            yield piece
        done = max(done, end)


def _covered(data: "memoryview") -> "Iterator[tuple[int, int]]":
    """Yield where headers, tables and sections begin and end."""
    layout, order = LAYOUTS[data[4]], {1: "<", 2: ">"}[data[5]]
    found = struct.unpack_from(order + layout.tables, data, layout.tables_at)
    programs, sections, _, _, program, programs_many, section, many = found
    first = (0, 0, 0, 0)
    if sections:
        first = struct.unpack_from(order + layout.section, data, sections)
        many = many or first[2]
    if programs_many == MANY:
        programs_many = first[3]
    if many and section < struct.calcsize(order + layout.section):
        raise NotUnderstood("its sections have no size")
    yield 0, layout.header
    yield programs, programs + program * programs_many
    yield sections, sections + section * many
    for number in range(1, many):
        kind, at, size, _ = struct.unpack_from(order + layout.section, data, sections + section * number)
        if kind != NO_BITS and size:
            yield at, at + size


def _members(data: "memoryview") -> "Iterator[memoryview]":
    """Yield the members of an archive."""
    at = len(ARCHIVE)
    while at < len(data):
        header = bytes(data[at : at + MEMBER])
        try:
            size = int(header[48:58].decode("ascii"))
        except ValueError as err:
            raise NotUnderstood("the archive has a member without a size") from err
        if header[58:] != b"`\n" or size < 0 or at + MEMBER + size > len(data):
            raise NotUnderstood("the archive is damaged")
        yield data[at + MEMBER : at + MEMBER + size]
        at += MEMBER + size + size % 2
