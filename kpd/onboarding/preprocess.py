"""A kernel's source as nvcc takes it on its own: one file, with CUDA's words where a compiler's own spelling stood."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kpd.source.tokens import Token, closing, spelled, split, tokenize
from kpd.workspace import sections
from kpd.workspace.paths import WorkspaceError
from kpd.workspace.runfolder import read_plain

MOST_BYTES = 1 << 20
DEEPEST = 20
# What CUDA's own headers make of __device__ and so on, and what other compilers take. nvcc refuses some of these as
# text: the words in them are macros of its own.
_SPACES = ("constant", "device", "global", "host", "managed", "shared")
# Attributes of GCC for a host's CPU, which say nothing of a GPU, or which nvcc refuses or warns of.
_HOST_ONLY = frozenset((
    "artificial", "cold", "externally_visible", "flatten", "gnu_inline", "hot", "ifunc", "leaf", "no_icf",
    "no_instrument_function", "no_profile_instrument_function", "no_reorder", "no_sanitize", "no_sanitize_address",
    "no_sanitize_undefined", "no_split_stack", "no_stack_protector", "noclone", "noipa", "optimize", "optnone",
    "simd", "stack_protect", "target", "target_clones", "zero_call_used_regs",
))  # fmt: skip
_INCLUDE = re.compile(r'#\s*include\s*"([^"\n]+)"')
_DEFINE = re.compile(r"#\s*define\b")
_ONCE = re.compile(r"#\s*pragma\s+once\b")


class SourceError(WorkspaceError):
    """A source cannot be used; the message names it, and the remedy says what to change."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The text that becomes the kernel section, what was changed for it, and the headers that are the compiler's."""

    text: str
    changes: tuple[str, ...]
    external: tuple[str, ...]


