"""Reads and checks a table of a kernel's real launches, `<kernel>.observed.json`, from any source.

    {"kernel": "leaf_hash", "captured_at": "2026-04-19T15:59:21",
     "launches": [{"grid_x": 32768, "block_x": 256, "n": 32768, "offset": 0, "duration_us": 81.5}, …]}

A launch's grid and block are `grid_x`, `grid_y`, `grid_z` (those left out are 1), or `grid` alone, which is a number or
a list of up to three; `block` likewise. `duration_us` or `duration_ns` says how long it took. Nsight Compute's counters
have their own names, with dots in them. All other keys are scalars, by the names that the host's code has for them.
A table that `kpd project observe` wrote has `details` and `capture` besides; of these, only the template arguments with
which the binary has the kernel are used.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kpd.source.launches import fits
from kpd.source.values import Dim3
from kpd.workspace.paths import WorkspaceError
from kpd.workspace.run_files import read_plain

MOST_LAUNCHES = 50_000
MOST_KEYS = 64
LARGEST = 2**64
NANOSECONDS = "gpu__time_duration.sum"
DURATIONS = {"duration_us": 1.0, "duration_ns": 1e-3, NANOSECONDS: 1e-3}
"""The keys that hold a launch's duration, each with its factor to microseconds."""
_NAME = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_COUNTER = re.compile(r"\w{1,64}(\.\w{1,64}){1,4}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.]{4,15}(Z|[+-]\d\d:?\d\d)?)?")
_AXES = ("x", "y", "z")
_CAST = re.compile(r"\((?:unsigned |signed )?(?:bool|char|short|int|long|long long)\)(?=-?\w)")
_BOOL = re.compile(r"\b(?:true|false)\b")
_SUFFIX = re.compile(r"(?<=\d)(?:ull|ul|ll|u|l)\b")
_FILE_KEYS = ("kernel", "captured_at", "launches")
_CAPTURE_KEYS = ("details", "capture")


class ObservedError(WorkspaceError):
    """A table that cannot be used; the message names the key."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One real launch. `grid_axes` and `block_axes` say how many sizes were given: a table can hold x alone.

    `flat_block` says that the block was given as one number: the threads of a block of any shape.
    """

    grid: Dim3
    block: Dim3
    grid_axes: int
    block_axes: int
    flat_block: bool
    scalars: Mapping[str, int | float]
    duration_us: float | None = None
    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaunchTable:
    """All observed launches, in their order. `template` has the kernel's template arguments as its symbol has them."""

    kernel: str
    captured_at: str
    launches: tuple[Observed, ...]
    template: str = ""

    @property
    def timed(self) -> bool:
        return self.launches[0].duration_us is not None


def read_table(path: Path) -> LaunchTable:
    """Read and check the table at `path`. Raises ObservedError."""
    try:
        raw = read_plain(path)
    except OSError as err:
        raise ObservedError(
            f"{path}: cannot be read: {err.strerror or err}", "name the table of observed launches"
        ) from err
    try:
        return parse_table(raw)
    except ObservedError as err:
        raise ObservedError(f"{path}: {err.message}", err.remedy) from err


