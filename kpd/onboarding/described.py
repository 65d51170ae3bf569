"""The cases that a harness section describes, read from its text: `kpd_case` tables and the names of their dims."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kpd.onboarding.names import Names
from kpd.onboarding.source import Source
from kpd.onboarding.tokens import Token, closing, spelled, split
from kpd.onboarding.values import Array, Record, Unknown, integer

MOST_CASES = 16
MOST_DIMS = 8
_FIELDS = ("name", "dims", "use", "grid", "block")
_USES = {"KPD_CHECK_AND_TIME": "both", "KPD_CHECK_ONLY": "check", "KPD_TIME_ONLY": "time"}
Use = Literal["both", "check", "time"]


class Unreadable(Exception):
    """The harness does not describe its cases in a way that can be read; the text says what to write."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case as it stands in the table. `dims` has only those that are given, `grid` and `block` all three sizes."""

    name: str
    dims: tuple[int, ...]
    use: Use
    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def record(self) -> Record:
        """What `const kpd_case *c` points to."""
        dims = (*self.dims, *([0] * (MOST_DIMS - len(self.dims))))
        return Record({"dims": Array(dims), "grid": Array(self.grid), "block": Array(self.block)})


@dataclass(frozen=True, slots=True)
class Described:
    """The cases, and the names of the dims in kpd_task."""

    cases: tuple[Case, ...]
    dims: tuple[str, ...]


def described(source: Source) -> Described:
    """Raises Unreadable."""
    return Described(tuple(_cases(source)), _dims(source))


def _cases(source: Source) -> Iterator[Case]:
    found = list(_tables(source, "kpd_case"))
    if len(found) != 1:
        raise Unreadable(f"write one table `static const kpd_case cases[] = {{…}};`, not {len(found)}")
    at, tokens = found[0]
    rows = [row for row in split(tokens) if row]
    if not 1 <= len(rows) <= MOST_CASES:
        raise Unreadable(f"the table of cases has {len(rows)} of them; 1 to {MOST_CASES} are possible")
    seen = set()
    for row in rows:
        case = _case(Names(source, at), row)
        if case.name in seen:
            raise Unreadable(f"two cases have the name {case.name}")
        seen.add(case.name)
        yield case


def _tables(source: Source, type: str) -> Iterator[tuple[int, Sequence[Token]]]:
    """The initialisers `type name[…] = {…}` in the source, without their braces."""
    tokens = source.tokens
    for at in source.words.get(type, ()):
        index = at + 2
        if index < len(tokens) and tokens[index].text == "[":
            index = closing(tokens, index) + 1
        if [token.text for token in tokens[index : index + 2]] == ["=", "{"]:
            yield index, tokens[index + 2 : closing(tokens, index + 1)]


def _case(names: Names, row: Sequence[Token]) -> Case:
    if row[0].text != "{" or closing(row, 0) != len(row) - 1:
        raise Unreadable(f"the case {spelled(row)} must be written in braces")
    given = _fields(row)
    name = "".join(token.text[1:-1] for token in given.get("name", ()))
    if not name.isidentifier() and not name.replace("-", "_").replace(".", "_").replace("_", "a").isalnum():
        raise Unreadable(f"the case {spelled(row)} must begin with its name, of letters, digits, _, - and .")
    words = [token.text for token in given.get("use", ())]
    if words and words[-1] not in _USES:
        raise Unreadable(f"the use of case {name} must be one of {', '.join(_USES)}")
    use: Use = _USES[words[-1]] if words else "both"  # type: ignore[assignment]
    try:
        dims = _numbers(names, given.get("dims", ()), MOST_DIMS)
        grid, block = (_size(names, given.get(what, ())) for what in ("grid", "block"))
    except Unknown as err:
        raise Unreadable(f"the sizes of case {name} cannot be read; write plain numbers: {err}") from err
    return Case(name, dims, use, grid, block)


def _fields(row: Sequence[Token]) -> dict[str, list[Token]]:
    found = {}
    for place, part in enumerate(split(row[1:-1])):
        if len(part) > 3 and part[0].text == "." and part[2].text == "=":
            found[part[1].text] = part[3:]
        elif place < len(_FIELDS):
            found[_FIELDS[place]] = part
    return found


def _size(names: Names, tokens: Sequence[Token]) -> tuple[int, int, int]:
    """Raises Unknown."""
    x, y, z, *_ = (*_numbers(names, tokens, 3), 0, 0, 0)
    return x, y, z


def _numbers(names: Names, tokens: Sequence[Token], most: int) -> tuple[int, ...]:
    """Raises Unknown."""
    if not tokens:
        return ()
    if tokens[0].text != "{":
        raise Unknown(f"{spelled(tokens)} is not in braces")
    parts = [part for part in split(tokens[1:-1]) if part]
    if len(parts) > most:
        raise Unknown(f"{spelled(tokens)} has more than {most} numbers")
    return tuple(integer(names.value(part)) for part in parts)


def _dims(source: Source) -> tuple[str, ...]:
    found = list(_tables(source, "kpd_task_t"))
    if len(found) != 1:
        raise Unreadable(
            "define `const kpd_task_t kpd_task = {…};` once, with the names of the dims as its second field"
        )
    parts = split(found[0][1])
    named = next((part[3:] for part in parts if [token.text for token in part[:3]] == [".", "dims", "="]), None)
    dims = named if named is not None else parts[1] if len(parts) > 1 else []
    if not dims or dims[0].text != "{" or any(token.kind != "string" and token.text not in "{,}" for token in dims):
        raise Unreadable('the second field of kpd_task must be the names of the dims, as in {"rows", "cols"}')
    return tuple(token.text[1:-1] for token in dims if token.kind == "string")
