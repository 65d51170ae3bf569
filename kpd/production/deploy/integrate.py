"""Puts an accepted kernel back into its production file, and refuses what it would change beside that. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kpd.model.deployments import Forbidden
from kpd.production.deploy.units import Unit, definitions, units
from kpd.source.functions import Function, functions
from kpd.source.text import code, language
from kpd.text.patches import patch
from kpd.workspace import sections

HEADERS = (".h", ".hpp", ".cuh")
"""Of files that can have a kernel those that others include: who sees their macros is not known."""
_NEVER = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[ \t]+(?:0|false)\b", re.MULTILINE)
_DEFINED = re.compile(r"#\s*define\s+(\w+)")
_SYSTEM = re.compile(r"#\s*include\s*<[^>\n]+>\s*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_OBJECT = re.compile(r"(?:static|inline|constexpr|const|extern|using|typedef|__constant__|__device__|__shared__)\b")
_LINKED = re.compile(r"\bstatic\b|\binline\b|\bconstexpr\b|\b__device__\b|^template\b")


class NotIntegrated(Exception):
    """The error that a kernel cannot be put back as it is: what is forbidden, and the name that it is about."""

    def __init__(self, what: Forbidden, name: str) -> None:
        super().__init__(f"{what}: {name}")
        self.what: Forbidden = what
        self.name = name


@dataclass(frozen=True, slots=True)
class Integrated:
    """A production file with the accepted kernel in it; `beside` are the files that may see what it defines."""

    path: str
    before: bytes
    after: bytes
    beside: Mapping[str, bytes]

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = ({self.path: text.decode(errors="replace")} for text in (self.before, self.after))
        return "".join(patch(old, new))


def integrate(
    production: Mapping[str, bytes],
    kernel: str,
    baseline: Mapping[str, bytes],
    candidate: Mapping[str, bytes],
    context: Mapping[str, bytes],
) -> Integrated:
    """Replace the kernel in the one production file that defines it, and add what is new beside it in the candidate.

    `baseline` are the editable files that the run began with, `candidate` those of the accepted iteration, `context`
    other files of the program. Raises NotIntegrated, SectionError.
    """  # fmt: skip
    path, old_text, old = _only({name: _text(data) for name, data in production.items()}, kernel, "not_found")
    own, base_text, base = _only(_kernels(baseline), kernel, "no_kernel")
    _, new_text, new = _only(_kernels(candidate), kernel, "no_kernel")
    others = {name for name in {*baseline, *candidate} - {own} if baseline.get(name) != candidate.get(name)}
    if others:
        raise NotIntegrated("other_file", min(others))
    if _dense(old) != _dense(base):
        raise NotIntegrated("not_the_baseline", path)
    known = {unit.bare for unit in units(own, base_text, kernel)}
    added = [one for one in units(own, new_text, kernel) if one.bare not in known and one != new]
    rest = code(path, old_text[: old.start] + old_text[old.end :])
    added = [one for one in added if not (_SYSTEM.fullmatch(one.bare + " ") and one.bare in " ".join(old_text.split()))]
    _check_kernel(own, (base_text, base), (new_text, new), kernel)
    there = units(path, old_text, kernel)
    beside = {name: data for name, data in {**context, **production}.items() if name != path}
    macros = {}
    if not path.endswith(HEADERS):
        seen = "\n".join((rest, *map(_text, beside.values())))
        macros = {unit: found for unit in added if (found := _own_macro(unit, there, known, seen, old)) is not None}
    for unit in added:
        _check_added(unit, "" if unit in macros else rest)
    text = _merged(old_text, there, old, new_text, new, added, macros)
    if text == old_text:
        raise NotIntegrated("same", kernel)
    return Integrated(path, production[path], text.encode("utf-8", "surrogateescape"), beside)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _dense(unit: Unit) -> str:
    """Return a text without blanks around its marks: how it is laid out makes no difference."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", unit.bare)


