"""Makes a kernel's source compile on its own with nvcc: one file, with CUDA's own keywords."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kpd.source.text import code, parts
from kpd.workspace import sections
from kpd.workspace.paths import WorkspaceError
from kpd.workspace.run_files import read_plain

MOST_BYTES = 1 << 20
DEEPEST = 20
# Attributes that CUDA's headers expand __device__ and so on to, and those of other compilers. nvcc refuses some of
# them in a source, because their words are macros of its own.
_SPACES = ("constant", "device", "global", "host", "managed", "shared")
# Attributes of GCC for a host's CPU, which mean nothing on a GPU, or which nvcc refuses or warns about.
_HOST_ONLY = frozenset((
    "artificial", "cold", "externally_visible", "flatten", "gnu_inline", "hot", "ifunc", "leaf", "no_icf",
    "no_instrument_function", "no_profile_instrument_function", "no_reorder", "no_sanitize", "no_sanitize_address",
    "no_sanitize_undefined", "no_split_stack", "no_stack_protector", "noclone", "noipa", "optimize", "optnone",
    "simd", "stack_protect", "target", "target_clones", "zero_call_used_regs",
))  # fmt: skip
_BALANCED = r"(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\))*+"
_FOREIGN = re.compile(
    rf"\b__attribute(?:__)?\s*\(\s*\((?P<attributes>{_BALANCED})\)\s*\)"
    r"|\b__declspec\s*\(\s*(?P<declspec>\w+)\s*\)"
    # A device variable that another file defines: in a file of its own, it must be defined here.
    r"|\b(?:extern\s+)+(?P<variable>__constant__|__device__)\b(?=[^(;{=]*+[;{=])"
)
_INCLUDED = re.compile(
    r'^[ \t]*(?P<directive>#)[ \t]*(?:include[ \t]*(?:"(?P<name>[^"\n]+)"|<(?P<system>[^>\n]+)>)|pragma[ \t]+once\b)'
    r"(?:[^\n\\]|\\[\s\S])*+",
    re.MULTILINE,
)
_MAIN = re.compile(r"^(?![ \t]*#).*\b(?:int|auto|void)\s+main\s*\(", re.MULTILINE)


Folders = tuple[Path, ...]
"""Where a compiler looks for headers, beside the folder of the source."""


class SourceError(WorkspaceError):
    """A source that cannot be used; the message names it, and the remedy says what to change."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The text that becomes the kernel section, the changes made to it, and the headers left to the compiler."""

    text: str
    changes: tuple[str, ...]
    external: tuple[str, ...]


def read_source(path: Path) -> str:
    """Read a source file, with newlines as line ends. Raises SourceError."""
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
    """Find the file of an include in quotes, relative to one of these folders; None where there is none."""
    found = (folder / name for folder in folders)
    return next((path for path in found if path.is_file()), None) if not Path(name).is_absolute() else None


def included(text: str) -> list[tuple[str, bool]]:
    """Return what a source includes, each with whether it stands in quotes."""
    masked, found = _masked(text), _INCLUDED.finditer(code("k.cu", text, literals=True))
    return [
        (one["name"] or one["system"], bool(one["name"]))
        for one in found
        if (one["name"] or one["system"]) and masked[one.start("directive")] == "#"
    ]


def preprocess(path: Path, folders: Folders = (), head: str = "") -> Prepared:
    """Return the source with the project's own headers inserted, so that it compiles by itself. Raises SourceError.

    Headers are found beside the source and in `folders`; those that are nowhere are left to the compiler. `head` comes
    before the text.
    """
    flat = _Flat(path, folders)
    flat.add(path, 0)
    text, changes = standalone(head + "".join(flat.text))
    if sections.marked(text.encode()):
        raise SourceError(f"{path}: has a line that marks a section of a task", "take it out: kpd writes them")
    if main := _MAIN.search(_masked(text)):
        raise SourceError(
            f"{path}: has a main() of its own, in its line {line_of(text, main.end())} with all headers in it",
            "leave it out: kpd's driver has one",
        )
    return Prepared(text, (*flat.changes, *changes), tuple(flat.external))


def standalone(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace attributes by CUDA's own words for memory and functions; return the text and the changes.

    Doing it again changes nothing.
    """
    changes: list[str] = []
    out, at = [], 0
    for found in _FOREIGN.finditer(_masked(text)):
        old = text[found.start() : found.end()]
        new = _own_words(found, text)
        if new is None or new == old:
            continue
        changes.append(f"line {line_of(text, found.start())}: {' '.join(old.split())} is {new or 'left out'}")
        apart = " " if new and re.match(r"[\w\"']", text[found.end() :]) else ""
        out += [text[at : found.start()], new, apart]
        at = found.end()
    whole = "".join([*out, text[at:]])
    return (whole if not whole or whole.endswith("\n") else whole + "\n"), tuple(changes)


def line_of(text: str, at: int) -> int:
    """Return the line, from 1, that an offset is in."""
    return text.count("\n", 0, at) + 1


def _masked(text: str) -> str:
    """Return the text with blanks for its comments and quotes for its literals, of the same length and lines."""
    return "".join(
        part if kind == "code" else re.sub(r"[^\n]", " " if kind == "comment" else '"', part)
        for kind, part in parts("k.cu", text)
    )


def _own_words(found: re.Match[str], text: str) -> str | None:
    """Return CUDA's words for an attribute; None where it stays as it is."""
    if found["variable"] or found["declspec"]:
        name = (found["variable"] or found["declspec"]).strip("_")
        return f"__{name}__" if name in _SPACES else None
    words, kept = [], []
    for part in re.finditer(rf"(?:[^(),]|\({_BALANCED}\))+", found["attributes"]):
        begin = found.start("attributes")
        told = " ".join(text[begin + part.start() : begin + part.end()].split())
        name, bracket, rest = told.partition("(")
        name = name.strip().strip("_")
        if name in _SPACES:
            words.append(f"__{name}__")
        elif name == "launch_bounds":
            words.append(f"__launch_bounds__{bracket}{rest}")
        elif name and name not in _HOST_ONLY:
            kept.append(told)
    return " ".join([*words, *([f"__attribute__(({', '.join(kept)}))"] if kept else [])])


class _Flat:
    """A source and the headers beside it as one text, each header once."""

    def __init__(self, path: Path, folders: Folders) -> None:
        self.text: list[str] = []
        self.changes: list[str] = []
        self.external: list[str] = []
        self._home = path.parent
        self._folders = folders
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
        at, masked = 0, _masked(source)
        for found in _INCLUDED.finditer(code(path.name, source, literals=True)):
            if masked[found.start("directive")] != "#":
                continue  # it stands in a literal
            self.text.append(source[at : found.start("directive")])
            at = found.end()
            if found["name"] or found["system"]:
                self._include(path, source, found, depth)
        rest = source[at:]
        self.text.append(rest if not rest or rest.endswith("\n") else rest + "\n")

    def _include(self, path: Path, source: str, directive: re.Match[str], depth: int) -> None:
        name, own = directive["name"] or directive["system"], bool(directive["name"])
        found = beside(name, (*((path.parent, self._home) if own else ()), *self._folders))
        if found is None:
            if own:
                self.external.append(name)
            self.text.append(source[directive.start("directive") : directive.end()])
            return
        if found.resolve() in self._seen:
            self.text.append(f"// {name} stands above")
            return
        self.changes.append(f"{path.name}:{line_of(source, directive.start('directive'))}: {name} is inserted as text")
        self.text.append(f"// from {name}\n")
        self.add(found, depth + 1)
