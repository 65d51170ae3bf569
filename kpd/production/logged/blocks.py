"""Takes the lines that log launches from an answer: whole blocks between two marks, and nothing else of it. Pure.

What is put into the program is its own file, byte for byte, with the blocks between its lines.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kpd.agents.agent import BadReply
from kpd.agents.fences import FencedBlock, split_fences
from kpd.production.deploy.units import units
from kpd.source.text import code, language

BEGIN, END = "// KPD LOG BEGIN", "// KPD LOG END"
VARIABLE = "KPD_OBSERVE_LOG"
"""The environment variable that names the file to which each launch is logged."""
MOST_LINES = 200
"""Lines of all blocks of a file."""
LONGEST = 400
_DEVICE = re.compile(r"\b__(?:global|device)__\b")
_INCLUDE = re.compile(r"\s*#\s*include\s*<[\w./+-]+>\s*")
_DIRECTIVE = re.compile(r"\s*(?:#|%:|\?\?=)")
_LEAVES = re.compile(
    r"\b(?:return|goto|break|continue|throw|co_\w+|exit|_exit|_Exit|quick_exit|abort|terminate|longjmp|raise|kill"
    r"|system|popen|exec[lv]\w*|v?fork|asm|__asm\w*|__global__|__device__)\b|<<<"
)
_GOES_ON = re.compile(r"\s*(?:else|catch|while)\b")
_PRINTED = re.compile(r"[\t\x20-\x7e]*")
_PAIRS = {")": "(", "]": "[", "}": "{"}


class NotTaken(Exception):
    """The error that an answer's file is not put into the program; the text says why, to whoever answers."""


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines of an answer, without their marks. `after` is the number of the file's lines before them."""

    after: int
    lines: tuple[str, ...]


def instrumented(files: Mapping[str, bytes], kernel: str, answer: str) -> dict[str, bytes]:
    """Return the files that an answer changes, with its blocks in them. Raises NotTaken.

    `files` are those that may be changed, and `kernel` is the name of the one whose launches are logged.
    """
    try:
        blocks = [one for one in split_fences(answer.replace("\r\n", "\n")).blocks if one.content.strip()]
    except BadReply as err:
        raise NotTaken(str(err)) from err
    found: dict[str, bytes] = {}
    for block in blocks:
        path = _path(block, files)
        if path in found:
            raise NotTaken(f"{path} is given twice")
        found[path] = _with_blocks(path, files[path], kernel, block.content)
    if not found:
        raise NotTaken("it has no fenced block with a file")
    if not any(VARIABLE.encode() in data for data in found.values()):
        raise NotTaken(f"nothing of it reads the environment variable {VARIABLE}")
    return {path: data for path, data in found.items() if data != files[path]}


def _path(block: FencedBlock, files: Mapping[str, bytes]) -> str:
    """Return which file a fenced block is: the one that it names, else the only one."""
    named = [word for word in block.info.split() if word in files]
    others = [word for word in block.info.split() if word not in files and ("/" in word or "." in word)]
    if others or len(named) > 1 or (not named and len(files) > 1):
        raise NotTaken(f"each fence is followed by the path of its file, one of {', '.join(files)}")
    return named[0] if named else next(iter(files))


def _with_blocks(path: str, original: bytes, kernel: str, answer: str) -> bytes:
    """Return the original with the answer's blocks between its lines. Raises NotTaken."""
    if language(path) != "c":
        raise NotTaken(f"{path} is no file of C, C++ or CUDA")
    lines = original.split(b"\n")
    blocks = list(_blocks(path, [_shown(line) for line in lines], answer))
    if sum(len(one.lines) for one in blocks) > MOST_LINES:
        raise NotTaken(f"{path}: the blocks have more than {MOST_LINES} lines")
    made, own = list[bytes](), list[bool]()
    for at in range(len(lines) + 1):
        for block in (one for one in blocks if one.after == at):
            ends = b"\r" if at and lines[at - 1].endswith(b"\r") else b""
            made += [f"{line}".encode("ascii") + ends for line in (BEGIN, *block.lines, END)]
            own += [False] * (len(block.lines) + 2)
        if at < len(lines):
            made.append(lines[at])
            own.append(True)
    new = b"\n".join(made)
    _check(path, original, new, own, blocks)
    if _on_device(path, original, kernel) != _on_device(path, new, kernel):
        raise NotTaken(f"{path}: code that runs on the GPU may not change: log where the kernel is launched")
    return new