def _kernels(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the text of each editable file, of one in sections only that of the kernel."""
    return {name: _text(sections.split(data).kernel if sections.marked(data) else data) for name, data in files.items()}


def _only(texts: Mapping[str, str], kernel: str, missing: Forbidden) -> tuple[str, str, Unit]:
    """Return the path and text of the only definition of the kernel, and the definition. Raises NotIntegrated."""
    found = [
        (path, text, unit)
        for path, text in texts.items()
        if language(path) == "c"
        for unit in definitions(units(path, text, kernel), kernel)
    ]
    if len(found) != 1:
        raise NotIntegrated(missing if not found else "ambiguous", kernel)
    return found[0]


def _check_kernel(path: str, old: tuple[str, Unit], new: tuple[str, Unit], kernel: str) -> None:
    """Raise NotIntegrated for what no kernel may change: its interface, or that it does its work."""
    before, after = (_function(path, text, unit, kernel) for text, unit in (old, new))
    interface = [(one.type, one.template, one.static, one.scope) for one in (before, after)]
    if interface[0] != interface[1] or before.type is None:
        raise NotIntegrated("signature", kernel)
    if old[1].scope != new[1].scope:
        raise NotIntegrated("exported", kernel)
    if after.empty:
        raise NotIntegrated("emptied", kernel)
    if new[1].returns_early and not old[1].returns_early:
        raise NotIntegrated("early_return", kernel)
    if _NEVER.search(code(path, new[0])) and not _NEVER.search(code(path, old[0])):
        raise NotIntegrated("if_0", kernel)
    if new[1].broken and not old[1].broken:
        raise NotIntegrated("unreadable", kernel)


def _function(path: str, text: str, unit: Unit, kernel: str) -> Function:
    lines = range(text.count("\n", 0, unit.start) + 1, text.count("\n", 0, unit.end) + 2)
    for one in functions(path, text):
        if one.name == unit.name and one.defined and one.line in lines:
            return one
    raise NotIntegrated("unreadable", kernel)


def _check_added(unit: Unit, rest: str) -> None:
    """Raise NotIntegrated for a declaration that would change more of the production file than the kernel."""
    shown = unit.name or unit.bare[:60]
    if unit.broken or unit.kind.startswith(("preproc_if", "preproc_el")):
        raise NotIntegrated("unreadable", shown)
    if "__global__" in unit.bare:
        raise NotIntegrated("other_kernel", shown)
    if unit.returns_early or (unit.name and re.search(r"\)[^{;]*\{\s*\}$", unit.bare)):
        raise NotIntegrated("early_return" if unit.returns_early else "emptied", shown)
    if unit.kind.startswith("preproc_") and not (_SYSTEM.fullmatch(unit.bare + " ") or _DEFINED.match(unit.bare)):
        raise NotIntegrated("directive", shown)
    for name in _declared(unit):
        if re.search(rf"\b{re.escape(name)}\b", rest):
            raise NotIntegrated("other_code", name)
    exports = unit.name and not _LINKED.search(unit.bare.partition("(")[0])
    exports = exports or (unit.kind == "declaration" and not _OBJECT.match(unit.bare))
    if "" not in unit.scope and (exports or "extern" in unit.scope or unit.bare.startswith("extern ")):
        raise NotIntegrated("exported", shown)


def _own_macro(unit: Unit, there: Sequence[Unit], known: set[str], seen: str, kernel: Unit) -> Unit | None:
    """Return the production file's macro that a macro of the candidate replaces; None where it is not the kernel's own.

    It is the kernel's own where the run began with it as it is there, the kernel uses it, and nothing else can see it:
    neither other code of the file or of those beside it, which is `seen`, nor a file that is included after it.
    """
    name = found[1] if (found := _DEFINED.match(unit.bare)) else None
    same = [one for one in there if (found := _DEFINED.match(one.bare)) and found[1] == name]
    if name is None or len(same) != 1 or same[0].bare not in known or same[0].start > kernel.start:
        return None
    included = any(one.kind == "preproc_include" and one.start > same[0].start for one in there)
    word = re.compile(rf"\b{re.escape(name)}\b")
    own = word.search(kernel.bare) is not None and len(word.findall(seen)) == 1
    return same[0] if own and not included else None


def _declared(unit: Unit) -> Iterator[str]:
    """Yield the name that a declaration brings: a function's, a macro's, a type's or an object's."""
    if unit.name:
        yield unit.name
    elif found := _DEFINED.match(unit.bare):
        yield found[1]
    elif not unit.kind.startswith("preproc_"):
        head = re.split(r"[={\[(;]", unit.bare, maxsplit=1)[0]
        yield from _WORD.findall(head)[-1:]


def _merged(
    old_text: str, there: Sequence[Unit], old: Unit, new_text: str, new: Unit, added: Iterable[Unit],
    macros: Mapping[Unit, Unit],
) -> str:  # fmt: skip
    """Return the production text with the new kernel and its own macros, the new declarations before it, and includes
    after those of the file.
    """  # fmt: skip
    includes = "".join(f"{one.bare}\n" for one in added if _SYSTEM.fullmatch(one.bare + " "))
    helpers = [one for one in added if not _SYSTEM.fullmatch(one.bare + " ") and one not in macros]
    own = "".join(f"{new_text[one.start : one.end].strip()}{_semicolon(new_text, one)}\n\n" for one in helpers)
    edits = [(old.start, old.end, new_text[new.start : new.end]), (old.opens, old.opens, own)]
    for mine, theirs in macros.items():
        length = len(old_text[theirs.start : theirs.end].rstrip())  # the grammar's directive has its end of line
        edits.append((theirs.start, theirs.start + length, new_text[mine.start : mine.end].rstrip()))
    if includes:
        at = _after_includes(old_text, there, old)
        edits.append((at, at, includes))
    for start, end, text in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        old_text = old_text[:start] + text + old_text[end:]
    return old_text


def _after_includes(text: str, there: Sequence[Unit], kernel: Unit) -> int:
    """Return where a line with an include can begin: after the last one before the kernel, or before all code.

    What stands at the top of a file, a comment, a #pragma, a macro that includes depend on, stays there.
    """
    outside = [unit for unit in there if not unit.scope and unit.opens < kernel.opens]
    for unit in reversed(outside):
        if unit.kind == "preproc_include":
            return text.find("\n", unit.start) + 1
    first = next((unit for unit in there if not unit.kind.startswith("preproc_")), kernel)
    return text.rfind("\n", 0, min(first.opens, kernel.opens)) + 1


def _semicolon(text: str, unit: Unit) -> str:
    """Return the semicolon after a type, which the grammar has beside it."""
    after = text[unit.end :].lstrip()
    return ";" if after.startswith(";") and not unit.bare.endswith(";") else ""