def parse_table(raw: bytes) -> LaunchTable:
    """Parse and check a table. Raises ObservedError."""
    try:
        found = json.loads(raw, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as err:
        what = "is nested too deeply" if isinstance(err, RecursionError) else f"is not JSON: {err}"
        raise ObservedError(what, "write the table again, or capture it again") from err
    if not isinstance(found, dict):
        raise ObservedError("must be an object", 'write {"kernel": …, "captured_at": …, "launches": [ … ]}')
    for key in found:
        if key not in (*_FILE_KEYS, *_CAPTURE_KEYS):
            raise ObservedError(f"unknown key {_shown(key)}", f"known are {', '.join(_FILE_KEYS)}")
    kernel, captured = found.get("kernel"), found.get("captured_at", "")
    if not isinstance(kernel, str) or not re.fullmatch(r"\w+(::\w+)*", kernel, re.ASCII) or len(kernel) > 200:
        raise ObservedError(f"'kernel' must be a kernel's name, not {_shown(kernel)}", "give the name in the source")
    if not isinstance(captured, str) or (captured and not _TIME.fullmatch(captured)):
        raise ObservedError(
            f"'captured_at' must be a time, not {_shown(captured)}", 'for example "2026-04-19T15:59:21"'
        )
    rows = found.get("launches")
    if not isinstance(rows, list) or not rows:
        raise ObservedError(
            "'launches' must be a list of launches, not empty", "capture a run that launches the kernel"
        )
    if len(rows) > MOST_LAUNCHES:
        raise ObservedError(f"'launches' has {len(rows)} launches", f"keep at most {MOST_LAUNCHES} of them")
    _same_keys(rows)
    capture = found.get("capture")
    template = capture.get("template", "") if isinstance(capture, dict) else ""
    if not isinstance(template, str) or not re.fullmatch(r"(<[ -~]{0,500}>)?", template):
        raise ObservedError(f"'template' in 'capture' is no list of arguments: {_shown(template)}", "capture it again")
    launches = tuple(_launch(number, row) for number, row in enumerate(rows))
    return LaunchTable(kernel, captured, launches, template)


def joined(table: LaunchTable, timed: LaunchTable) -> LaunchTable:
    """Give the Nth launch of a table without durations that of the Nth timed one. Raises ObservedError.

    Both have the same launches in the same order: each pair's grid and block agree as far as both tables have them.
    """
    if table.timed or not timed.timed:
        raise ObservedError("one table has to lack durations, and the other one to have them", "give the right files")
    if len(table.launches) != len(timed.launches):
        what = f"{len(table.launches)} launches were observed, and {len(timed.launches)} timed"
        raise ObservedError(what, "capture both of the same job")
    pairs = []
    for number, (one, other) in enumerate(zip(table.launches, timed.launches, strict=True)):
        grids, blocks = min(one.grid_axes, other.grid_axes), min(one.block_axes, other.block_axes)
        flat = one.flat_block != other.flat_block
        if one.grid[:grids] != other.grid[:grids] or (not flat and one.block[:blocks] != other.block[:blocks]):
            seen, then = (f"grid {it.grid} and block {it.block}" for it in (one, other))
            what = f"launches[{number}] has {seen}, the timed one {then}"
            raise ObservedError(what, "capture both of the same job")
        pairs.append(replace(one, duration_us=other.duration_us, counters=other.counters or one.counters))
    return replace(table, launches=tuple(pairs))


def spelled(name: str) -> str:
    """Return a name, to compare it, without what demanglers differ in: `scale<float, (int)4>` is `scale<float,4>`.

    `true` is `(bool)1` is `1`.
    """
    plain = _CAST.sub("", _SUFFIX.sub("", name))
    return "".join(_BOOL.sub(lambda found: "1" if found[0] == "true" else "0", plain).split())


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise ObservedError(f"the key {_shown(twice)} appears twice in one object", "keep one of them")
    return found


def _no_constant(text: str) -> float:
    raise ObservedError(f"{text} is not a JSON number", "leave the key out where there is no value")


def _same_keys(rows: Sequence[Any]) -> None:
    first = rows[0]
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ObservedError(f"launches[{number}] must be an object, not {_shown(row)}", 'write {"grid_x": …, …}')
        if number == 0 and len(row) > MOST_KEYS:
            raise ObservedError(f"launches[0] has {len(row)} keys", f"keep at most {MOST_KEYS} of them")
        missing = next(iter(first.keys() - row.keys() or row.keys() - first.keys()), None)
        if missing is not None:
            other = f"launches[{number}]" if missing in first else "launches[0]"
            raise ObservedError(f"{other} has no {_shown(missing)}, and others have", "give every launch the same keys")


def _launch(number: int, row: dict[str, Any]) -> Observed:
    where = f"launches[{number}]"
    grid, grid_axes, _ = _size(where, row, "grid")
    block, block_axes, flat = _size(where, row, "block")
    for name, size in (("grid", grid), ("block", block)):
        if not fits(size, name == "block"):
            raise ObservedError(f"{where}: CUDA cannot launch a {name} of {size}", "capture it again")
    durations = [key for key in row if key in DURATIONS]
    if "duration" in row:
        raise ObservedError(f"{where}: 'duration' does not say its unit", "write duration_us or duration_ns")
    if len(durations) > 1:
        raise ObservedError(f"{where}: has both {' and '.join(map(repr, durations))}", "keep one of them")
    duration = _number(where, durations[0], row[durations[0]]) * DURATIONS[durations[0]] if durations else None
    if duration is not None and duration <= 0:
        raise ObservedError(
            f"{where}: {durations[0]!r} must be above 0", "leave it out of every launch if it is not known"
        )
    scalars: dict[str, int | float] = {}
    counters: dict[str, float] = {}
    for key, value in row.items():
        if key in DURATIONS or key in ("grid", "block") or re.fullmatch("(grid|block)_[xyz]", key):
            continue
        if _COUNTER.fullmatch(key):
            counters[key] = _amount(where, key, value)
        elif _NAME.fullmatch(key):
            scalars[key] = _number(where, key, value)
        else:
            raise ObservedError(f"{where}: {_shown(key)} is not a name", "use the name that the host's code has for it")
    return Observed(grid, block, grid_axes, block_axes, flat, scalars, duration, counters)


def _size(where: str, row: Mapping[str, Any], name: str) -> tuple[Dim3, int, bool]:
    """Return the size, how many axes were given, and whether it was one number under the plain name."""
    axes = [f"{name}_{axis}" for axis in _AXES if f"{name}_{axis}" in row]
    if name in row and axes:
        raise ObservedError(f"{where}: has both {name!r} and {axes[0]!r}", "keep one of them")
    if name not in row and f"{name}_x" not in row:
        raise ObservedError(f"{where}: has no {f'{name}_x'!r}", f"give {name}_x (and {name}_y, {name}_z), or {name}")
    if name not in row:
        sizes = {key[-1]: _count(where, key, row[key]) for key in axes}
        return Dim3(**sizes), len(axes), False
    given = row[name]
    if not isinstance(given, list):
        return Dim3(_count(where, name, given)), 1, True
    if not 1 <= len(given) <= 3:
        raise ObservedError(f"{where}: {name!r} has {len(given)} sizes", "give one to three")
    return Dim3(*(_count(where, name, size) for size in given)), len(given), False


def _count(where: str, key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**31:
        raise ObservedError(
            f"{where}: {key!r} must be a whole number from 1 on, not {_shown(value)}", "capture it again"
        )
    return value


def _number(where: str, key: str, value: Any) -> int | float:
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > LARGEST:
        message = f"{where}: {_shown(key)} must be a number, true or false, not {_shown(value)}"
        raise ObservedError(message, "log scalars alone: pointers and text say nothing of the work")
    return value


def _amount(where: str, key: str, value: Any) -> float:
    found = float(_number(where, key, value))
    if found < 0:
        raise ObservedError(f"{where}: the counter {key!r} must not be below 0", "capture it again")
    return found


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
