"""Reads tests/cheats: attacks on kpd, and honest kernels that must not be taken for attacks.

A file of it is the kernel of a shipped task, below `LANGUAGE/CLASS/`; the class `honest` has no attacks. It begins with

    //: TASK [compiler flags]
    //: what it does; what that would win

(in Python and Triton `#:`) and may have `//: variant NAME DEFINE …` lines, each of which makes one kernel with these
macros defined. `//: use NAME` stands for `LANGUAGE/parts/NAME`. `@BAIT@` and the like stand for the folders of this
run: what an attack writes outside of its job goes there, or to files and processes that are named `@NAME@`, which has
eight characters.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "tests" / "cheats"
HONEST = "honest"
SUFFIX = {"c": ".c", "cuda": ".cu", "python": ".py", "triton": ".py"}
HEAD = {"c": "//:", "cuda": "//:", "python": "#:", "triton": "#:"}
ON_GPU = ("cuda", "triton")
_USE = re.compile(r"^(?://|#): use (\S+)$", re.MULTILINE)
_PLACE = re.compile(r"@[A-Z_]+@")


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of the corpus; `text` is its source, with the names of this run's folders still open."""

    language: str
    kind: str
    name: str
    task: str
    flags: str
    what: str
    text: str

    @property
    def honest(self) -> bool:
        return self.kind == HONEST

    def source(self, places: Mapping[str, str]) -> str:
        """Return the source for a run whose folders are `places`. Raises KeyError for a place that it does not have."""
        return _PLACE.sub(lambda found: places[found[0].strip("@")], self.text)

    def files(self, places: Mapping[str, str], editable: tuple[str, ...], original: str) -> dict[str, str]:
        """Return the files of the candidate; `original` is the task's own kernel, whose protected section stays."""
        files = {editable[0]: in_section(self.source(places), original)}
        if "build.json" in editable:
            files["build.json"] = json.dumps({"flags": self.flags})
        return files


def in_section(kernel: str, original: str) -> str:
    """Put a kernel in the place of that of a file in sections; any other file is all kernel."""
    if "KERNEL SECTION" not in original:
        return kernel
    begin, _, rest = original.partition("\n")
    return f"{begin}\n{kernel.rstrip()}\n{rest[rest.index('// ===== END KERNEL SECTION') :]}"


def load(language: str) -> list[Kernel]:
    """Return the whole corpus of a language, in the order of classes and names."""
    folder = CORPUS / language
    paths = sorted(folder.glob(f"*/*{SUFFIX[language]}"))
    return [kernel for path in paths if path.parent.name not in ("parts", "slow") for kernel in _read(language, path)]


def slowed(language: str, task: str) -> str | None:
    """Return a slower kernel of the task, against which honest ones are measured; None: its own is slow enough."""
    path = CORPUS / language / "slow" / f"{task}{SUFFIX[language]}"
    return _whole(language, path.read_text()) if path.exists() else None


def _read(language: str, path: Path) -> Iterator[Kernel]:
    lines = path.read_text().splitlines(keepends=True)
    mark = HEAD[language]
    is_head = [line.startswith(mark) and not _USE.match(line) for line in lines]
    heads = [line.removeprefix(mark).strip() for line, head in zip(lines, is_head, strict=True) if head]
    body = "".join(line for line, head in zip(lines, is_head, strict=True) if not head)
    if len(heads) < 2:
        raise ValueError(f"{path} does not begin with a task and with what it does")
    task, _, flags = heads[0].partition(" ")
    text = ("#define _GNU_SOURCE\n" if language == "c" else "") + _whole(language, body)
    one = Kernel(language, path.parent.name, path.stem, task, flags.strip(), heads[1], text)
    variants = [head.split()[1:] for head in heads[2:] if head.startswith("variant ")]
    if not variants:
        yield one
    for name, *defines in variants:
        macros = "".join(f"#define {define.replace('=', ' ', 1)}\n" for define in defines)
        yield replace(one, name=f"{one.name}_{name}", text=macros + one.text)


def _whole(language: str, text: str) -> str:
    """Put the parts in, each once."""
    seen: set[str] = set()

    def part(found: re.Match[str]) -> str:
        if found[1] in seen:
            return ""
        seen.add(found[1])
        return _USE.sub(part, (CORPUS / language / "parts" / (found[1] + SUFFIX[language])).read_text().rstrip())

    return _USE.sub(part, text)
