"""Reads the lines that a program has logged of its launches, one JSON object each. Pure.

    {"grid":[2,2,1],"block":[32,8,1],"shared":0,"scalars":{"rows":64,"cols":64}}

The program is not trusted: a line that is anything else is counted, and not used.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from kpd.onboarding.observed import LARGEST, MOST_LAUNCHES
from kpd.production.observe.decoding import DecodedParameter
from kpd.production.observe.launches import KernelTotal, SeenLaunch
from kpd.production.observe.names import KernelName
from kpd.production.observe.observation import Coverage, Observation
from kpd.source.kernels import Kernel
from kpd.source.launches import fits
from kpd.source.values import Dim3
from kpd.text.numbers import counted

MOST_BYTES = 16 << 20
LONGEST = 4096
"""Bytes of a line."""

_Size = Annotated[int, Meta(ge=1, lt=2**31)]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the log."""

    grid: tuple[_Size, _Size, _Size]
    block: tuple[_Size, _Size, _Size]
    scalars: dict[str, int | float]
    shared: Annotated[int, Meta(ge=0, lt=2**31)] = 0


_LINES = msgspec.json.Decoder(_Line)


class NothingLogged(Exception):
    """The error that a log has no launch; the text says what it has."""


def logged(raw: bytes, source: Kernel, limit: int, captured_at: str, key: str) -> Observation:
    """Return what a log says of the kernel's launches, of which the program logs `limit`. Raises NothingLogged."""
    types = {one.name: one.type for one in source.parameters if not one.pointer}
    found, bad = list[_Line](), 0
    for line in raw.split(b"\n"):
        if line.strip():
            launch = _read(line, types)
            bad += launch is None
            found += [] if launch is None else [launch]
    if not found:
        raise NothingLogged(
            f"{counted(bad, 'line')} of its log, of which none is a launch" if bad else "its log is empty"
        )
    kept = found[: min(limit, MOST_LAUNCHES)]
    names = [name for name in types if all(name in one.scalars for one in kept)]
    launches = tuple(
        SeenLaunch(source.qualified, Dim3(*one.grid), Dim3(*one.block), one.shared, 0, 0, 0, None, (), (), "", None)
        for one in kept
    )
    parameters = tuple(
        DecodedParameter(name, types[name], 0, "number", tuple(one.scalars[name] for one in kept)) for name in names
    )
    coverage = Coverage(len(found), len(found), 0, len(kept), None)
    problems = _problems(source, sorted(types.keys() - names), bad, len(found) >= limit)
    return Observation(
        KernelName("", source.qualified, "", None), captured_at, launches, parameters, coverage,
        (KernelTotal(source.qualified, len(found), None),), {}, problems, key, "source",
    )  # fmt: skip


def _read(line: bytes, types: dict[str, str]) -> _Line | None:
    """Return the launch that a line says, if CUDA could do it and it names scalars of the kernel alone."""
    if len(line) > LONGEST:
        return None
    try:
        found = _LINES.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    sizes = fits(Dim3(*found.grid), False) and fits(Dim3(*found.block), True)
    numbers = all(abs(value) <= LARGEST for value in found.scalars.values())
    return found if sizes and numbers and found.scalars.keys() <= types.keys() else None


def _problems(source: Kernel, missing: list[str], bad: int, full: bool) -> tuple[str, ...]:
    """Say what a log lacks."""
    found = ["observed by lines in the source: it has no durations of its own, no streams and no pointers"]
    if missing:
        found.append(f"not logged, or not as numbers: {', '.join(missing)}")
    if source.template:
        found.append("the template's arguments are not known, and launches of all of them are together")
    if bad:
        found.append(f"{counted(bad, 'line')} of the log cannot be read")
    if full:
        found.append("the log was full: later launches are not counted")
    return tuple(found)
