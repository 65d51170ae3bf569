"""Parses the output of a task's own benchmark: a score and the times of its cases. Pure.

A benchmark prints logs as it likes, and its result as the last JSON object that begins a line; or, in Kernelking's
format, a line `KK_TIMING name=… median_us=…` a case.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import geometric_mean
from typing import Any

from kpd.measure.command.correctness import ResultClaim, claims
from kpd.measure.command.shape import EACH, MICROSECONDS, NotEverywhere, ResultShape, values_at, words

LEAST, MOST = 1e-15, 1e15
"""The limits of a score or a time; numbers beyond them come from a broken clock."""
MOST_CASES = 256
MOST_STARTS = 200
"""The number of last lines that are tried as the beginning of the result."""
LONGEST_NAME = 80
MOST_REASONS = 5
"""The most entries of a list of errors that are told."""
_OBJECT = re.compile(r"^\{", re.MULTILINE)
_KK_TIMING = re.compile(r"^[ \t]*KK_TIMING name=(.*\S) median_us=(\S+)[ \t\r]*$", re.MULTILINE)


class BadResult(ValueError):
    """The benchmark says that the candidate is wrong, or says nothing that could be a result."""


class UnclearResult(BadResult):
    """The benchmark makes a claim about its result that kpd does not understand."""

    def __init__(self, claim: ResultClaim) -> None:
        super().__init__(str(claim))
        self.claim = claim


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The microseconds of a call with its launch, those on the device alone if measured, and the case's dims."""

    us: float
    device_us: float | None = None
    dims: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """One run's score as it was printed, its cases, if there are any, and what it claims about its correctness.

    `unread` are entries of its cases without a name or a time.
    """

    score: float
    cases: dict[str, CaseResult]
    claims: tuple[ResultClaim, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Whether it says that it is right."""
        return any(claim.confirms for claim in self.claims)


def result(said: str, shape: ResultShape) -> Result:
    """Parse the result in a benchmark's stdout. Raises BadResult."""
    found = last_object(said)
    timings = _timings(said)
    if found is None and not timings:
        raise BadResult("it printed neither a JSON object nor KK_TIMING lines")
    table = found or {}
    claimed = approved(table, shape)
    scores = [_number(repr(shape.score), value) for value in _values(table, shape.score)]
    if scores:
        cases, unread = _cases(_values(table, shape.cases), shape)
        if timings and cases.keys() != timings.keys():  # of two results, the candidate may have printed one
            raise BadResult(f"it printed KK_TIMING lines and a JSON object with {shape.score!r} that has other cases")
        return Result(geometric_mean(scores) if EACH in shape.score else scores[0], cases, claimed, unread)
    if timings:
        return Result(geometric_mean(case.us for case in timings.values()), timings, claimed)
    there = ", ".join(sorted(str(name)[:LONGEST_NAME] for name in table)[:10]) or "nothing"
    raise BadResult(f"its JSON object has no {shape.score!r}, but {there}; [bench] score in task.toml names the key")


def _values(table: dict[str, Any], place: str) -> list[Any]:
    """Return what the result has at a place. Raises BadResult where only a part of the entries has it."""
    try:
        return values_at(table, place)
    except NotEverywhere as err:
        raise BadResult(str(err)) from err


def approved(table: dict[str, Any], shape: ResultShape) -> tuple[ResultClaim, ...]:
    """Return what the result claims about its correctness. Raises BadResult for the first claim that is not good."""
    verdict = tuple(_verdict(table, shape))
    claimed = (*verdict, *claims(table, shape.score, shape.good))
    if any(claim.good is False for claim in claimed):
        raise BadResult(complaint(table, claimed))
    if (unclear := next((claim for claim in claimed if claim.good is None), None)) is not None:
        raise UnclearResult(unclear)
    return claimed


def _verdict(table: dict[str, Any], shape: ResultShape) -> Iterator[ResultClaim]:
    """Yield a claim for each value at the place of the verdict. Raises BadResult where there is none."""
    good = {words(text) for text in shape.verdict_good}
    found = _values(table, shape.verdict) if shape.verdict else []
    if shape.verdict and not found:
        raise BadResult(f"its JSON object has no {shape.verdict!r}, where [bench] verdict says that its verdict is")
    for value in found:
        said = value if isinstance(value, str) else json.dumps(value)
        yield ResultClaim(shape.verdict, said, "right", words(said) in good)


def complaint(table: dict[str, Any], claimed: tuple[ResultClaim, ...]) -> str:
    """Return why the result says that the candidate is wrong, in its own words; empty if it does not say so."""
    bad = next((claim for claim in claimed if claim.good is False), None)
    if bad is None:
        return ""
    reasons = (_reason(table.get(name)) for name in ("error", "errors", "reason", "message"))
    return next(filter(None, reasons), "") or str(bad)


def _reason(given: Any) -> str:
    """Return a text, or the texts of a list, as one line; empty for anything else."""
    texts = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return "; ".join(" ".join(text.split()) for text in texts[:MOST_REASONS] if isinstance(text, str))[:300]


def last_object(said: str) -> dict[str, Any] | None:
    """Find the last JSON object that begins at the start of a line and ends at the end of one."""
    decoder = json.JSONDecoder()
    starts = [match.start() for match in _OBJECT.finditer(said)]
    for start in reversed(starts[-MOST_STARTS:]):
        try:
            found, end = decoder.raw_decode(said, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and not said[end:].partition("\n")[0].strip():
            return found
    return None


def _timings(said: str) -> dict[str, CaseResult]:
    timings: dict[str, CaseResult] = {}
    for name, text in _KK_TIMING.findall(said):
        if name in timings:
            raise BadResult(f"it printed KK_TIMING of {name[:LONGEST_NAME]!r} twice")
        try:
            us: float | str = float(text)
        except ValueError:
            us = text
        timings[_name(name)] = CaseResult(_number(f"KK_TIMING of {name[:LONGEST_NAME]!r}", us))
    return _few(timings)


def _cases(found: list[Any], shape: ResultShape) -> tuple[dict[str, CaseResult], tuple[str, ...]]:
    """Parse `[{"name": …, "us": …}, …]` or `{name: us, …}`, each case perhaps with `device_us` and `dims`.

    Return the cases, and the entries that have no name or no time.
    """
    if not found or found[0] is None:
        return {}, ()
    given, time = found[0], shape.times[0]
    if isinstance(given, dict):
        rows = [(name, case if isinstance(case, dict) else {time: case}) for name, case in given.items()]
    elif isinstance(given, list) and all(isinstance(case, dict) for case in given):
        rows = [(case.get(shape.name), case) for case in given]
    else:
        raise BadResult(f"{shape.cases!r} in its result is neither a list of objects nor an object")
    cases: dict[str, CaseResult] = {}
    unread: list[str] = []
    for number, (name, case) in enumerate(rows):
        key = next((key for key in shape.times if key in case), None)
        if key is None or name is None:
            unread.append(str(name)[:LONGEST_NAME] if name is not None else f"{shape.cases}[{number}]")
            continue
        name = _name(name)
        if name in cases:
            raise BadResult(f"its result has the case {name!r} twice")
        cases[name] = _case(name, key, case, MICROSECONDS[shape.unit])
    return _few(cases), tuple(unread)


def _case(name: str, key: str, case: dict[str, Any], unit_us: float) -> CaseResult:
    us = unit_us * _number(f"{key!r} of the case {name!r}", case[key])
    device = case.get("device_us")
    device_us = None if device is None else _number(f"'device_us' of the case {name!r}", device)
    return CaseResult(us, device_us, _dims(case))


def _few(cases: dict[str, CaseResult]) -> dict[str, CaseResult]:
    if len(cases) > MOST_CASES:
        raise BadResult(f"its result has {len(cases)} cases, but at most {MOST_CASES} are allowed")
    return cases


def _dims(case: dict[str, Any]) -> dict[str, int]:
    dims = case.get("dims")
    if not isinstance(dims, dict):
        return {}
    return {name: size for name, size in dims.items() if type(size) is int and 0 <= size < 1 << 63}


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        raise BadResult(f"a case has no name of at most {LONGEST_NAME} printable characters: {str(name)[:40]!r}")
    return name


def _number(what: str, value: Any) -> float:
    """Convert `value` to a positive finite float; a bool is not a number. Raises BadResult."""
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        number = math.inf
    if not LEAST < number < MOST:
        shown = repr(value)[:40]
        raise BadResult(f"{what} in its result is {shown}, which is not a positive finite number")
    return number
