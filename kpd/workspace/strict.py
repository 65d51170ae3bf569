"""Reads TOML strictly into frozen dataclasses: every error names the file, the line, and what to write instead."""

import dataclasses
import functools
import math
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import tomli

from kpd.workspace.paths import WorkspaceError
from kpd.workspace.run_files import NotRegularFile, read_plain
from kpd.workspace.type_words import base_of, choices_of, in_words, is_needed, to_give, wanted

T = TypeVar("T")
Keys = tuple[str, ...]

MOST_BYTES = 64 * 1024
MOST_FOUND = 60  # characters of a value that does not fit
LONGEST_STATEMENT = 200  # lines of one value that are searched for its end
_MANY_DIGITS = re.compile(r"(?<![0-9_])[0-9](?:_?[0-9]){4300}")
_DECLARED = re.compile(r"Cannot declare \((.*?),?\) twice")
_SMALLER = "write a smaller number"

Text = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Few = Annotated[int, msgspec.Meta(ge=1, le=256)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Percent = Annotated[float, msgspec.Meta(ge=0, lt=100)]
Filled = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class ConfigError(WorkspaceError):
    """An error in a file that people write. `line` counts from 1; 0 means the file as a whole.

    `message` begins with the place; `what` is the same text without it.
    """

    def __init__(self, path: Path, line: int, message: str, remedy: str = "") -> None:
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {message}", remedy)
        self.path = path
        self.line = line
        self.what = message


@dataclass(frozen=True, slots=True)
class Document:
    """A TOML file with its text, so that an error can name the line of a key."""

    path: Path
    text: str
    table: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Document":
        """Read and parse a TOML file. Raises ConfigError where it is missing, unreadable, too large or malformed."""
        return cls.parse(path, _bytes(path))

    @classmethod
    def parse(cls, path: Path, raw: bytes) -> "Document":
        """Parse what a TOML file holds. Raises ConfigError, which names `path`."""
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as err:
            raise ConfigError(path, raw[: err.start].count(b"\n") + 1, "not UTF-8", "save the file as UTF-8") from err
        try:
            document = cls(path, text, tomli.loads(text))
        except tomli.TOMLDecodeError as err:
            twice = _DECLARED.fullmatch(err.msg)
            name = ".".join(re.findall(r"'([^']*)'", twice[1])) if twice else ""
            what = f"[{name}] appears twice" if twice else f"{err.msg[:1].lower()}{err.msg[1:]} at column {err.colno}"
            remedy = "merge the two into one" if twice else "strings need quotes, and a key may appear only once"
            raise ConfigError(path, err.lineno, f"not TOML: {what}", remedy) from err
        except RecursionError as err:
            raise ConfigError(path, 0, "nested too deeply", "no value needs more than three levels") from err
        except ValueError as err:  # Python reads no decimal number of more than 4300 digits
            found = _MANY_DIGITS.search(text)
            line = text.count("\n", 0, found.start()) + 1 if found else 0
            raise ConfigError(path, line, "not TOML: a number with too many digits", _SMALLER) from err
        if (keys := next(_wide(document.table, ()), None)) is not None:
            raise document.error(f"{_name(keys)} has a number of more than 64 bits", _SMALLER, *keys)
        return document

    def convert(self, kind: type[T]) -> T:
        """Convert the whole file to the dataclass `kind`. Raises ConfigError for an unknown key or a wrong type."""
        return typing.cast(T, self._value(self.table, kind, ()))

    def part(self, value: object, kind: type[T], *keys: str) -> T:
        """Convert a table of the file, the one at `keys`, to the dataclass `kind`. Raises ConfigError."""
        return typing.cast(T, self._value(value, kind, keys))

    def unknown(self, key: str, is_table: bool, known: Iterable[str], *keys: str) -> ConfigError:
        """Return the error for an unknown key in the table at `keys`; its remedy names the closest known key."""
        where = f" in [{'.'.join(keys)}]" if keys else ""
        what = "table" if is_table else "key"
        return self.error(f"unknown {what} {key!r}{where}", nearest(key, known), *keys, key)

    def line(self, *keys: str) -> int:
        """Return the line number of the key, else of the nearest table around it; 0 where none is found."""
        lines = dict(_statements(self.text))
        return next((lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in lines), 0)

    def error(self, message: str, remedy: str, *keys: str) -> ConfigError:
        """Return an error located at the line of `keys`."""
        return ConfigError(self.path, self.line(*keys), message, remedy)

    def _value(self, value: Any, kind: Any, keys: Keys) -> Any:
        base = base_of(kind)
        if dataclasses.is_dataclass(base) and isinstance(base, type):
            return self._dataclass(value, base, keys)
        if typing.get_origin(base) is dict and isinstance(value, dict):
            of = typing.get_args(base)[1]
            return {key: self._value(item, of, (*keys, key)) for key, item in value.items()}
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(f"{_name(keys)} must be finite", "", *keys)
        try:
            return msgspec.convert(value, type=kind)
        except msgspec.ValidationError as err:
            message = f"{_name(keys)} must be {wanted(kind)}, not {in_words(value)}"
            raise self.error(message, nearest(value, choices_of(kind)), *keys) from err

    def _dataclass(self, value: Any, kind: type, keys: Keys) -> Any:
        if not isinstance(value, dict):
            raise self.error(
                f"{_name(keys)} must be a table, not {in_words(value)}", f"write [{'.'.join(keys)}]", *keys
            )
        hints = _hints(kind)
        fields = {field.name: field for field in dataclasses.fields(kind)}
        for key in value:
            if key not in fields:
                raise self.unknown(key, isinstance(value[key], dict), fields, *keys)
        for key, field in fields.items():
            if is_needed(field) and key not in value:
                raise self.error(f"{_name((*keys, key))} is missing", to_give((*keys, key), hints[key]), *keys)
        return kind(**{key: self._value(item, hints[key], (*keys, key)) for key, item in value.items()})


def read_toml(path: Path, kind: type[T]) -> T:
    """Read a TOML file as the dataclass `kind`; missing keys take the class's defaults. Raises ConfigError."""
    return Document.read(path).convert(kind)


def misfit(given: Mapping[str, Any], kind: type) -> str:
    """Describe the first value that cannot be a field of dataclass `kind`, or a missing one; empty if all fit."""
    hints = _hints(kind)
    for name, value in given.items():
        try:
            msgspec.convert(value, type=hints[name])
        except msgspec.ValidationError:
            place, kind, given_one = _deepest(name, value, hints[name])
            return f"{place} must be {wanted(kind)}, not {in_words(given_one)[:MOST_FOUND]}"
    missing = [field.name for field in dataclasses.fields(kind) if is_needed(field) and field.name not in given]
    return f"{missing[0]} is missing" if missing else ""


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields: a daemon reads all tasks after each change of one."""
    return typing.get_type_hints(kind, include_extras=True)


def _deepest(place: str, value: Any, kind: Any) -> tuple[str, Any, Any]:
    """Find the value that does not fit, in a table its first such entry. Return its place, wanted type and value."""
    base = base_of(kind)
    if isinstance(value, dict) and typing.get_origin(base) in (dict, Mapping):
        of = typing.get_args(base)[1]
        for key, one in value.items():
            try:
                msgspec.convert(one, type=of)
            except msgspec.ValidationError:
                return f"{place}[{key!r}]", of, one
    return place, kind, value


def _bytes(path: Path) -> bytes:
    try:
        return read_plain(path, MOST_BYTES)
    except NotRegularFile as err:
        raise ConfigError(path, 0, err.strerror, "is this the right file?") from err
    except FileNotFoundError as err:
        raise ConfigError(path, 0, "no such file") from err
    except OSError as err:
        raise ConfigError(path, 0, f"cannot be read: {err.strerror}") from err


def _wide(value: Any, keys: Keys) -> Iterator[Keys]:
    """Yield the keys of integers outside TOML's 64 bits: Python would read them, and fail later in printing them."""
    match value:
        case int() if not -(1 << 63) <= value < 1 << 63:
            yield keys
        case list():
            for item in value:
                yield from _wide(item, keys)
        case dict():
            for key, item in value.items():
                yield from _wide(item, (*keys, key))


def _statements(text: str) -> Iterator[tuple[Keys, int]]:
    """Yield each key of a well-formed document with the line where it begins.

    A key may come more than once only in arrays of tables; callers then use the last one.
    """
    header: Keys = ()
    start, pending = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        pending += line + "\n"
        try:
            table = tomli.loads(pending)
        except tomli.TOMLDecodeError:
            if number - start >= LONGEST_STATEMENT:
                return
            continue
        paths = list(_paths(table))
        if pending.lstrip().startswith("["):
            header = paths[-1]
            yield header, start
        else:
            yield from (((*header, *path), start) for path in paths)
        start, pending = number + 1, ""


def _paths(table: dict[str, Any]) -> Iterator[Keys]:
    for key, value in table.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *rest) for rest in _paths(value))


def _name(keys: Keys) -> str:
    return f"'{keys[-1]}' in [{'.'.join(keys[:-1])}]" if len(keys) > 1 else f"'{keys[0]}'"


def nearest(word: object, known: Iterable[str]) -> str:
    """Suggest, in words, the known name closest to `word`, else list the known ones; empty where none are known."""
    import difflib  # only an error needs it

    names = list(known)
    close = difflib.get_close_matches(str(word), names, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    shown = (name or '""' for name in names)
    return f"known are {', '.join(shown)}" if names else ""
