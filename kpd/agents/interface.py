"""Finds what the rest of a task calls in the editable files, and what of that a candidate has removed or changed.

A candidate has to keep only what was found in the incumbent, so a text that cannot be parsed demands nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kpd.source import modules
from kpd.source.functions import Function, functions
from kpd.source.text import language, parts
from kpd.workspace import sections
from kpd.workspace.paths import OutsideFolder, inside
from kpd.workspace.run_files import read_plain
from kpd.workspace.task import Task


@dataclass(frozen=True, slots=True)
class InterfaceFunction:
    """A function of the incumbent that others call: `of` are its definitions, `where` is the file that calls it."""

    name: str
    path: str
    where: str
    of: tuple[Function, ...]


def kernel_text(task: Task, files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the editable files as text.

    Of a file in sections only the kernel section is kept, on the same line numbers. Raises SectionError.
    """
    texts = {path: data.decode(errors="replace") for path, data in files.items()}
    if task.sectioned in texts:
        whole = sections.split(files[task.sectioned])
        lines = b"\n" * whole.before.count(b"\n")
        texts[task.sectioned] = (lines + whole.kernel).decode(errors="replace")
    return texts


def entries(task: Task, incumbent: Mapping[str, bytes]) -> tuple[InterfaceFunction, ...]:
    """Find the functions in C, C++ and CUDA that protected text declares or calls. Raises SectionError."""
    kernel = kernel_text(task, incumbent)
    known = [(path, each) for path, text in kernel.items() if language(path) == "c" for each in functions(path, text)]
    found: dict[str, InterfaceFunction] = {}
    for where, text in protected_text(task, incumbent).items():
        called = _called(where, text)
        for path, each in known:
            unseen = each.static and task.language != "cuda"  # CUDA compiles kernel and harness as one
            if each.name in called and each.defined and each.type and not each.member and not unseen:
                known_before = found.get(each.name, InterfaceFunction(each.name, path, where, ()))
                if each not in known_before.of:
                    found[each.name] = InterfaceFunction(each.name, path, known_before.where, (*known_before.of, each))
    return tuple(found.values())


def instances(task: Task, incumbent: Mapping[str, bytes]) -> tuple[str, ...]:
    """Find the explicit instantiations of templates in the incumbent."""
    kernel = kernel_text(task, incumbent)
    found = (each.instance for path, text in kernel.items() if language(path) == "c" for each in functions(path, text))
    return tuple(dict.fromkeys(filter(None, found)))


def lost_interface(task: Task, incumbent: Mapping[str, bytes], candidate: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a sentence for each thing that the candidate no longer offers as the incumbent did. Raises SectionError."""
    kernel = kernel_text(task, candidate)
    now = {path: functions(path, text) for path, text in kernel.items() if language(path) == "c"}
    called = entries(task, incumbent)
    for entry in called:
        yield from _lost(entry, [(path, each) for path, found in now.items() for each in found if each.defined])
    kept = {_words(each.instance) for found in now.values() for each in found}
    for instance in instances(task, incumbent):
        if _words(instance) not in kept and any(re.search(rf"\b{entry.name}\b", instance) for entry in called):
            yield f"the explicit instantiation `{instance};` is gone; others are linked with it, so keep it"
    yield from modules.broken(kernel_text(task, incumbent), kernel, protected_text(task, incumbent))


def protected_text(task: Task, incumbent: Mapping[str, bytes]) -> dict[str, str]:
    """Return the protected files that kpd can parse, headers first, and the text around a kernel section.

    Raises SectionError.
    """
    found = {}
    for path in sorted(filter(language, task.protected), key=lambda path: not path.endswith((".h", ".cuh", ".hpp"))):
        try:
            found[path] = read_plain(inside(task.folder, path)).decode(errors="replace")
        except (OSError, OutsideFolder):
            continue  # the build finds that it is missing
    if task.sectioned in incumbent:
        whole = sections.split(incumbent[task.sectioned])
        found["the harness section"] = (whole.before + whole.after).decode(errors="replace")
    return found


def _called(where: str, text: str) -> set[str]:
    """Find names that are called or declared, or that fill a whole literal, except those defined in the same text."""
    path = where if language(where) else "section.cu"
    named: set[str] = set()
    for kind, part in parts(path, text):
        if kind == "code":
            named |= set(re.findall(r"\b([A-Za-z_]\w*)\s*(?:<[\w\s:,*]{0,80}>\s*)?(?:\(|<<<)", part))
        elif kind == "literal":
            named.add(part.strip("\"'"))
    own = {each.name for each in functions(path, text) if each.defined} if language(path) == "c" else set()
    return named - own


def _lost(entry: InterfaceFunction, now: list[tuple[str, Function]]) -> Iterator[str]:
    same = [(path, each) for path, each in now if each.name == entry.name]
    if not same:
        yield f"{entry.path} no longer defines `{entry.name}`, which {entry.where} needs: keep `{entry.of[0]}`"
        return
    scopes = {each.scope for each in entry.of}
    path, other = same[0]
    there = [(path, each) for path, each in same if each.scope in scopes or each.broken]
    if not there:
        yield (
            f"{path}:{other.line}: `{entry.name}` stands {_scope(other.scope)}, but {entry.where} looks for it "
            f"{_scope(entry.of[0].scope)}"
        )
        return
    types = {each.type for each in entry.of}
    if not any(each.type is None or each.type in types for _, each in there):
        path, other = there[0]
        yield f"{path}:{other.line}: the signature is `{_head(other)}`, but {entry.where} needs `{_head(entry.of[0])}`"


def _head(function: Function) -> str:
    return f"template <{' '.join(function.template.split())}> {function}" if function.template else str(function)


def _scope(scope: tuple[str, ...]) -> str:
    return f"in namespace {'::'.join(name or '(unnamed)' for name in scope)}" if scope else "outside any namespace"


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+|[^\s\w]", text))
