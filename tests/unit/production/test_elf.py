"""Bytes that no section of a binary covers, and tables that say what cannot be."""

import struct

import pytest

from kpd.production.far.elf import MEMBER, NotUnderstood, leftovers


def elf(body: bytes, sections: tuple[tuple[int, int, int], ...] = (), entry: int = 64) -> bytes:
    """An ELF file of a 64-bit machine: `sections` are kind, offset and size; their table follows the body."""
    at = 64 + len(body) if sections else 0
    table = b"".join(struct.pack("<4xI16xQQ24x", *one) for one in ((0, 0, 0), *sections)) if sections else b""
    header = struct.pack("<4sBB26xQQIHHHHHH", b"\x7fELF", 2, 1, 64, at, 0, 64, 56, 0, entry, len(table) // 64, 0)
    return header + body + table


def of(data: bytes) -> list[bytes]:
    return leftovers(memoryview(data))


def test_what_sections_do_not_hold_is_told_but_for_the_zeros_of_alignment() -> None:
    assert of(elf(b"code\0\0\0\0data", ((1, 64, 4), (1, 72, 4)))) == []
    assert of(elf(b"code\0cave\0\0data", ((1, 64, 4), (1, 75, 4)))) == [b"cave"]
    assert of(elf(b"code", ((1, 64, 4), (8, 64, 1 << 40)))) == [], "a section without bytes may be of any size"
    assert of(elf(b"code", ((1, 64, 4),)) + b"tail\0") == [b"tail\0"]
    assert of(elf(b"\0code\0")) == [b"\0code\0"], "without sections nothing is covered"


def test_of_an_archive_each_member_is_looked_at() -> None:
    def member(data: bytes) -> bytes:
        return b"%-48s%-10d`\n" % (b"name/", len(data)) + data + b"\n" * (len(data) % 2)

    tailed = elf(b"code", ((1, 64, 4),)) + b"odd"
    assert len(member(b"")) == MEMBER
    assert of(b"!<arch>\n" + member(b"index") + member(tailed) + member(tailed)) == [b"odd", b"odd"]
    for damaged in (member(tailed)[:-9], b"short", b" " * 60):
        with pytest.raises(NotUnderstood):
            of(b"!<arch>\n" + damaged)


@pytest.mark.parametrize(
    "data",
    [b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x09\x01" + bytes(60), elf(b"", ((1, 64, 1 << 40),)),
     elf(b"", ((1, 64, 0),))[:-64], elf(b"code", ((1, 64, 4),), entry=0)],
)  # fmt: skip
def test_what_is_no_elf_file_or_points_outside_of_it_is_not_understood(data: bytes) -> None:
    with pytest.raises(NotUnderstood):
        of(data)
