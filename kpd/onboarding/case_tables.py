"""Reads the cases of a harness section from its text: `kpd_case` tables and the names of their dims."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kpd.source.expressions import items
from kpd.source.names import SourceNames
from kpd.source.scopes import Binding
from kpd.source.source import Source
from kpd.source.values import Array, StructValue, Unknown, integer, kind_of

MOST_CASES = 16
MOST_DIMS = 8
_FIELDS = ("name", "dims", "use", "grid", "block")
_USES = {"KPD_CHECK_AND_TIME": "both", "KPD_CHECK_ONLY": "check", "KPD_TIME_ONLY": "time"}
Use = Literal["both", "check", "time"]


class UnreadableCases(Exception):
    """A harness whose cases cannot be read; the text says what to write."""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case as written in the table. `dims` has only the given ones, `grid` and `block` have all three sizes."""

    name: str
    dims: tuple[int, ...]
    use: Use
    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def record(self) -> StructValue:
        """The value that `const kpd_case *c` points to."""
        dims = (*self.dims, *([0] * (MOST_DIMS - len(self.dims))))
        return StructValue({"dims": Array(dims), "grid": Array(self.grid), "block": Array(self.block)})


@dataclass(frozen=True, slots=True)
class Described:
    """The cases of a harness, and the names of the dims in kpd_task."""

    cases: tuple[CaseRow, ...]
    dims: tuple[str, ...]


def described(source: Source) -> Described:
    """Read the cases and dims of a harness. Raises UnreadableCases."""
    return Described(tuple(_cases(source)), _dims(source))


def _cases(source: Source) -> Iterator[CaseRow]:
    found = list(_tables(source, "kpd_case [ ]"))
    if len(found) != 1:
        raise UnreadableCases(f"write one table `static const kpd_case cases[] = {{…}};`, not {len(found)}")
    rows = _parts(found[0].value, f"the table {found[0].name} cannot be read")
    if not 1 <= len(rows) <= MOST_CASES:
        raise UnreadableCases(f"the table of cases has {len(rows)} of them; 1 to {MOST_CASES} are possible")
    seen = set()
    for row in rows:
        case = _case(SourceNames(source, found[0].at), row)
        if case.name in seen:
            raise UnreadableCases(f"two cases have the name {case.name}")
        seen.add(case.name)
        yield case


def _tables(source: Source, type: str) -> Iterator[Binding]:
    """Yield the variables of this type whose value is a list in braces."""
    for scope in source.top.everything():
        for group in scope.bindings.values():
            yield from (one for one in group if kind_of(one.type) == type and one.value.startswith("{"))


def _parts(text: str, otherwise: str) -> list[str]:
    """Split a list in braces. Raises UnreadableCases for anything else."""
    try:
        return items(text)
    except Unknown as err:
        raise UnreadableCases(f"{otherwise}: {err}") from err


def _case(names: SourceNames, row: str) -> CaseRow:
    given = _fields(_parts(row, f"the case {row} must be written in braces"))
    name = given.get("name", "").replace('" "', "").strip('"')
    if not name.isidentifier() and not name.replace("-", "_").replace(".", "_").replace("_", "a").isalnum():
        raise UnreadableCases(f"the case {row} must begin with its name, of letters, digits, _, - and .")
    word = given.get("use", "")
    if word and word not in _USES:
        raise UnreadableCases(f"the use of case {name} must be one of {', '.join(_USES)}")
    use: Use = _USES[word] if word else "both"  # type: ignore[assignment]
    try:
        dims = _numbers(names, given.get("dims", ""), MOST_DIMS)
        grid, block = (_size(names, given.get(what, "")) for what in ("grid", "block"))
    except Unknown as err:
        raise UnreadableCases(f"the sizes of case {name} cannot be read; write plain numbers: {err}") from err
    return CaseRow(name, dims, use, grid, block)


def _fields(row: list[str]) -> dict[str, str]:
    found = {}
    for place, part in enumerate(row):
        named, equals, value = part.partition("=")
        if named.startswith(".") and equals:
            found[named[1:].strip()] = value.strip()
        elif place < len(_FIELDS):
            found[_FIELDS[place]] = part
    return found


def _size(names: SourceNames, text: str) -> tuple[int, int, int]:
    """Read a size, with 0 where one is left out. Raises Unknown."""
    x, y, z, *_ = (*_numbers(names, text, 3), 0, 0, 0)
    return x, y, z


def _numbers(names: SourceNames, text: str, most: int) -> tuple[int, ...]:
    """Evaluate a list of at most `most` whole numbers. Raises Unknown."""
    parts = items(text) if text else []
    if len(parts) > most:
        raise Unknown(f"{text} has more than {most} numbers")
    return tuple(integer(names.value(part)) for part in parts)


def _dims(source: Source) -> tuple[str, ...]:
    found = list(_tables(source, "kpd_task_t"))
    if len(found) != 1:
        raise UnreadableCases(
            "define `const kpd_task_t kpd_task = {…};` once, with the names of the dims as its second field"
        )
    parts = _parts(found[0].value, "kpd_task cannot be read")
    named = next((part.partition("=")[2] for part in parts if part.replace(" ", "").startswith(".dims=")), None)
    dims = named if named is not None else parts[1] if len(parts) > 1 else ""
    wanted = 'the second field of kpd_task must be the names of the dims, as in {"rows", "cols"}'
    names = _parts(dims.strip(), wanted)
    if not all(name.startswith('"') and name.endswith('"') for name in names):
        raise UnreadableCases(wanted)
    return tuple(name[1:-1] for name in names)