def _shown(line: bytes) -> str:
    """Return a line as whoever answers has it, without the blanks at its end."""
    return line.decode(errors="replace").rstrip()


def _blocks(path: str, lines: list[str], answer: str) -> Iterator[_Block]:
    """Yield the blocks of an answer. Raises NotTaken where it differs from the file beside them."""
    at = 0
    inside: list[str] | None = None
    for number, line in enumerate(answer.split("\n"), 1):
        mark = line.strip()
        if inside is not None:
            if mark == END:
                yield _Block(at, tuple(inside))
                inside = None
            elif mark == BEGIN or len(line) > LONGEST or not _PRINTED.fullmatch(line):
                raise NotTaken(f"line {number} cannot be in a block: plain text of {LONGEST} characters at most can")
            else:
                inside.append(line)
        elif mark == BEGIN:
            inside = []
        elif at < len(lines) and line.rstrip() == lines[at]:
            at += 1
        elif mark or any(lines[at:]):
            known = f"line {at + 1} of it is {lines[at]!r}" if at < len(lines) else "it ends before that"
            raise NotTaken(f"line {number} of your {path} is not in the file, and in no block; {known}")
    if inside is not None:
        raise NotTaken(f"a block of {path} has no {END}")
    if any(lines[at:]):
        raise NotTaken(f"your {path} ends before line {at + 1} of the file: {lines[at]!r}")


def _check(path: str, original: bytes, new: bytes, own: list[bool], blocks: list[_Block]) -> None:
    """Raise NotTaken unless the file's own code stays what it was, and every block is whole statements beside it."""
    was, now = (code(path, text.decode("latin-1")).split("\n") for text in (original, new))
    if was != [line for line, ours in zip(now, own, strict=True) if ours]:
        raise NotTaken(f"{path}: a comment or a literal of a block goes on into the file")
    theirs = [line for line, ours in zip(now, own, strict=True) if not ours]
    for block in blocks:
        count = len(block.lines) + 2
        text, theirs = theirs[1 : count - 1], theirs[count:]
        _check_place(path, was[: block.after], original.split(b"\n")[: block.after])
        _check_block(path, text, block.lines)


def _check_place(path: str, code_before: list[str], before: list[bytes]) -> None:
    """Raise NotTaken where a block would stand in the middle of a statement, or of a directive."""
    if before and before[-1].rstrip().endswith(b"\\"):
        raise NotTaken(f"{path}: no block can follow line {len(before)}, which goes on")
    last = next((line for line in reversed(code_before) if line.strip()), "")
    if last and not _DIRECTIVE.match(last) and last.rstrip()[-1] not in ";{}":
        raise NotTaken(f"{path}: a block stands after line {len(before)}, in the middle of a statement")


def _check_block(path: str, text: list[str], lines: tuple[str, ...]) -> None:
    """Raise NotTaken for a block that is no whole statements, or that can leave the code around it."""
    if any(line.rstrip().endswith("\\") for line in lines):
        raise NotTaken(f"{path}: no line of a block may end with a backslash")
    body = [line for line, as_is in zip(text, lines, strict=True) if not _INCLUDE.fullmatch(as_is)]
    if odd := next((line.strip() for line in body if _DIRECTIVE.match(line)), None):
        raise NotTaken(f"{path}: {odd!r}: of directives a block may have #include <…> alone")
    whole = "\n".join(body)
    if (leaves := _LEAVES.search(whole)) is not None:
        raise NotTaken(f"{path}: a block may not have {leaves[0]!r}: the code around it goes on as it did")
    if _GOES_ON.match(whole):
        raise NotTaken(f"{path}: a block may not go on with a statement of the file")
    if not _balanced(whole) or (whole.strip() and whole.rstrip()[-1] not in ";}"):
        raise NotTaken(f"{path}: each block has to be whole statements or declarations")


def _balanced(text: str) -> bool:
    opened: list[str] = []
    for char in text:
        if char in "([{":
            opened.append(char)
        elif char in _PAIRS and (not opened or opened.pop() != _PAIRS[char]):
            return False
    return not opened


def _on_device(path: str, data: bytes, kernel: str) -> list[tuple[tuple[str, ...], str]]:
    """Return all declarations of code for the GPU, in their order."""
    text = data.decode("utf-8", "surrogateescape")
    return [(one.scope, one.bare) for one in units(path, text, kernel) if _DEVICE.search(one.bare)]
