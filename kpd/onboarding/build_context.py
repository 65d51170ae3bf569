"""Reads how a project compiles a kernel's source: where it looks for headers, its macros, and its other options."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kpd.onboarding.preprocess import Folders, SourceError

_MACRO = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KINDS = {"-I": "folder", "-isystem": "folder", "--include-path": "folder", "-D": "define", "--define-macro": "define",
          "-U": "undef", "--undefine-macro": "undef"}  # fmt: skip
_OPTION = re.compile(rf"({'|'.join(sorted(_KINDS, key=len, reverse=True))})=?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BuildContext:
    """A compiler's options: `folders` are those of headers, `macros` lines of source, `flags` all other options."""

    folders: Folders = ()
    macros: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """The lines that stand for the macros at the head of a source."""
        return "".join(f"{line}\n" for line in self.macros)


PLAIN = BuildContext()


def build_context(words: Sequence[str], home: Path = Path()) -> BuildContext:
    """Sort the options of a command line, whose folders are relative to `home`. Raises SourceError."""
    found: dict[str, list[str]] = {"folder": [], "macro": [], "flag": []}
    for kind, value in _options(words):
        match kind:
            case "define":
                found["macro"].append(_defined(value))
            case "undef":
                found["macro"].append(f"#undef {_name(value, value)}")
            case _:
                found[kind].append(value)
    return BuildContext(tuple(home / folder for folder in found["folder"]), tuple(found["macro"]), tuple(found["flag"]))


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = iter(words)
    for word in rest:
        match = _OPTION.fullmatch(word)
        if match is None:
            yield "flag", word
            continue
        value = match[2] or next(rest, "")
        if not value:
            raise SourceError(f"the flag {word} says nothing", "correct flags of the project")
        yield _KINDS[match[1]], value


def _defined(value: str) -> str:
    name, equals, text = value.partition("=")
    if "\n" in text or "\\" in text:
        raise SourceError(f"-D{name} has a value that is not one line of code", "define it in a header")
    return f"#define {_name(name, value)} {text if equals else '1'}".rstrip()


def _name(name: str, whole: str) -> str:
    if not _MACRO.fullmatch(name):
        raise SourceError(f"{whole!r} defines no plain macro", "write -DNAME or -DNAME=value")
    return name