def read_source(path: Path) -> str:
    """The text of a source, its lines ended by newlines. Raises SourceError."""
    try:
        raw = read_plain(path)
    except OSError as err:
        raise SourceError(f"{path}: cannot be read: {err.strerror or err}", "name a source file") from err
    if len(raw) > MOST_BYTES:
        raise SourceError(f"{path}: larger than {MOST_BYTES >> 20} MiB", "is this the right file?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = raw[: err.start].count(b"\n") + 1
        raise SourceError(f"{path}:{line}: not UTF-8", "save the file as UTF-8") from err
    if "\0" in text:
        raise SourceError(f"{path}: has a zero byte in it", "is this the right file?")
    return text.replace("\r\n", "\n")


def beside(name: str, folders: Sequence[Path]) -> Path | None:
    """The file that an include in quotes means: in one of these folders, or below it or above it as the name says."""
    found = (folder / name for folder in folders)
    return next((path for path in found if path.is_file()), None) if not Path(name).is_absolute() else None


def preprocess(path: Path) -> Prepared:
    """The source with the project's own headers in it, fit to stand alone. Raises SourceError."""
    flat = _Flat(path)
    flat.add(path, 0)
    text, changes = standalone("".join(flat.text))
    if sections.marked(text.encode()):
        raise SourceError(f"{path}: has a line that marks a section of a task", "take it out: kpd writes them")
    if main := _main(text):
        raise SourceError(
            f"{path}: has a main() of its own, in its line {main} with all headers in it",
            "leave it out: kpd's driver has one",
        )
    return Prepared(text, (*flat.changes, *changes), tuple(flat.external))


def standalone(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with CUDA's own words for memory and functions, and what was changed. Doing it again changes nothing."""
    tokens = list(_with_macros(text))
    edits: list[tuple[int, int, str]] = []
    changes: list[str] = []
    at = 0
    while at < len(tokens):
        edit = _attribute(tokens, at) or _declspec(tokens, at) or _extern(tokens, at)
        if edit is not None:
            end, new = edit
            old = text[tokens[at].start : tokens[end - 1].end]
            if old != new:
                edits.append((tokens[at].start, tokens[end - 1].end, new))
                changes.append(f"line {tokens[at].line}: {' '.join(old.split())} is {new or 'left out'}")
            at = end
        else:
            at += 1
    for start, end, new in reversed(edits):
        apart = " " if new and re.match(r"[\w\"']", text[end:]) else ""
        text = text[:start] + new + apart + text[end:]
    return (text if not text or text.endswith("\n") else text + "\n"), tuple(changes)


def _with_macros(text: str) -> Iterator[Token]:
    """The tokens of the text, and of what its macros stand for."""
    for token in tokenize(text):
        if token.kind == "directive" and _DEFINE.match(token.text):
            yield from tokenize(text[: token.end], token.file, token.start + 1, token.line, directives=False)
        else:
            yield token


def _attribute(tokens: Sequence[Token], at: int) -> tuple[int, str] | None:
    """The end of `__attribute__((…))` at `at`, and what stands there instead."""
    if tokens[at].text not in ("__attribute__", "__attribute") or [t.text for t in tokens[at + 1 : at + 3]] != [
        "(",
        "(",
    ]:
        return None
    end = closing(tokens, at + 1) + 1
    if end > len(tokens):
        return None
    words, kept = [], []
    for part in split(tokens[at + 3 : end - 2]):
        name = part[0].text.strip("_") if part else ""
        if name in _SPACES:
            words.append(f"__{name}__")
        elif name == "launch_bounds":
            words.append("__launch_bounds__" + spelled(part[1:]))
        elif name not in _HOST_ONLY and part:
            kept.append(spelled(part))
    return end, " ".join([*words, *([f"__attribute__(({', '.join(kept)}))"] if kept else [])])


def _declspec(tokens: Sequence[Token], at: int) -> tuple[int, str] | None:
    """The same for `__declspec(__constant__)`, as CUDA's headers have it for another host compiler."""
    if tokens[at].text != "__declspec" or at + 3 >= len(tokens) or tokens[at + 3].text != ")":
        return None
    name = tokens[at + 2].text.strip("_")
    return (at + 4, f"__{name}__") if name in _SPACES else None


def _extern(tokens: Sequence[Token], at: int) -> tuple[int, str] | None:
    """A variable on the device that another file defines: alone, it is defined here."""
    if tokens[at].text != "extern" or at + 1 >= len(tokens):
        return None
    word = tokens[at + 1].text
    name = at + 1
    while name < len(tokens) and tokens[name].text not in ("(", ";", "{", "="):
        name += 1
    variable = name < len(tokens) and tokens[name].text != "("
    return (at + 2, word) if word in ("__constant__", "__device__") and variable else None


def _main(text: str) -> int:
    """The line of a function named main, 0 without one."""
    tokens = tokenize(text)
    for at in range(1, len(tokens) - 1):
        if tokens[at].text == "main" and tokens[at - 1].text in ("int", "auto", "void") and tokens[at + 1].text == "(":
            return tokens[at].line
    return 0


class _Flat:
    """A source and the headers beside it as one text, each header once."""

    def __init__(self, path: Path) -> None:
        self.text: list[str] = []
        self.changes: list[str] = []
        self.external: list[str] = []
        self._home = path.parent
        self._seen: set[Path] = set()
        self._bytes = 0

    def add(self, path: Path, depth: int) -> None:
        if depth > DEEPEST:
            raise SourceError(f"{path}: headers are nested more than {DEEPEST} deep", "does one include itself?")
        self._seen.add(path.resolve())
        source = read_source(path)
        self._bytes += len(source)
        if self._bytes > MOST_BYTES:
            raise SourceError(f"{path}: with its headers larger than {MOST_BYTES >> 20} MiB", "give a smaller source")
        at = 0
        for token in tokenize(source, path.name):
            if token.kind != "directive":
                continue
            include = _INCLUDE.match(token.text)
            once = _ONCE.match(token.text)
            if include is None and once is None:
                continue
            self.text.append(source[at : token.start])
            at = token.end
            if once is not None:
                continue
            self._include(path, token, include[1] if include else "", depth)
        rest = source[at:]
        self.text.append(rest if not rest or rest.endswith("\n") else rest + "\n")

    def _include(self, path: Path, token: Token, name: str, depth: int) -> None:
        found = beside(name, (path.parent, self._home))
        if found is None:
            self.external.append(name)
            self.text.append(token.text)
            return
        if found.resolve() in self._seen:
            self.text.append(f"// {name} stands above")
            return
        self.changes.append(f"{token.place}: {name} stands there as text")
        self.text.append(f"// from {name}\n")
        self.add(found, depth + 1)
